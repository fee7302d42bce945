/** The references of conditions to segments, and the limits that apply to a flag together with its segments. */
import { LEVEL_COST, NODE_COST, patternCost, type Steps } from "./cost.ts";
import type { RuleConditions, Segments, SimpleCondition, TrustedRoot } from "./definition.ts";
import { isOperator, OPERATORS, takesPattern } from "./operators.ts";
import { isTrustedRoot, parsePath } from "./path.ts";
import { compilePattern, MAX_PATTERN_SIZE } from "./pattern.ts";
import type { ConditionProblem } from "./problem.ts";

/** `regex` conditions of a flag, including those of its segments. */
export const MAX_REGEX_CONDITIONS: number = 8;
/** Rules of a flag. An evaluation may have to try all of them. */
const MAX_RULES = 100;
/** Conditions and groups of all rules of a flag, including those of its segments. */
const MAX_NODES = 2_000;
/** Levels of segments that refer to segments. */
const MAX_SEGMENT_DEPTH = 10;

/** Counts for one tree of conditions, without the segments it refers to. */
interface Facts {
  /** Segment keys, with duplicates. */
  readonly segments: readonly string[];
  readonly patterns: number;
  readonly nodes: number;
  /** Instructions of all its compiled patterns. */
  readonly patternSize: number;
  readonly trustedRoots: ReadonlySet<TrustedRoot>;
  readonly cost: Steps;
}

/** Cached because trees do not change, and every flag that uses a segment needs the counts of its tree. */
const cachedFacts = new WeakMap<RuleConditions, Facts>();

function factsOf(tree: RuleConditions): Facts {
  const facts = cachedFacts.get(tree) ?? gather(tree);
  cachedFacts.set(tree, facts);
  return facts;
}

function gather(tree: RuleConditions): Facts {
  const segments: string[] = [];
  const patterns: string[] = [];
  const trustedRoots = new Set<TrustedRoot>();
  let nodes = 0;
  let cost = 0;
  const visit = ({ conditions, not }: RuleConditions): void => {
    nodes += 1;
    for (const member of conditions) {
      if (!("conditions" in member)) nodes += 1;
      if ("conditions" in member) visit(member);
      else if ("segment" in member) segments.push(member.segment);
      else {
        if (takesPattern(member.operator)) patterns.push(String(member.value));
        const { root } = parsePath(member.attribute);
        if (isTrustedRoot(root)) trustedRoots.add(root);
        cost += conditionCost(member);
      }
    }
    if (not !== undefined) visit(not);
  };
  visit(tree);
  const patternSize = patterns.reduce((sum, pattern) => sum + compilePattern(pattern).size, 0);
  cost += nodes * NODE_COST + patternCost(patterns.length, patternSize);
  return { segments, nodes, patterns: patterns.length, patternSize, trustedRoots, cost };
}

function conditionCost({ attribute, operator, value }: SimpleCondition): Steps {
  // The engine refuses an unknown operator later, with a better message.
  if (!isOperator(operator)) return 0;
  return OPERATORS[operator].cost(value) + parsePath(attribute).steps.length * LEVEL_COST;
}

/** The number of `regex` conditions in the tree, without the segments it refers to. */
export function countRegex(conditions: RuleConditions): number {
  return factsOf(conditions).patterns;
}

/** The keys of the segments that the tree refers to directly. */
export function segmentsOf(conditions: RuleConditions): ReadonlySet<string> {
  return new Set(factsOf(conditions).segments);
}

/** The trusted roots that the tree reads, directly or through segments. */
export function trustedRootsOf(tree: RuleConditions, segments: Segments): ReadonlySet<TrustedRoot> {
  const roots = new Set<TrustedRoot>();
  const entered = new Set<string>();
  const enter = (conditions: RuleConditions): void => {
    const facts = factsOf(conditions);
    for (const root of facts.trustedRoots) roots.add(root);
    for (const key of facts.segments) {
      const segment = entered.has(key) ? undefined : segments.get(key);
      entered.add(key);
      if (segment !== undefined) enter(segment);
    }
  };
  enter(tree);
  return roots;
}

