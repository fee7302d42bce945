/** The requests and responses of evaluations, as callers see them. */
import type { DeviceInfo, EvaluationContext, EvaluationReason, GeoInfo } from "../engine/definition.ts";
import type { ExplanationStep } from "../engine/explain.ts";
import type { JsonObject, JsonValue } from "../engine/json.ts";
import type { FlagsPosition } from "./position.ts";

/** A field of a result that `select` can name. */
export type EvaluationField = "value" | "variant" | "reason" | "metadata";

/** `full`: every field. `value`: only the value. A list: the listed fields. */
export type EvaluationSelect = "value" | "full" | readonly EvaluationField[];

/**
 * The context that the caller sends. A signed-in caller is evaluated as the session's user: each identity field must be
 * absent or equal the session's.
 */
export type ClaimedContext = {
  /** The id of the user. */
  userId?: string | undefined;
  /** The user's email. */
  email?: string | undefined;
  /** The user's role in the application. */
  role?: string | undefined;
  /** An organization of the signed-in user. Default: the session's active organization. */
  organizationId?: string | undefined;
  /** An id that the application gives to an anonymous visitor. */
  anonymousId?: string | undefined;
  /** Free attributes for rules, such as `{ plan: "pro" }`. */
  attributes?: JsonObject | undefined;
  /** The device of the user. */
  device?: DeviceInfo | undefined;
  /** The place of the user. */
  geo?: GeoInfo | undefined;
  /**
   * Trusted attributes of the user, as in `{ plan: "pro" }`. Only server code, API keys and callers with
   * `featureFlag: ["evaluate-as"]` may send this field and the next three; other callers are refused. A claimed value
   * replaces the one of the database.
   */
  user?: JsonObject | undefined;
  /** Trusted attributes of the session. */
  session?: JsonObject | undefined;
  /** Trusted attributes of the organization. */
  organization?: JsonObject | undefined;
  /** Trusted attributes that the application computes. */
  trusted?: JsonObject | undefined;
};

type EvaluationInput<Select extends EvaluationSelect> = {
  context?: ClaimedContext | undefined;
  /** Defaults to `full`. */
  select?: Select | undefined;
  /** The environment (deployment ring) to evaluate in. The header `x-deployment-ring` takes precedence. */
  environment?: string | undefined;
  /** Records an exposure for each returned flag. Statistics count it once per user, flag, arm and day. */
  track?: boolean | undefined;
  /**
   * Adds `exposures`: a token for each returned flag that has variants or a rollout. Report the tokens of the flags that
   * were shown with `POST /feature-flags/exposures`. Defaults to `false`.
   */
  exposures?: boolean | undefined;
  /** Adds `metadata.trace`, for server calls and callers with `featureFlag: ["read"]`. */
  debug?: boolean | undefined;
};

/** The body of an evaluation of one flag. */
export type EvaluateFeatureFlagInput<Select extends EvaluationSelect = EvaluationSelect> =
  EvaluationInput<Select> & {
    flagKey: string;
    /** The value for a flag that does not exist. Default `null`. */
    default?: JsonValue | undefined;
    /** Adds the context the flag was evaluated for. Defaults to `false`. */
    contextInResponse?: boolean | undefined;
  };

/** The body of an evaluation of several flags. */
export type EvaluateFeatureFlagsInput<Select extends EvaluationSelect = EvaluationSelect> =
  EvaluationInput<Select> & {
    /** At most 100. */
    flagKeys: readonly string[];
    /** The values for flags that do not exist, by key. Default `null` each. */
    defaults?: JsonObject | undefined;
    /** Adds the context the flags were evaluated for. Defaults to `true`. */
    contextInResponse?: boolean | undefined;
  };

/** The body of an evaluation of all flags. */
export type BootstrapFeatureFlagsInput<Select extends EvaluationSelect = EvaluationSelect> =
  EvaluationInput<Select> & {
    /** Only these keys. */
    include?: readonly string[] | undefined;
    /** Only keys with this prefix. */
    prefix?: string | undefined;
    /** Includes disabled flags, with the reason `disabled`. Defaults to `false`. */
    includeDisabled?: boolean | undefined;
    /**
     * The position of the newest response that the caller has seen, or `"0"`. A process that is behind it reads
     * the database first, for at most 1 s. The response then has its own `position`.
     */
    position?: FlagsPosition | undefined;
  };

