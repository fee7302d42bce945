/** The condition operators: one table that validation, the decision graph, explanations and the documentation share. */
import {
  type Comparison,
  EITHER,
  GREATER,
  GREATER_OR_EQUAL,
  LESS,
  LESS_OR_EQUAL,
  never,
  ONE_OF,
  type OrderKind,
  predicate,
  SAME,
} from "./comparison.ts";
import {
  affixCost,
  comparisonCost,
  DATE_COST,
  DEEP_LIST_COST,
  LIST_COST,
  SEARCH_COST,
  type Steps,
} from "./cost.ts";
import { jsonEquals } from "./equality.ts";
import { parseIsoDate } from "./iso-date.ts";
import type { JsonValue } from "./json.ts";
import { allowAny, checkList, checkPart, checkPattern, type OperandProblem } from "./operand.ts";
import { compilePattern, MAX_INPUT_LENGTH } from "./pattern.ts";
import { createSearch } from "./substring.ts";

/** How a condition compares an attribute with its operand. */
export type ConditionOperator =
  | "equals"
  | "not_equals"
  | "contains"
  | "not_contains"
  | "starts_with"
  | "ends_with"
  | "in"
  | "not_in"
  | "greater_than"
  | "less_than"
  | "greater_than_or_equal"
  | "less_than_or_equal"
  | "regex";

export interface OperatorDefinition {
  /** When the condition holds: the operator's row in docs/guide/flags-targeting.md. */
  readonly documentation: string;
  /** What is wrong with an operand from outside. It may be anything but undefined; the caller checks that it is JSON. */
  readonly checkOperand: (operand: unknown) => OperandProblem | undefined;
  /** Whether the operand is a regular expression, which counts towards the limits of a flag. */
  readonly isPattern: boolean;
  /** The most that one comparison with the operand costs, apart from the search with a regular expression. */
  readonly cost: (operand: JsonValue) => Steps;
  /** Prepares the comparison for the decision graph. A missing attribute is compared as undefined. */
  readonly compile: (operand: JsonValue) => Comparison;
  /** Whether `compile` prepared the opposite of the operator. The graph then swaps the two branches. */
  readonly isNegated: boolean;
  /** Compares without preparation, for explanations. `actual` is undefined when the attribute is missing. */
  readonly explain: (operand: JsonValue, actual: unknown) => Verdict;
}

export interface Verdict {
  readonly holds: boolean;
  /** The reason, where the operand and the value do not show it. */
  readonly note?: string;
}

/** Items of an array that `contains` reads. */
const MAX_SEARCHED_ITEMS = 1024;

