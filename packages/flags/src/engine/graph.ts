/**
 * A flag as a graph: each node asks one question of the context, its answer leads to the next node, and every way ends
 * in a result. `AND`, `OR`, `not` and the order of evaluation are in the edges, so that walking it is one loop.
 */
import { bucketId } from "./bucket.ts";
import type { Evaluation, EvaluationContext } from "./definition.ts";
import { jsonEquals } from "./equality.ts";
import { parseIsoDate } from "./iso-date.ts";
import type { JsonValue } from "./json.ts";
import { murmur3After, type Suffix } from "./murmur.ts";
import { type Path, readPath } from "./path.ts";
import type { Pattern } from "./pattern.ts";
import { placeOf, readAt } from "./places.ts";

/** No question: the end of a way. `operand` is the result. */
const RESULT = 0;
/** Is the hash of the id and `operand` below `other`? */
export const WITHIN = 1;
/** Which variant is the hash of the id and `operand` for? `other` is the list of them. */
export const VARIANT = 2;
/** Do the segment's conditions hold? `operand` is its graph. */
export const SEGMENT = 3;
/** Is the attribute `operand`? */
export const SAME = 4;
/** Is it `operand` or `other`? */
export const EITHER = 5;
export const GREATER = 6;
export const GREATER_OR_EQUAL = 7;
export const LESS = 8;
export const LESS_OR_EQUAL = 9;
/** Is it in the set `operand`? */
export const ONE_OF = 10;
/** Is it in the set `operand`, or deeply equal to one of the list `other`? */
export const EQUAL_TO_ONE = 11;
export const EQUAL = 12;
export const CONTAINS = 13;
export const STARTS_WITH = 14;
export const ENDS_WITH = 15;
export const MATCHES = 16;
export const LATER = 17;
export const LATER_OR_EQUAL = 18;
export const EARLIER = 19;
export const EARLIER_OR_EQUAL = 20;

/** The place of a question that is not about one of `attributes` itself. */
const ELSEWHERE = -1;

/** One class for all questions, so that the loop reads every node alike; what it reads most comes first. */
export class Node {
  readonly ask: number;
  /** Where the attribute is read, when it is one of `attributes` itself, as nearly all are; otherwise `ELSEWHERE`. */
  readonly place: number;
  /** Of what kind `operand` and `other` are depends on the question. */
  readonly operand: unknown;
  readonly yes: Node;
  readonly no: Node;
  readonly other: unknown;
  /** The name of the attribute, empty with `ELSEWHERE`. */
  readonly attribute: string;
  /** What the question is about. */
  readonly path: Path;

  constructor(ask: number, path: Path, operand: unknown, other?: unknown, yes?: Node, no?: Node) {
    const [attribute = "", ...further] = path.steps;
    const direct = ask > SEGMENT && path.root === "attributes" && further.length === 0;
    this.ask = ask;
    this.place = direct ? placeOf(attribute) : ELSEWHERE;
    this.operand = operand;
    this.yes = yes ?? this;
    this.no = no ?? this;
    this.other = other;
    this.attribute = direct ? attribute : "";
    this.path = path;
  }
}

/** A variant's share of the line of hashes ends at `threshold`. */
export interface VariantEnd {
  readonly threshold: number;
  readonly end: Node;
}

/** A segment's conditions: every way ends in `HOLDS` or `FAILS`. */
export interface SegmentGraph {
  readonly entry: Node;
}

/** The answers of segments in this evaluation, kept where one may be asked twice. */
export type Memory = Map<SegmentGraph, boolean>;

const NOWHERE: Path = { root: "attributes", steps: [] };
const NO_ATTRIBUTES: Readonly<Record<string, unknown>> = Object.freeze({});
/** Stands for attributes that are to be read step by step. */
const UNUSUAL: Readonly<Record<string, unknown>> = Object.freeze({});
/** The name of a property that no object has. */
const NOTHING = Symbol("nothing");

export function leaf(result: Evaluation): Node {
  return new Node(RESULT, NOWHERE, result);
}

/** An end without a result, to be known by its identity. */
export function mark(): Node {
  return new Node(RESULT, NOWHERE, undefined);
}

export const HOLDS: Node = mark();
export const FAILS: Node = mark();

export function resultOf(node: Node): Evaluation {
  return node.operand as Evaluation;
}

