/**
 * The decision graph of a compiled flag: each node tests the context and leads to one of two next nodes, and every path
 * ends in a result. `AND`, `OR`, `not` and the order of evaluation are edges, so that an evaluation is one loop.
 */
import { readSlot, slotOf } from "./attribute-slots.ts";
import { bucketId, HASHES } from "./bucket.ts";
import { type Comparison, type ComparisonKind, compare } from "./comparison.ts";
import type { Evaluation, EvaluationContext, TrustedRoot } from "./definition.ts";
import { murmur3After, type Suffix } from "./murmur.ts";
import { type Path, readPath } from "./path.ts";

/** The end of a path. `operand` is the result. */
const RESULT = 0;
/** Is the hash of the bucketing id and the suffix `operand` below the threshold `other`? */
export const WITHIN = 1;
/** Which variant has the hash of the bucketing id and the suffix `operand`? `other` is the list of variants. */
export const VARIANT = 2;
/** Do the segment's conditions hold? `operand` is its graph. */
export const SEGMENT = 3;

/** Could the values under the root `operand` be read? Its number is after those of `comparison.ts`. */
const READABLE = 13;

/** The other kinds compare an attribute: their numbers follow, in `comparison.ts`. */
export type NodeKind =
  | typeof RESULT
  | typeof WITHIN
  | typeof VARIANT
  | typeof SEGMENT
  | ComparisonKind
  | typeof READABLE;

/** The slot of a node that does not read a direct member of `attributes`. */
const NO_SLOT = -1;

/** One class for all kinds, so that V8 sees one shape in the loop. The fields that the loop reads most come first. */
export class Node {
  readonly kind: NodeKind;
  /** The attribute's slot when the path is a direct member of `attributes`, as most are; otherwise `NO_SLOT`. */
  readonly slot: number;
  /** The type of `operand` and `other` depends on the kind. */
  readonly operand: unknown;
  readonly yes: Node;
  readonly no: Node;
  readonly other: unknown;
  /** The attribute's name; empty with `NO_SLOT`. */
  readonly attribute: string;
  /** The attribute that is compared, or whose value is the bucketing id. */
  readonly path: Path;

  constructor(kind: NodeKind, path: Path, operand: unknown, other?: unknown, yes?: Node, no?: Node) {
    const [attribute = "", ...further] = path.steps;
    const direct = kind > SEGMENT && path.root === "attributes" && further.length === 0;
    this.kind = kind;
    this.slot = direct ? slotOf(attribute) : NO_SLOT;
    this.operand = operand;
    this.yes = yes ?? this;
    this.no = no ?? this;
    this.other = other;
    this.attribute = direct ? attribute : "";
    this.path = path;
  }
}

/** A node that compares an attribute. */
type ComparisonNode = Node & Comparison;

/** A variant takes the hashes below `threshold` that the variants before it do not take. */
export interface VariantEnd {
  readonly threshold: number;
  readonly end: Node;
}

/** A segment's conditions: every path ends in `HOLDS` or `FAILS`. */
export interface SegmentGraph {
  readonly entry: Node;
}

/** The results of segments within one evaluation, kept when a segment may be evaluated more than once. */
export type Memory = Map<SegmentGraph, boolean>;

const NO_PATH: Path = { root: "attributes", steps: [] };
const NO_ATTRIBUTES: Readonly<Record<string, unknown>> = Object.freeze({});
/** Stands for attributes with an unusual prototype, which `readPath` reads. */
const UNUSUAL: Readonly<Record<string, unknown>> = Object.freeze({});
/** The name of a property that no object has. */
const NOTHING = Symbol("nothing");

export function leaf(result: Evaluation): Node {
  return new Node(RESULT, NO_PATH, result);
}

/** An end without a result, compared by identity. */
export function mark(): Node {
  return new Node(RESULT, NO_PATH, undefined);
}

export const HOLDS: Node = mark();
export const FAILS: Node = mark();

/** The node that tests whether the segment's conditions hold. */
export function segmentNode(segment: SegmentGraph, yes: Node, no: Node): Node {
  return new Node(SEGMENT, NO_PATH, segment, undefined, yes, no);
}

/** The node that tests whether the values under a trusted root could be read. */
export function readableNode(root: TrustedRoot, yes: Node, no: Node): Node {
  return new Node(READABLE, { root, steps: [] }, root, undefined, yes, no);
}

export function resultOf(node: Node): Evaluation {
  return node.operand as Evaluation;
}

/** Evaluates from `entry` to the end of the path. */
export function walk(entry: Node, context: EvaluationContext, memory: Memory | undefined): Node {
  let node = entry;
  let attributes: Readonly<Record<string, unknown>> | undefined;
  while (node.kind !== RESULT) {
    const { slot } = node;
    if (slot === NO_SLOT) {
      node = stepWithoutSlot(node, context, memory);
      continue;
    }
    attributes ??= attributesOf(context);
    const value = attributes === UNUSUAL ? readPath(context, node.path) : readSlot(attributes, slot, node);
    node = compare(node as ComparisonNode, value) ? node.yes : node.no;
  }
  return node;
}

/** The attributes when their prototype is `Object.prototype`, so that slots can read them; otherwise `UNUSUAL`. */
function attributesOf({ attributes }: EvaluationContext): Readonly<Record<PropertyKey, unknown>> {
  if (!attributes) return NO_ATTRIBUTES;
  // After any read V8 knows the object's shape, and with it the prototype, without a call.
  void (attributes as Readonly<Record<PropertyKey, unknown>>)[NOTHING];
  return Object.getPrototypeOf(attributes) === Object.prototype ? attributes : UNUSUAL;
}

function stepWithoutSlot(node: Node, context: EvaluationContext, memory: Memory | undefined): Node {
  // A short function with the most common kind only, so that V8 inlines it into the loop of `walk`.
  return node.kind === WITHIN ? stepWithin(node, context) : stepRarer(node, context, memory);
}

function stepWithin(node: Node, context: EvaluationContext): Node {
  return hashOf(node, context) < (node.other as number) ? node.yes : node.no;
}

function stepRarer(node: Node, context: EvaluationContext, memory: Memory | undefined): Node {
  switch (node.kind) {
    case RESULT:
      return node;
    case WITHIN:
      return stepWithin(node, context);
    case VARIANT:
      return variantAt(node.other as readonly VariantEnd[], hashOf(node, context));
    case SEGMENT:
      return segmentHolds(node.operand as SegmentGraph, context, memory) ? node.yes : node.no;
    case READABLE:
      return context.unreadable?.includes(node.operand as TrustedRoot) ? node.no : node.yes;
    default:
      node.kind satisfies ComparisonKind;
      return compare(node as ComparisonNode, readPath(context, node.path)) ? node.yes : node.no;
  }
}

function hashOf(node: Node, context: EvaluationContext): number {
  return murmur3After(bucketId(context, node.path), node.operand as Suffix);
}

function variantAt(ends: readonly VariantEnd[], hash: number): Node {
  for (const { threshold, end } of ends) if (hash < threshold) return end;
  throw new Error(`No variant covers the hash ${hash}. The last threshold must be ${HASHES}.`);
}

function segmentHolds(
  segment: SegmentGraph,
  context: EvaluationContext,
  memory: Memory | undefined,
): boolean {
  const remembered = memory?.get(segment);
  if (remembered !== undefined) return remembered;
  const holds = walk(segment.entry, context, memory) === HOLDS;
  memory?.set(segment, holds);
  return holds;
}