/** To add an operator, add its name to `ConditionOperator` and its entry here. */
export const OPERATORS: Readonly<Record<ConditionOperator, OperatorDefinition>> = {
  equals: {
    documentation: "the value is the same JSON value, compared deeply; `null` equals only `null`",
    checkOperand: allowAny,
    isPattern: false,
    cost: comparisonCost,
    compile: compileEquals,
    isNegated: false,
    explain: verdictOf(jsonEquals),
  },
  not_equals: {
    documentation: "`equals` does not hold",
    checkOperand: allowAny,
    isPattern: false,
    cost: comparisonCost,
    compile: compileEquals,
    isNegated: true,
    explain: negated(jsonEquals),
  },
  contains: {
    documentation:
      "the first 4,096 characters of a string contain the substring, or the first 1,024 items of an array contain the value",
    checkOperand: checkPart,
    isPattern: false,
    cost: containsCost,
    compile: compileContains,
    isNegated: false,
    explain: verdictOf(contains),
  },
  not_contains: {
    documentation: "`contains` does not hold",
    checkOperand: checkPart,
    isPattern: false,
    cost: containsCost,
    compile: compileContains,
    isNegated: true,
    explain: negated(contains),
  },
  starts_with: {
    documentation: "a string starts with the string",
    checkOperand: allowAny,
    isPattern: false,
    cost: affixCost,
    compile: (operand) => predicate((value) => startsWith(operand, value)),
    isNegated: false,
    explain: verdictOf(startsWith),
  },
  ends_with: {
    documentation: "a string ends with the string",
    checkOperand: allowAny,
    isPattern: false,
    cost: affixCost,
    compile: (operand) => predicate((value) => endsWith(operand, value)),
    isNegated: false,
    explain: verdictOf(endsWith),
  },
  in: {
    documentation: "the value equals one of the list",
    checkOperand: checkList,
    isPattern: false,
    cost: comparisonCost,
    compile: compileIn,
    isNegated: false,
    explain: verdictOf(isIn),
  },
  not_in: {
    documentation: "`in` does not hold",
    checkOperand: checkList,
    isPattern: false,
    cost: comparisonCost,
    compile: compileIn,
    isNegated: true,
    explain: negated(isIn),
  },
  greater_than: {
    documentation: "a number is greater than the number, or an ISO date is later than the ISO date",
    checkOperand: allowAny,
    isPattern: false,
    cost: orderCost,
    compile: (operand) => compileOrder(operand, GREATER, isGreater),
    isNegated: false,
    explain: verdictOf(inOrder(isGreater)),
  },
  less_than: {
    documentation: "a number is less than the number, or an ISO date is earlier than the ISO date",
    checkOperand: allowAny,
    isPattern: false,
    cost: orderCost,
    compile: (operand) => compileOrder(operand, LESS, isLess),
    isNegated: false,
    explain: verdictOf(inOrder(isLess)),
  },
  greater_than_or_equal: {
    documentation: "`greater_than` holds, or both are the same number or the same instant",
    checkOperand: allowAny,
    isPattern: false,
    cost: orderCost,
    compile: (operand) => compileOrder(operand, GREATER_OR_EQUAL, isGreaterOrEqual),
    isNegated: false,
    explain: verdictOf(inOrder(isGreaterOrEqual)),
  },
  less_than_or_equal: {
    documentation: "`less_than` holds, or both are the same number or the same instant",
    checkOperand: allowAny,
    isPattern: false,
    cost: orderCost,
    compile: (operand) => compileOrder(operand, LESS_OR_EQUAL, isLessOrEqual),
    isNegated: false,
    explain: verdictOf(inOrder(isLessOrEqual)),
  },
  regex: {
    documentation:
      "the regular expression, in [RE2's syntax](https://github.com/google/re2/wiki/Syntax), matches anywhere in a string; anchor it with `^` and `$`",
    checkOperand: checkPattern,
    isPattern: true,
    cost: () => 0,
    compile: compileRegex,
    isNegated: false,
    explain: (operand, actual) => {
      const note = noteOnRegex(actual);
      const holds = typeof actual === "string" && compilePattern(String(operand)).matches(actual);
      return note === undefined ? { holds } : { holds, note };
    },
  },
};

export function isOperator(value: unknown): value is ConditionOperator {
  return typeof value === "string" && Object.hasOwn(OPERATORS, value);
}

/** Whether the operator takes a regular expression. False for anything that is not an operator. */
export function takesPattern(operator: unknown): boolean {
  return isOperator(operator) && OPERATORS[operator].isPattern;
}

type Holds = (operand: JsonValue, actual: unknown) => boolean;

function verdictOf(holds: Holds): OperatorDefinition["explain"] {
  return (operand, actual) => ({ holds: holds(operand, actual) });
}

function negated(holds: Holds): OperatorDefinition["explain"] {
  return (operand, actual) => ({ holds: !holds(operand, actual) });
}

function compileEquals(operand: JsonValue): Comparison {
  if (isScalar(operand)) return { kind: SAME, operand };
  return predicate((value) => jsonEquals(operand, value));
}

function compileIn(operand: JsonValue): Comparison {
  const items: readonly JsonValue[] = Array.isArray(operand) ? operand : [];
  const [first, second] = items;
  if (first === undefined) return never;
  const deep = items.filter((item) => !isScalar(item));
  const set = new Set<unknown>(items.filter(isScalar));
  if (deep.length > 0)
    return predicate((value) => set.has(value) || deep.some((item) => jsonEquals(item, value)));
  if (set.size === 1) return { kind: SAME, operand: first };
  if (items.length === 2) return { kind: EITHER, operand: first, other: second };
  return { kind: ONE_OF, operand: set };
}

