/** Builds the graph of conditions from its end to its beginning, so that each part knows where its answers lead. */
import { checkConditions } from "./conditions.ts";
import type { RuleConditions, Segments, SimpleCondition } from "./definition.ts";
import {
  CONTAINS,
  EARLIER,
  EARLIER_OR_EQUAL,
  EITHER,
  ENDS_WITH,
  EQUAL,
  EQUAL_TO_ONE,
  FAILS,
  GREATER,
  GREATER_OR_EQUAL,
  HOLDS,
  LATER,
  LATER_OR_EQUAL,
  LESS,
  LESS_OR_EQUAL,
  MATCHES,
  Node,
  ONE_OF,
  SAME,
  SEGMENT,
  type SegmentGraph,
  STARTS_WITH,
} from "./graph.ts";
import { parseIsoDate } from "./iso-date.ts";
import type { JsonValue } from "./json.ts";
import { type Path, parsePath } from "./path.ts";
import { compilePattern } from "./pattern.ts";

export type Graphs = ReadonlyMap<string, SegmentGraph>;

interface Shared {
  /** What the graphs were built from. */
  readonly trees: Map<string, RuleConditions | undefined>;
  readonly graphs: Map<string, SegmentGraph>;
}

/** The flags of a tenant share the graphs of its segments: 10,000 flags may use one. */
const shared = new WeakMap<Segments, Shared>();

/** The graphs of these segments; a segment comes after those that it names. Throws when one is not valid. */
export function segmentGraphs(keys: readonly string[], segments: Segments): Graphs {
  if (keys.length === 0) return NO_GRAPHS;
  let { trees, graphs } = shared.get(segments) ?? { trees: new Map(), graphs: new Map() };
  if (keys.some((key) => trees.has(key) && trees.get(key) !== segments.get(key))) {
    trees = new Map();
    graphs = new Map();
  }
  shared.set(segments, { trees, graphs });
  for (const key of keys) {
    if (graphs.has(key)) continue;
    const checked = checkConditions(segments.get(key));
    if ("problem" in checked) throw new Error(`The segment "${key}": ${checked.path} ${checked.problem}.`);
    trees.set(key, segments.get(key));
    graphs.set(key, { entry: buildGroup(checked.conditions, graphs, HOLDS, FAILS) });
  }
  return graphs;
}

const NO_GRAPHS: Graphs = new Map();

/** The node where the group begins; its ways end in `yes` or `no`. */
export function buildGroup(
  { operator, conditions, not }: RuleConditions,
  graphs: Graphs,
  yes: Node,
  no: Node,
): Node {
  const held = not === undefined ? yes : buildGroup(not, graphs, no, yes);
  // Without conditions every group holds, one with OR too.
  if (operator !== "OR" || conditions.length === 0) {
    return conditions.reduceRight((next, member) => buildMember(member, graphs, next, no), held);
  }
  return conditions.reduceRight((next, member) => buildMember(member, graphs, held, next), no);
}

function buildMember(
  member: RuleConditions["conditions"][number],
  graphs: Graphs,
  yes: Node,
  no: Node,
): Node {
  if ("conditions" in member) return buildGroup(member, graphs, yes, no);
  if ("segment" in member) return buildSegment(member.segment, graphs, yes, no);
  return buildSimple(member, yes, no);
}

function buildSegment(key: string, graphs: Graphs, yes: Node, no: Node): Node {
  const segment = graphs.get(key);
  if (segment === undefined) throw new Error(`There is no segment "${key}".`);
  return new Node(SEGMENT, NOWHERE, segment, undefined, yes, no);
}

const NOWHERE: Path = { root: "attributes", steps: [] };

/** A negative operator is the positive one with its answers changed over; a missing attribute answers no to the latter. */
function buildSimple({ attribute, operator, value }: SimpleCondition, yes: Node, no: Node): Node {
  const path = parsePath(attribute);
  switch (operator) {
    case "equals":
      return buildEquals(path, value, yes, no);
    case "not_equals":
      return buildEquals(path, value, no, yes);
    case "in":
      return buildIn(path, value, yes, no);
    case "not_in":
      return buildIn(path, value, no, yes);
    case "contains":
      return new Node(CONTAINS, path, value, undefined, yes, no);
    case "not_contains":
      return new Node(CONTAINS, path, value, undefined, no, yes);
    case "starts_with":
      return typeof value === "string" ? new Node(STARTS_WITH, path, value, undefined, yes, no) : no;
    case "ends_with":
      return typeof value === "string" ? new Node(ENDS_WITH, path, value, undefined, yes, no) : no;
    case "regex":
      return new Node(MATCHES, path, compilePattern(String(value)), undefined, yes, no);
    default:
      return buildOrder(ORDERS[operator], path, value, yes, no);
  }
}

const ORDERS = {
  greater_than: { number: GREATER, instant: LATER },
  greater_than_or_equal: { number: GREATER_OR_EQUAL, instant: LATER_OR_EQUAL },
  less_than: { number: LESS, instant: EARLIER },
  less_than_or_equal: { number: LESS_OR_EQUAL, instant: EARLIER_OR_EQUAL },
} as const;

/** What is neither a number nor an ISO date has no order, and the condition never holds. */
function buildOrder(
  asks: (typeof ORDERS)[keyof typeof ORDERS],
  path: Path,
  value: JsonValue,
  yes: Node,
  no: Node,
): Node {
  if (typeof value === "number") return new Node(asks.number, path, value, undefined, yes, no);
  const instant = typeof value === "string" ? parseIsoDate(value) : undefined;
  return instant === undefined ? no : new Node(asks.instant, path, instant, undefined, yes, no);
}

function buildEquals(path: Path, value: JsonValue, yes: Node, no: Node): Node {
  return new Node(isScalar(value) ? SAME : EQUAL, path, value, undefined, yes, no);
}

function buildIn(path: Path, value: JsonValue, yes: Node, no: Node): Node {
  const items: readonly JsonValue[] = Array.isArray(value) ? value : [];
  const [first, second] = items;
  if (first === undefined) return no;
  const deep = items.filter((item) => !isScalar(item));
  const set = new Set<unknown>(items.filter(isScalar));
  if (deep.length > 0) return new Node(EQUAL_TO_ONE, path, set, deep, yes, no);
  if (set.size === 1) return new Node(SAME, path, first, undefined, yes, no);
  if (items.length === 2) return new Node(EITHER, path, first, second, yes, no);
  return new Node(ONE_OF, path, set, undefined, yes, no);
}

function isScalar(value: JsonValue): boolean {
  return typeof value !== "object" || value === null;
}
