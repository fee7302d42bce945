/**
 * The cost of conditions: an upper bound of the time that one evaluation can take, whatever the context. Writes limit it
 * per flag and per tenant; evaluation does not depend on it.
 */
import type { JsonValue } from "./json.ts";
import { MAX_INPUT_LENGTH } from "./pattern.ts";

/** One step is about 10 ns. */
export type Steps = number;

/** Any condition, group or reference to a segment. */
export const NODE_COST: Steps = 10;
/** A level of an attribute's path. */
export const LEVEL_COST: Steps = 9;
/** The hash of a bucketing id: a rollout, variants, or a rule with a percentage. */
export const HASH_COST: Steps = 50;
/** Parsing of a date. */
export const DATE_COST: Steps = 200;
/** A search through `MAX_SEARCHED_LENGTH` characters. */
export const SEARCH_COST: Steps = 3000;
/** A comparison of every item of a list with a scalar. */
export const LIST_COST: Steps = 500;
/** The same with an object or a list. */
export const DEEP_LIST_COST: Steps = 20_000;

const INSTRUCTION_COST: Steps = 4;
const VALUE_COST: Steps = 2;
/** One member of an object. */
const MEMBER_COST: Steps = 16;
/** Characters that are compared in one step. */
const CHARACTERS_PER_STEP = 100;

/** A search with a regular expression of this many instructions. */
export function patternCost(instructions: number): Steps {
  return instructions * MAX_INPUT_LENGTH * INSTRUCTION_COST;
}

/** The comparison of a value with this one. */
export function comparisonCost(operand: JsonValue): Steps {
  if (typeof operand === "string") return VALUE_COST + Math.ceil(operand.length / CHARACTERS_PER_STEP);
  if (typeof operand !== "object" || operand === null) return VALUE_COST;
  const perMember = Array.isArray(operand) ? 0 : MEMBER_COST;
  return Object.values(operand).reduce<Steps>(
    (sum, member) => sum + perMember + comparisonCost(member),
    VALUE_COST,
  );
}