function isIn(operand: JsonValue, actual: unknown): boolean {
  return Array.isArray(operand) && operand.some((item) => jsonEquals(item, actual));
}

function contains(operand: JsonValue, actual: unknown): boolean {
  return containment(operand)(actual);
}

function compileContains(operand: JsonValue): Comparison {
  return predicate(containment(operand));
}

function containment(operand: JsonValue): (actual: unknown) => boolean {
  const isPartOf = typeof operand === "string" ? createSearch(operand) : () => false;
  return (actual) => {
    if (typeof actual === "string") return isPartOf(actual);
    if (!Array.isArray(actual)) return false;
    const items: readonly unknown[] =
      actual.length > MAX_SEARCHED_ITEMS ? actual.slice(0, MAX_SEARCHED_ITEMS) : actual;
    return isScalar(operand)
      ? items.indexOf(operand) !== -1
      : items.some((item) => jsonEquals(operand, item));
  };
}

function containsCost(operand: JsonValue): Steps {
  if (typeof operand === "string") return SEARCH_COST;
  return isScalar(operand) ? LIST_COST : DEEP_LIST_COST + comparisonCost(operand);
}

function orderCost(operand: JsonValue): Steps {
  return typeof operand === "string" ? DATE_COST : 0;
}

/** Longer operands are compared with a slice: for the start or the end of a string V8 takes 5 ns a character. */
const MAX_COMPARED_ONE_BY_ONE = 16;

function startsWith(operand: JsonValue, actual: unknown): boolean {
  if (typeof actual !== "string" || typeof operand !== "string") return false;
  if (operand.length <= MAX_COMPARED_ONE_BY_ONE) return actual.startsWith(operand);
  return actual.slice(0, operand.length) === operand;
}

function endsWith(operand: JsonValue, actual: unknown): boolean {
  if (typeof actual !== "string" || typeof operand !== "string") return false;
  if (operand.length <= MAX_COMPARED_ONE_BY_ONE) return actual.endsWith(operand);
  return actual.slice(-operand.length) === operand;
}

type Order = (value: number, bound: number) => boolean;

function isGreater(value: number, bound: number): boolean {
  return value > bound;
}

function isGreaterOrEqual(value: number, bound: number): boolean {
  return value >= bound;
}

function isLess(value: number, bound: number): boolean {
  return value < bound;
}

function isLessOrEqual(value: number, bound: number): boolean {
  return value <= bound;
}

/** Only numbers and ISO dates have an order. */
function compileOrder(operand: JsonValue, kind: OrderKind, isOrdered: Order): Comparison {
  if (typeof operand === "number") return { kind, operand };
  const bound = typeof operand === "string" ? parseIsoDate(operand) : undefined;
  if (bound === undefined) return never;
  return predicate((value) => {
    const instant = typeof value === "string" ? parseIsoDate(value) : undefined;
    return instant !== undefined && isOrdered(instant, bound);
  });
}

function inOrder(isOrdered: Order): Holds {
  return (operand, actual) => {
    const bound = typeof operand === "string" ? parseIsoDate(operand) : operand;
    const value = typeof actual === "string" ? parseIsoDate(actual) : actual;
    if (typeof operand !== typeof actual || typeof bound !== "number" || typeof value !== "number")
      return false;
    return isOrdered(value, bound);
  };
}

function compileRegex(operand: JsonValue): Comparison {
  const pattern = compilePattern(String(operand));
  return predicate((value) => typeof value === "string" && pattern.matches(value));
}

function noteOnRegex(actual: unknown): string | undefined {
  if (typeof actual !== "string") return "regex searches text only";
  if (actual.length <= MAX_INPUT_LENGTH) return undefined;
  return `text over ${MAX_INPUT_LENGTH} characters does not match`;
}

function isScalar(value: JsonValue): boolean {
  return typeof value !== "object" || value === null;
}
