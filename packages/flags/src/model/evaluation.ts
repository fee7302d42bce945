/** What an evaluation is asked and what it answers, as callers see both. */
import type { EvaluationContext, EvaluationReason } from "../engine/evaluate.ts";
import type { JsonValue } from "../engine/json.ts";

/** The part of a result a caller may ask for by name. */
export type EvaluationField = "value" | "variant" | "reason" | "metadata";

/** `full`: every field. `value`: the value alone. A list: those fields. */
export type EvaluationSelect = "value" | "full" | readonly EvaluationField[];

export type EvaluateFeatureFlagInput<Select extends EvaluationSelect = EvaluationSelect> = {
  flagKey: string;
  /** The answer for a flag that does not exist; `null` when absent. */
  default?: JsonValue | undefined;
  /**
   * Who the flag is evaluated for. A signed-in caller is evaluated as the session's user; the fields may be left out,
   * or must equal the session's.
   */
  context?: ClaimedContext | undefined;
  /** Defaults to `full`. */
  select?: Select | undefined;
  /** Adds the context the flag was evaluated for. Defaults to `false`. */
  contextInResponse?: boolean | undefined;
};

export type ClaimedContext = {
  userId?: string | undefined;
  email?: string | undefined;
  role?: string | undefined;
};

export type EvaluationMetadata = {
  /** The revision of the flags that answered. */
  readonly revision: number;
  /** Present while the database cannot be asked whether there is a newer one. */
  readonly stale?: true;
};

/** Every field an evaluation can have; which of them a caller gets is up to its `select`. */
export type EvaluationFields = {
  readonly value: JsonValue;
  readonly variant?: string;
  readonly reason: EvaluationReason;
  readonly metadata: EvaluationMetadata;
};

type Selected<Select extends EvaluationSelect> = Select extends readonly EvaluationField[]
  ? Pick<EvaluationFields, Select[number]>
  : Select extends "value"
    ? Pick<EvaluationFields, "value">
    : EvaluationFields;

type Always = {
  /** ISO 8601, UTC. */
  readonly evaluatedAt: string;
  /** The context the flag was evaluated for, when asked for with `contextInResponse`. */
  readonly context?: EvaluationContext;
};

export type EvaluationResult<Select extends EvaluationSelect = "full"> = Selected<Select> & Always;

/** The result for a `select` that is not known until the call. */
export type AnyEvaluationResult = Partial<EvaluationFields> & Always;