/**
 * Checks the conditions of all rules of a flag, or of one segment, for missing segments, circular references and the
 * limits of a flag. The conditions must have passed `checkConditions`. `path` is the chain of segment keys that leads to
 * the problem.
 */
export function checkReferences(
  trees: readonly RuleConditions[],
  segments: Segments,
): ConditionProblem | undefined {
  const reach = follow(trees, segments);
  return "problem" in reach ? reach : undefined;
}

/**
 * The most that one evaluation of these trees costs, each segment counted once. They must have passed `checkReferences`.
 */
export function costOf(trees: readonly RuleConditions[], segments: Segments): Steps {
  const reach = follow(trees, segments);
  return "problem" in reach ? Number.POSITIVE_INFINITY : reach.cost;
}

/** The segments that the rules of a flag use. */
export interface Reach {
  /** All segments, direct and indirect, each once and after the segments it refers to. */
  readonly segments: readonly string[];
  /** Whether one evaluation may reach the same segment more than once. */
  readonly repeats: boolean;
  readonly cost: Steps;
}

export function follow(trees: readonly RuleConditions[], segments: Segments): Reach | ConditionProblem {
  if (trees.length > MAX_RULES) return limited([], `the flag has ${trees.length} rules`, MAX_RULES);
  const search = new Search(segments);
  for (const tree of trees) {
    const problem = search.enter(tree, []);
    if (problem !== undefined) return problem;
  }
  const { levels, references, cost } = search;
  return { segments: [...levels.keys()], repeats: references > levels.size, cost };
}

class Search {
  /** Each finished segment, with the number of segment levels below it. */
  readonly levels: Map<string, number> = new Map();
  /** The number of references to segments. Each tree is entered once. */
  references = 0;
  cost: Steps = 0;
  readonly #segments: Segments;
  #nodes = 0;
  #patterns = 0;
  #patternSize = 0;

  constructor(segments: Segments) {
    this.#segments = segments;
  }

  enter(tree: RuleConditions, trail: readonly string[]): ConditionProblem | undefined {
    const facts = factsOf(tree);
    this.references += facts.segments.length;
    this.#nodes += facts.nodes;
    this.cost += facts.cost;
    if (this.#nodes > MAX_NODES) {
      return limited(trail, "the flag and its segments have too many conditions and groups", MAX_NODES);
    }
    this.#patterns += facts.patterns;
    this.#patternSize += facts.patternSize;
    if (this.#patterns > MAX_REGEX_CONDITIONS) {
      return limited(trail, "the flag and its segments have too many regex conditions", MAX_REGEX_CONDITIONS);
    }
    if (this.#patternSize > MAX_PATTERN_SIZE) {
      return limited(
        trail,
        "the regex patterns of the flag compile to too many instructions",
        MAX_PATTERN_SIZE,
      );
    }
    for (const key of new Set(facts.segments)) {
      const problem = this.#follow(key, [...trail, key]);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  #follow(key: string, trail: readonly string[]): ConditionProblem | undefined {
    if (trail.indexOf(key) < trail.length - 1) {
      return {
        problem: `the segment "${key}" refers to itself, directly or through other segments`,
        path: trail.join("."),
      };
    }
    const levelsBelow = this.levels.get(key) ?? 0;
    if (trail.length + levelsBelow > MAX_SEGMENT_DEPTH) {
      return limited(trail, `the segment "${key}" is nested too deeply in segments`, MAX_SEGMENT_DEPTH);
    }
    if (this.levels.has(key)) return undefined;
    const tree = this.#segments.get(key);
    if (tree === undefined) return { problem: `the segment "${key}" does not exist`, path: trail.join(".") };
    const problem = this.enter(tree, trail);
    if (problem !== undefined) return problem;
    const below = factsOf(tree).segments.map((name) => 1 + (this.levels.get(name) ?? 0));
    this.levels.set(key, Math.max(0, ...below));
    return undefined;
  }
}

function limited(trail: readonly string[], what: string, limit: number): ConditionProblem {
  return { problem: `${what}; the limit is ${limit}`, path: trail.join("."), limit };
}
