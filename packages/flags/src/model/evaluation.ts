/** What an evaluation is asked and what it answers, as callers see both. */
import type { DeviceInfo, EvaluationContext, EvaluationReason, GeoInfo } from "../engine/definition.ts";
import type { ExplanationStep } from "../engine/explain.ts";
import type { JsonObject, JsonValue } from "../engine/json.ts";

/** The part of a result a caller may ask for by name. */
export type EvaluationField = "value" | "variant" | "reason" | "metadata";

/** `full`: every field. `value`: the value alone. A list: those fields. */
export type EvaluationSelect = "value" | "full" | readonly EvaluationField[];

/**
 * Who a flag is evaluated for, as the caller says. A signed-in caller is evaluated as the session's user: the fields
 * may be left out, or must equal the session's.
 */
export type ClaimedContext = {
  userId?: string | undefined;
  email?: string | undefined;
  role?: string | undefined;
  /** One the signed-in user belongs to; the session's active one when absent. */
  organizationId?: string | undefined;
  /** Somebody who has not signed in, known by an id of the application's own. */
  anonymousId?: string | undefined;
  attributes?: JsonObject | undefined;
  device?: DeviceInfo | undefined;
  geo?: GeoInfo | undefined;
};

type EvaluationInput<Select extends EvaluationSelect> = {
  context?: ClaimedContext | undefined;
  /** Defaults to `full`. */
  select?: Select | undefined;
  /** The deployment ring to evaluate in; the header `x-deployment-ring` goes before it. */
  environment?: string | undefined;
  /** Records that the caller was shown each flag that is answered: once per user, flag, variant and day. */
  track?: boolean | undefined;
  /** Adds `metadata.trace`, for server calls and callers with `featureFlag: ["read"]`. */
  debug?: boolean | undefined;
};

export type EvaluateFeatureFlagInput<Select extends EvaluationSelect = EvaluationSelect> =
  EvaluationInput<Select> & {
    flagKey: string;
    /** The answer for a flag that does not exist; `null` when absent. */
    default?: JsonValue | undefined;
    /** Adds the context the flag was evaluated for. Defaults to `false`. */
    contextInResponse?: boolean | undefined;
  };

export type EvaluateFeatureFlagsInput<Select extends EvaluationSelect = EvaluationSelect> =
  EvaluationInput<Select> & {
    /** At most 100. */
    flagKeys: readonly string[];
    /** The answers for flags that do not exist; `null` where absent. */
    defaults?: JsonObject | undefined;
    /** Adds the context the flags were evaluated for. Defaults to `true`. */
    contextInResponse?: boolean | undefined;
  };

export type BootstrapFeatureFlagsInput<Select extends EvaluationSelect = EvaluationSelect> =
  EvaluationInput<Select> & {
    /** Only these keys. */
    include?: readonly string[] | undefined;
    /** Only keys that start so. */
    prefix?: string | undefined;
    /** Disabled flags too, with their default value and reason `disabled`. Defaults to `false`. */
    includeDisabled?: boolean | undefined;
  };

/** What an explanation is asked for. */
export type ExplainFeatureFlagInput = {
  context?: ClaimedContext | undefined;
  environment?: string | undefined;
};

export type EvaluationMetadata = {
  /** The revision of the flags that answered. */
  readonly revision: number;
  /** Present while the database cannot be asked whether there is a newer one. */
  readonly stale?: true;
  /** Present when the caller asked for an environment it may not claim. */
  readonly environmentIgnored?: true;
  /** How the answer came about, when asked for with `debug`. */
  readonly trace?: readonly ExplanationStep[];
  /** The chosen variant's own metadata. */
  readonly variant?: JsonObject;
};

/** Every field an evaluation can have; which of them a caller gets is up to its `select`. */
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

/** A list made at run time may lack any of the fields its type allows. */
type SelectedFields<Fields extends readonly EvaluationField[]> = number extends Fields["length"]
  ? Partial<Pick<EvaluationFields, Fields[number]>>
  : Pick<EvaluationFields, Fields[number]>;

type Always = {
  /** ISO 8601, UTC. */
  readonly evaluatedAt: string;
  /** The context the flag was evaluated for, when asked for with `contextInResponse`. */
  readonly context?: EvaluationContext;
};

export type EvaluationResult<Select extends EvaluationSelect = "full"> = Selected<Select> & Always;

/** The result for a `select` that is not known until the call. */
export type AnyEvaluationResult = Partial<EvaluationFields> & Always;

/** Per flag: the value alone for `select: "value"`, else an object with the selected fields. */
export type EvaluationMap<Select extends EvaluationSelect> = {
  readonly [key: string]: Select extends "value" ? JsonValue : Selected<Select>;
};

export type BatchResult<Select extends EvaluationSelect = "full"> = {
  readonly flags: EvaluationMap<Select>;
} & Always;

export type BootstrapResult<Select extends EvaluationSelect = "full"> = BatchResult<Select> & {
  readonly context: EvaluationContext;
};

/** The results for a `select` that is not known until the call. */
export type AnyBatchResult = {
  readonly flags: { readonly [key: string]: JsonValue | Partial<EvaluationFields> };
} & Always;

export type AnyBootstrapResult = AnyBatchResult & { readonly context: EvaluationContext };

/** An answer and every step that led to it. */
export type FlagExplanation = {
  readonly result: EvaluationFields;
  readonly steps: readonly ExplanationStep[];
};