/** The node at the end of the way. */
export function walk(entry: Node, context: EvaluationContext, memory: Memory | undefined): Node {
  let node = entry;
  let attributes: Readonly<Record<string, unknown>> | undefined;
  while (node.ask !== RESULT) {
    const { place } = node;
    if (place === ELSEWHERE) {
      node = leave(node, context, memory);
      continue;
    }
    attributes ??= attributesOf(context);
    const value = attributes === UNUSUAL ? readPath(context, node.path) : readAt(attributes, place, node);
    node = answer(node, value) ? node.yes : node.no;
  }
  return node;
}

/** The attributes, where they are an object like any other of this realm: reading it then is much cheaper. */
function attributesOf({ attributes }: EvaluationContext): Readonly<Record<PropertyKey, unknown>> {
  if (!attributes) return NO_ATTRIBUTES;
  // Any read before makes V8 know the object's shape, and with it the prototype, without a call.
  void (attributes as Readonly<Record<PropertyKey, unknown>>)[NOTHING];
  return Object.getPrototypeOf(attributes) === Object.prototype ? attributes : UNUSUAL;
}

/** The next node after one whose question is about something else than an attribute. */
function leave(node: Node, context: EvaluationContext, memory: Memory | undefined): Node {
  // Apart from the others, and in few words, so that the loop takes it in.
  if (node.ask === WITHIN) return hashOf(node, context) < (node.other as number) ? node.yes : node.no;
  return leaveRarer(node, context, memory);
}

function leaveRarer(node: Node, context: EvaluationContext, memory: Memory | undefined): Node {
  switch (node.ask) {
    case VARIANT:
      return variantAt(node.other as readonly VariantEnd[], hashOf(node, context));
    case SEGMENT:
      return segmentHolds(node.operand as SegmentGraph, context, memory) ? node.yes : node.no;
    default:
      return answer(node, readPath(context, node.path)) ? node.yes : node.no;
  }
}

function hashOf(node: Node, context: EvaluationContext): number {
  return murmur3After(bucketId(context, node.path), node.operand as Suffix);
}

function variantAt(ends: readonly VariantEnd[], hash: number): Node {
  for (const { threshold, end } of ends) if (hash < threshold) return end;
  throw new Error("The last variant takes every hash.");
}

function segmentHolds(
  segment: SegmentGraph,
  context: EvaluationContext,
  memory: Memory | undefined,
): boolean {
  const known = memory?.get(segment);
  if (known !== undefined) return known;
  const holds = walk(segment.entry, context, memory) === HOLDS;
  memory?.set(segment, holds);
  return holds;
}

/** Of a missing value every answer is no. */
function answer(node: Node, value: unknown): boolean {
  // The questions asked most come first, and in few words, so that the loop takes them in.
  const { ask } = node;
  if (ask === SAME) return value === node.operand;
  if (ask === EITHER) return value === node.operand || value === node.other;
  if (ask === GREATER) return typeof value === "number" && value > (node.operand as number);
  return answerRarer(node, value);
}

function answerRarer(node: Node, value: unknown): boolean {
  switch (node.ask) {
    case GREATER_OR_EQUAL:
      return typeof value === "number" && value >= (node.operand as number);
    case LESS:
      return typeof value === "number" && value < (node.operand as number);
    case LESS_OR_EQUAL:
      return typeof value === "number" && value <= (node.operand as number);
    case ONE_OF:
      return (node.operand as ReadonlySet<unknown>).has(value);
    case EQUAL_TO_ONE:
      return (
        (node.operand as ReadonlySet<unknown>).has(value) ||
        (node.other as readonly JsonValue[]).some((item) => jsonEquals(item, value))
      );
    case EQUAL:
      return jsonEquals(node.operand as JsonValue, value);
    case CONTAINS:
      return contains(value, node.operand as JsonValue);
    case STARTS_WITH:
      return typeof value === "string" && value.startsWith(node.operand as string);
    case ENDS_WITH:
      return typeof value === "string" && value.endsWith(node.operand as string);
    case MATCHES:
      return typeof value === "string" && (node.operand as Pattern).matches(value);
    default:
      return typeof value === "string" && isInOrder(node, parseIsoDate(value));
  }
}

function contains(value: unknown, part: JsonValue): boolean {
  if (typeof value === "string") return typeof part === "string" && value.includes(part);
  return Array.isArray(value) && value.some((item) => jsonEquals(part, item));
}

function isInOrder(node: Node, instant: number | undefined): boolean {
  if (instant === undefined) return false;
  const bound = node.operand as number;
  switch (node.ask) {
    case LATER:
      return instant > bound;
    case LATER_OR_EQUAL:
      return instant >= bound;
    case EARLIER:
      return instant < bound;
    default:
      return instant <= bound;
  }
}
