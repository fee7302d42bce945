/** The trace of conditions: evaluates every condition and records its operands and result, for an explanation. */
import type { EvaluationContext, RuleConditions, Segments, SimpleCondition } from "./definition.ts";
import type { OriginOf } from "./explain.ts";
import { isJsonValue, type JsonValue } from "./json.ts";
import { OPERATORS } from "./operators.ts";
import { parsePath, readPath } from "./path.ts";

export type GroupTrace = {
  readonly operator: "AND" | "OR";
  readonly holds: boolean;
  /** All conditions, including those that an evaluation skips because the result is already decided. */
  readonly conditions: readonly Trace[];
  readonly not?: GroupTrace;
};

type SimpleTrace = {
  readonly attribute: string;
  readonly operator: string;
  readonly expected: JsonValue;
  /** Absent when the attribute is missing. */
  readonly actual?: JsonValue;
  /** Where the value comes from, when the host tells it. */
  readonly origin?: string;
  readonly holds: boolean;
  readonly note?: string;
};

type SegmentTrace = {
  readonly segment: string;
  readonly holds: boolean;
  /** Only at the first occurrence of the segment. */
  readonly conditions?: GroupTrace;
};

type Trace = GroupTrace | SimpleTrace | SegmentTrace;

export class Tracer {
  readonly #segments: Segments;
  readonly #context: EvaluationContext;
  readonly #originOf: OriginOf | undefined;
  /** Results of the segments traced so far. A repeated segment is traced once. */
  readonly #results = new Map<string, boolean>();

  constructor(segments: Segments, context: EvaluationContext, originOf?: OriginOf) {
    this.#segments = segments;
    this.#context = context;
    this.#originOf = originOf;
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
    const earlier = this.#results.get(segment);
    if (earlier !== undefined) return { segment, holds: earlier };
    const tree = this.#segments.get(segment);
    if (tree === undefined) throw new Error(`The segment "${segment}" does not exist.`);
    const conditions = this.group(tree);
    this.#results.set(segment, conditions.holds);
    return { segment, holds: conditions.holds, conditions };
  }

  #simple({ attribute, operator, value }: SimpleCondition): SimpleTrace {
    const path = parsePath(attribute);
    const actual = readPath(this.#context, path);
    const origin = this.#originOf?.(path);
    const verdict = OPERATORS[operator].explain(value, actual);
    const note = actual === undefined ? "the attribute is missing" : verdict.note;
    return {
      attribute,
      operator,
      expected: value,
      ...(actual !== undefined && { actual: shown(actual) }),
      ...(origin !== undefined && { origin }),
      holds: verdict.holds,
      ...(note !== undefined && { note }),
    };
  }
}

/** An explanation is JSON, but server code may put any value into a context. */
function shown(value: unknown): JsonValue {
  return isJsonValue(value) ? value : `(${typeof value})`;
}
