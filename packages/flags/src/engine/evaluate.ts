/** The evaluation of one flag: a pure function of its definition, the caller's context and the caller's default. */
import type { JsonValue } from "./json.ts";

export type FlagType = "boolean" | "string" | "number" | "json";

/** Why an evaluation gave the value it gave. */
export type EvaluationReason = "default" | "disabled" | "not_found";

/** What evaluation needs to know of a flag. */
export interface FlagDefinition {
  readonly type: FlagType;
  readonly enabled: boolean;
  /** Absent: the empty value of the flag's type. */
  readonly defaultValue?: JsonValue;
}

/** Who or what a flag is evaluated for. */
export interface EvaluationContext {
  readonly userId?: string;
  readonly email?: string;
  readonly role?: string;
}

export interface Evaluation {
  readonly value: JsonValue;
  readonly reason: EvaluationReason;
}

const EMPTY_VALUES: Readonly<Record<FlagType, JsonValue>> = {
  boolean: false,
  string: "",
  number: 0,
  json: null,
};

/**
 * Evaluates a flag; `undefined` stands for a flag that does not exist.
 *
 * The caller's default answers only for a flag that does not exist: a disabled flag gives its own default, so that
 * switching a flag off means the same to every caller.
 */
export function evaluate(
  definition: FlagDefinition | undefined,
  _context: EvaluationContext,
  callerDefault: JsonValue | undefined,
): Evaluation {
  if (definition === undefined) return { value: callerDefault ?? null, reason: "not_found" };
  const value =
    definition.defaultValue === undefined ? EMPTY_VALUES[definition.type] : definition.defaultValue;
  return { value, reason: definition.enabled ? "default" : "disabled" };
}
