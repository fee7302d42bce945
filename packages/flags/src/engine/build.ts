/** Builds the decision graph of conditions from the end to the start, so that each node knows its next nodes. */
import { NEVER } from "./comparison.ts";
import { checkConditions } from "./conditions.ts";
import type { RuleConditions, Segments, SimpleCondition } from "./definition.ts";
import { FAILS, HOLDS, Node, type SegmentGraph, segmentNode } from "./graph.ts";
import { OPERATORS } from "./operators.ts";
import { parsePath } from "./path.ts";

export type Graphs = ReadonlyMap<string, SegmentGraph>;

interface Shared {
  /** The conditions from which the graphs were built. */
  readonly trees: Map<string, RuleConditions | undefined>;
  readonly graphs: Map<string, SegmentGraph>;
}

/** The flags of a tenant share the graphs of its segments: thousands of flags may use the same segment. */
const shared = new WeakMap<Segments, Shared>();

/** The graphs of these segments. `keys` lists a segment after the segments it refers to. Throws when a segment is invalid. */
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
    if ("problem" in checked)
      throw new Error(`The segment "${key}" is not valid: ${checked.path} ${checked.problem}.`);
    trees.set(key, segments.get(key));
    graphs.set(key, { entry: buildGroup(checked.conditions, graphs, HOLDS, FAILS) });
  }
  return graphs;
}

const NO_GRAPHS: Graphs = new Map();

/** Returns the first node of the group. Its paths lead to `yes` or `no`. */
export function buildGroup(
  { operator, conditions, not }: RuleConditions,
  graphs: Graphs,
  yes: Node,
  no: Node,
): Node {
  const held = not === undefined ? yes : buildGroup(not, graphs, no, yes);
  // A group without conditions holds, with `OR` too.
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
  if (segment === undefined) throw new Error(`The segment "${key}" does not exist.`);
  return segmentNode(segment, yes, no);
}

/** The node that tests whether a rule counts in the environment of the evaluation. */
export function buildEnvironments(environments: readonly string[], yes: Node, no: Node): Node {
  return buildSimple({ attribute: "environment", operator: "in", value: environments }, yes, no);
}

/** A negated operator is the positive one with the branches swapped, so that a missing attribute makes it hold. */
function buildSimple({ attribute, operator, value }: SimpleCondition, yes: Node, no: Node): Node {
  const { compile, isNegated } = OPERATORS[operator];
  const { kind, operand, other } = compile(value);
  const [passed, failed] = isNegated ? [no, yes] : [yes, no];
  return kind === NEVER ? failed : new Node(kind, parsePath(attribute), operand, other, passed, failed);
}
