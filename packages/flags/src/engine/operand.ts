/** Operands: which values a condition may compare with, by operator. */
import { compilePattern, MAX_PATTERN_LENGTH, MAX_PATTERN_SIZE } from "./pattern.ts";
import type { ConditionProblem } from "./problem.ts";

/** Values of one list. */
const MAX_LIST_LENGTH = 1_000;
/** Characters. Searching a long text for a long part that almost matches everywhere is slow. */
const MAX_PART_LENGTH = 256;

/** What is wrong with an operand, and what to change. */
export type OperandProblem = Omit<ConditionProblem, "path">;

/** Any JSON value. The caller checks that the operand is JSON. */
export function allowAny(): undefined {
  return undefined;
}

export function checkList(operand: unknown): OperandProblem | undefined {
  if (!Array.isArray(operand)) return { problem: "must be a list of values" };
  if (operand.length <= MAX_LIST_LENGTH) return undefined;
  return {
    problem: `has ${operand.length} values; use at most ${MAX_LIST_LENGTH}`,
    limit: MAX_LIST_LENGTH,
  };
}

export function checkPart(operand: unknown): OperandProblem | undefined {
  if (typeof operand !== "string" || operand.length <= MAX_PART_LENGTH) return undefined;
  return {
    problem: `has ${operand.length} characters; use at most ${MAX_PART_LENGTH}`,
    limit: MAX_PART_LENGTH,
  };
}

export function checkPattern(operand: unknown): OperandProblem | undefined {
  if (typeof operand !== "string") return { problem: "must be a regular expression, as a string" };
  if (operand.length > MAX_PATTERN_LENGTH) {
    return {
      problem: `has ${operand.length} characters; a regular expression may have at most ${MAX_PATTERN_LENGTH}`,
      limit: MAX_PATTERN_LENGTH,
    };
  }
  try {
    const { size } = compilePattern(operand);
    if (size <= MAX_PATTERN_SIZE) return undefined;
    return {
      problem: `compiles to ${size} instructions, over the limit of ${MAX_PATTERN_SIZE}; use + or * instead of a long counted repetition`,
      limit: MAX_PATTERN_SIZE,
    };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return {
      problem: `is not valid RE2 syntax, which has no look-around and no back-references: ${reason}`,
    };
  }
}
