/**
 * The cost of conditions: an upper bound of the time that one evaluation can take, whatever the context. Writes limit it
 * per flag and per tenant; evaluation does not depend on it.
 */
import type { JsonValue } from "./json.ts";
import { MAX_INPUT_LENGTH } from "./pattern.ts";

/** One step is about 10 ns on a busy machine. The figures are measured with the operand and the context that are slowest. */
export type Steps = number;

/** Any condition, group or reference to a segment. */
export const NODE_COST: Steps = 10;
/** A level of an attribute's path. */
export const LEVEL_COST: Steps = 12;
/** The hash of a bucketing id: a rollout, variants, or a rule with a percentage. */
export const HASH_COST: Steps = 100;
/** Looks up an environment in the list of a rule. */
export const ENVIRONMENT_COST: Steps = 50;
/** Parsing of a date. */
export const DATE_COST: Steps = 300;
/** A search through `MAX_SEARCHED_LENGTH` characters. */
export const SEARCH_COST: Steps = 6000;
/** A comparison of every item of a list with a scalar. */
export const LIST_COST: Steps = 500;
/** The same with an object or a list. */
export const DEEP_LIST_COST: Steps = 60_000;

const INSTRUCTION_COST: Steps = 4;
/** What a search costs besides its instructions, as a number of instructions. */
const INSTRUCTIONS_PER_PATTERN = 4;
const VALUE_COST: Steps = 3;
const OBJECT_COST: Steps = 30;
/** One member of an object. */
const MEMBER_COST: Steps = 20;
/** Characters of equal strings that are compared in one step, if one of them has a character outside Latin-1. */
const CHARACTERS_PER_STEP = 20;
/** Copying the part of a string that `starts_with` and `ends_with` compare. */
const AFFIX_COST: Steps = 10;

/** One search with each pattern. `instructions` is the total of the compiled patterns. */
export function patternCost(patterns: number, instructions: number): Steps {
  return (instructions + patterns * INSTRUCTIONS_PER_PATTERN) * MAX_INPUT_LENGTH * INSTRUCTION_COST;
}

/** The comparison of a string's start or end with this one. */
export function affixCost(operand: JsonValue): Steps {
  return typeof operand === "string" ? AFFIX_COST + comparisonCost(operand) : 0;
}

/** The comparison of a value with this one. */
export function comparisonCost(operand: JsonValue): Steps {
  if (typeof operand === "string") return VALUE_COST + Math.ceil(operand.length / CHARACTERS_PER_STEP);
  if (typeof operand !== "object" || operand === null) return VALUE_COST;
  const isList = Array.isArray(operand);
  const perMember = isList ? 0 : MEMBER_COST;
  return Object.values(operand).reduce<Steps>(
    (sum, member) => sum + perMember + comparisonCost(member),
    isList ? VALUE_COST : OBJECT_COST,
  );
}
