/** Evaluates conditions one by one and keeps what each compared and found. */
import type { EvaluationContext, RuleConditions, Segments, SimpleCondition } from "./definition.ts";
import { jsonEquals } from "./equality.ts";
import { parseIsoDate } from "./iso-date.ts";
import { isJsonValue, type JsonValue } from "./json.ts";
import { parsePath, readPath } from "./path.ts";
import { compilePattern, MAX_INPUT_LENGTH } from "./pattern.ts";

export type GroupTrace = {
  readonly operator: "AND" | "OR";
  readonly holds: boolean;
  /** All of them, also those that evaluation does not come to because the answer is clear before. */
  readonly conditions: readonly Trace[];
  readonly not?: GroupTrace;
};

type SimpleTrace = {
  readonly attribute: string;
  readonly operator: string;
  readonly expected: JsonValue;
  /** Absent when the attribute is missing. */
  readonly actual?: JsonValue;
  readonly holds: boolean;
  readonly note?: string;
};

type SegmentTrace = {
  readonly segment: string;
  readonly holds: boolean;
  /** Only where the segment is met first. */
  readonly conditions?: GroupTrace;
};

type Trace = GroupTrace | SimpleTrace | SegmentTrace;

const NEGATIONS = {
  not_equals: "equals",
  not_contains: "contains",
  not_in: "in",
} as const;

type Positive = Exclude<SimpleCondition["operator"], keyof typeof NEGATIONS>;

export class Tracer {
  readonly #segments: Segments;
  readonly #context: EvaluationContext;
  /** Answers of segments met before: what many ways lead to is told once. */
  readonly #answers = new Map<string, boolean>();

  constructor(segments: Segments, context: EvaluationContext) {
    this.#segments = segments;
    this.#context = context;
  }

  group({ operator = "AND", conditions, not }: RuleConditions): GroupTrace {
    const traces = conditions.map((member): Trace => {
      if ("conditions" in member) return this.group(member);
      return "segment" in member ? this.#segment(member.segment) : this.#simple(member);
    });
    const held = ({ holds }: Trace): boolean => holds;
    const together = operator === "OR" && traces.length > 0 ? traces.some(held) : traces.every(held);
    if (not === undefined) return { operator, holds: together, conditions: traces };
    const negated = this.group(not);
    return { operator, holds: together && !negated.holds, conditions: traces, not: negated };
  }

  #segment(segment: string): SegmentTrace {
    const known = this.#answers.get(segment);
    if (known !== undefined) return { segment, holds: known };
    const tree = this.#segments.get(segment);
    if (tree === undefined) throw new Error(`There is no segment "${segment}".`);
    const conditions = this.group(tree);
    this.#answers.set(segment, conditions.holds);
    return { segment, holds: conditions.holds, conditions };
  }

  #simple({ attribute, operator, value }: SimpleCondition): SimpleTrace {
    const actual = readPath(this.#context, parsePath(attribute));
    const negated = operator === "not_equals" || operator === "not_contains" || operator === "not_in";
    const positive: Positive = negated ? NEGATIONS[operator] : operator;
    const holds = (actual !== undefined && compare(positive, value, actual)) !== negated;
    const note = noteOn(positive, actual);
    return {
      attribute,
      operator,
      expected: value,
      ...(actual !== undefined && { actual: shown(actual) }),
      holds,
      ...(note !== undefined && { note }),
    };
  }
}

function compare(operator: Positive, expected: JsonValue, actual: unknown): boolean {
  switch (operator) {
    case "equals":
      return jsonEquals(expected, actual);
    case "in":
      return Array.isArray(expected) && expected.some((item) => jsonEquals(item, actual));
    case "contains":
      if (Array.isArray(actual)) return actual.some((item) => jsonEquals(expected, item));
      return typeof actual === "string" && typeof expected === "string" && actual.includes(expected);
    case "starts_with":
      return typeof actual === "string" && typeof expected === "string" && actual.startsWith(expected);
    case "ends_with":
      return typeof actual === "string" && typeof expected === "string" && actual.endsWith(expected);
    case "regex":
      return (
        typeof actual === "string" && typeof expected === "string" && compilePattern(expected).matches(actual)
      );
    default:
      return ordered(operator, expected, actual);
  }
}

function ordered(operator: Positive, expected: JsonValue, actual: unknown): boolean {
  const bound = typeof expected === "string" ? parseIsoDate(expected) : expected;
  const value = typeof actual === "string" ? parseIsoDate(actual) : actual;
  if (typeof expected !== typeof actual || typeof bound !== "number" || typeof value !== "number")
    return false;
  if (operator === "greater_than") return value > bound;
  if (operator === "greater_than_or_equal") return value >= bound;
  return operator === "less_than" ? value < bound : value <= bound;
}

function noteOn(operator: Positive, actual: unknown): string | undefined {
  if (actual === undefined) return "the attribute is missing";
  if (operator !== "regex") return undefined;
  if (typeof actual !== "string") return "regex searches text only";
  if (actual.length <= MAX_INPUT_LENGTH) return undefined;
  return `text over ${MAX_INPUT_LENGTH} characters does not match`;
}

/** Server code may put anything into a context; an explanation holds JSON. */
function shown(value: unknown): JsonValue {
  return isJsonValue(value) ? value : `(${typeof value})`;
}
