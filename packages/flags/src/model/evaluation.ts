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
  userId?: string | undefined;
  email?: string | undefined;
  role?: string | undefined;
  /** An organization of the signed-in user. Default: the session's active organization. */
  organizationId?: string | undefined;
  /** An id that the application gives to an anonymous visitor. */
  anonymousId?: string | undefined;
  attributes?: JsonObject | undefined;
  device?: DeviceInfo | undefined;
  geo?: GeoInfo | undefined;
};

type EvaluationInput<Select extends EvaluationSelect> = {
  context?: ClaimedContext | undefined;
  /** Defaults to `full`. */
  select?: Select | undefined;
  /** The environment (deployment ring) to evaluate in. The header `x-deployment-ring` takes precedence. */
  environment?: string | undefined;
  /** Records an exposure for each returned flag, once per user, flag, variant and day. */
  track?: boolean | undefined;
  /** Adds `metadata.trace`, for server calls and callers with `featureFlag: ["read"]`. */
  debug?: boolean | undefined;
};

export type EvaluateFeatureFlagInput<Select extends EvaluationSelect = EvaluationSelect> =
  EvaluationInput<Select> & {
    flagKey: string;
    /** The value for a flag that does not exist. Default `null`. */
    default?: JsonValue | undefined;
    /** Adds the context the flag was evaluated for. Defaults to `false`. */
    contextInResponse?: boolean | undefined;
  };

export type EvaluateFeatureFlagsInput<Select extends EvaluationSelect = EvaluationSelect> =
  EvaluationInput<Select> & {
    /** At most 100. */
    flagKeys: readonly string[];
    /** The values for flags that do not exist, by key. Default `null` each. */
    defaults?: JsonObject | undefined;
    /** Adds the context the flags were evaluated for. Defaults to `true`. */
    contextInResponse?: boolean | undefined;
  };

export type BootstrapFeatureFlagsInput<Select extends EvaluationSelect = EvaluationSelect> =
  EvaluationInput<Select> & {
    /** Only these keys. */
    include?: readonly string[] | undefined;
    /** Only keys with this prefix. */
    prefix?: string | undefined;
    /** Includes disabled flags, with their default value and the reason `disabled`. Defaults to `false`. */
    includeDisabled?: boolean | undefined;
    /**
     * The position of the newest response that the caller has seen, or `"0"`. A process that is behind it reads
     * the database first, for at most 1 s. The response then has its own `position`.
     */
    position?: FlagsPosition | undefined;
  };

/** The request body of an explanation. */
export type ExplainFeatureFlagInput = {
  context?: ClaimedContext | undefined;
  environment?: string | undefined;
};

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
export type EvaluationFields = {
  readonly value: JsonValue;
  readonly variant?: string;
  readonly reason: EvaluationReason;
  readonly metadata: EvaluationMetadata;
};

type Selected<Select extends EvaluationSelect> = Select extends readonly EvaluationField[]
  ? SelectedFields<Select>
  : Select extends "value"
    ? Pick<EvaluationFields, "value">
    : EvaluationFields;

/** A list built at run time may lack any of the fields that its type allows. */
type SelectedFields<Fields extends readonly EvaluationField[]> = number extends Fields["length"]
  ? Partial<Pick<EvaluationFields, Fields[number]>>
  : Pick<EvaluationFields, Fields[number]>;

type Always = {
  /** ISO 8601, UTC. */
  readonly evaluatedAt: string;
  /** The context the flag was evaluated for, when requested with `contextInResponse`. */
  readonly context?: EvaluationContext;
};

export type EvaluationResult<Select extends EvaluationSelect = "full"> = Selected<Select> & Always;

/** The result for a `select` that is not known at compile time. */
export type AnyEvaluationResult = Partial<EvaluationFields> & Always;

/** By flag key: the value itself for `select: "value"`, otherwise an object with the selected fields. */
export type EvaluationMap<Select extends EvaluationSelect> = {
  readonly [key: string]: Select extends "value" ? JsonValue : Selected<Select>;
};

export type BatchResult<Select extends EvaluationSelect = "full"> = {
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

export type BootstrapResult<Select extends EvaluationSelect = "full"> = BatchResult<Select> & OfBootstrap;

/** The results for a `select` that is not known at compile time. */
export type AnyBatchResult = {
  readonly flags: { readonly [key: string]: JsonValue | Partial<EvaluationFields> };
} & Always;

export type AnyBootstrapResult = AnyBatchResult & OfBootstrap;

/** A result and every step that led to it. */
export type FlagExplanation = {
  readonly result: EvaluationFields;
  readonly steps: readonly ExplanationStep[];
};