/** The request body of an explanation. */
export type ExplainFeatureFlagInput = {
  /** The user and the attributes to evaluate for. Default: none. */
  context?: ClaimedContext | undefined;
  /** The environment to evaluate in. */
  environment?: string | undefined;
};

/** What an evaluation says beside its value. */
export type EvaluationMetadata = {
  /** The revision of the flags that were evaluated. */
  readonly revision: number;
  /** Present while the database is unreachable, so that a newer revision may exist. */
  readonly stale?: true;
  /** Present when the server ignored the requested environment, because the caller may not claim it. */
  readonly environmentIgnored?: true;
  /** The steps of the evaluation, when requested with `debug`. */
  readonly trace?: readonly ExplanationStep[];
  /** The chosen variant's own metadata. */
  readonly variant?: JsonObject;
};

/** All fields of a result. `select` decides which of them the response contains. */
export type EvaluationFields<Value = JsonValue> = {
  /** The value for the user. */
  readonly value: Value;
  /** The variant's key, if the flag has variants. */
  readonly variant?: string;
  /** Why this value. */
  readonly reason: EvaluationReason;
  /** The revision that was evaluated, and more. */
  readonly metadata: EvaluationMetadata;
};

/** Exposure tokens by flag key. A token is opaque text, valid for 24 hours. */
export type ExposureTokenMap = { readonly [key: string]: string };

type Selected<Select extends EvaluationSelect, Value = JsonValue> = Select extends readonly EvaluationField[]
  ? SelectedFields<Select, Value>
  : Select extends "value"
    ? Pick<EvaluationFields<Value>, "value">
    : EvaluationFields<Value>;

/** A list built at run time may lack any of the fields that its type allows. */
type SelectedFields<Fields extends readonly EvaluationField[], Value> = number extends Fields["length"]
  ? Partial<Pick<EvaluationFields<Value>, Fields[number]>>
  : Pick<EvaluationFields<Value>, Fields[number]>;

type Always = {
  /** ISO 8601, UTC. */
  readonly evaluatedAt: string;
  /** The context the flag was evaluated for, when requested with `contextInResponse`. */
  readonly context?: EvaluationContext;
  /** Exposure tokens by flag key, when requested with `exposures`. */
  readonly exposures?: ExposureTokenMap;
};

/** The result of evaluating one flag. */
export type EvaluationResult<Select extends EvaluationSelect = "full", Value = JsonValue> = Selected<
  Select,
  Value
> &
  Always;

/** The result for a `select` that is not known at compile time. */
export type AnyEvaluationResult = Partial<EvaluationFields> & Always;

/** By flag key: the value itself for `select: "value"`, otherwise an object with the selected fields. */
export type EvaluationMap<Select extends EvaluationSelect> = {
  /** The result of one flag. */
  readonly [key: string]: Select extends "value" ? JsonValue : Selected<Select>;
};

/** The results of several flags. */
export type BatchResult<Select extends EvaluationSelect = "full"> = {
  /** By flag key. */
  readonly flags: EvaluationMap<Select>;
} & Always;

/** What only a bootstrap has. */
type OfBootstrap = {
  readonly context: EvaluationContext;
  /** The revisions of the flags, if the request has a `position`. */
  readonly position?: FlagsPosition;
  /** Present beside `position` if a newer revision may exist. */
  readonly stale?: true;
};

/** The results of all flags. */
export type BootstrapResult<Select extends EvaluationSelect = "full"> = BatchResult<Select> & OfBootstrap;

/** The results for a `select` that is not known at compile time. */
export type AnyBatchResult = {
  /** By flag key. */
  readonly flags: { readonly [key: string]: JsonValue | Partial<EvaluationFields> };
} & Always;

/** The results of all flags, for a `select` that is not known at compile time. */
export type AnyBootstrapResult = AnyBatchResult & OfBootstrap;

/** A result and every step that led to it. */
export type FlagExplanation = {
  /** The result of the evaluation. */
  readonly result: EvaluationFields;
  /** In the order of evaluation. */
  readonly steps: readonly ExplanationStep[];
  /** Present on a flag of an organization that evaluation ignores, because a global flag has its key. */
  readonly ignored?: true;
};
