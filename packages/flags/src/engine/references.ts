/** What conditions refer to beyond themselves: segments, and the patterns that are limited for a flag as a whole. */
import type { RuleConditions, Segments } from "./definition.ts";
import { compilePattern, MAX_PATTERN_SIZE } from "./pattern.ts";
import type { ConditionProblem } from "./problem.ts";

/** `regex` conditions of a flag, those of the segments it uses included. */
export const MAX_REGEX_CONDITIONS: number = 8;
/** Rules of a flag: an evaluation may have to try them all. */
const MAX_RULES = 100;
/** Conditions and groups of a flag's rules together, those of the segments it uses included. */
const MAX_NODES = 2_000;
/** Segments that name segments that name segments. */
const MAX_SEGMENT_DEPTH = 10;

/** What a tree has itself, without what the segments it names have. */
interface Facts {
  /** With repetition. */
  readonly segments: readonly string[];
  readonly patterns: number;
  readonly nodes: number;
  /** Of all its patterns, compiled. */
  readonly patternSize: number;
}

/** Trees do not change, and a segment's is asked about for every flag that uses it. */
const known = new WeakMap<RuleConditions, Facts>();

function factsOf(tree: RuleConditions): Facts {
  const facts = known.get(tree) ?? gather(tree);
  known.set(tree, facts);
  return facts;
}

function gather(tree: RuleConditions): Facts {
  const segments: string[] = [];
  const patterns: string[] = [];
  let nodes = 0;
  const visit = ({ conditions, not }: RuleConditions): void => {
    nodes += 1;
    for (const member of conditions) {
      if (!("conditions" in member)) nodes += 1;
      if ("conditions" in member) visit(member);
      else if ("segment" in member) segments.push(member.segment);
      else if (member.operator === "regex") patterns.push(String(member.value));
    }
    if (not !== undefined) visit(not);
  };
  visit(tree);
  const patternSize = patterns.reduce((sum, pattern) => sum + compilePattern(pattern).size, 0);
  return { segments, nodes, patterns: patterns.length, patternSize };
}

/** How many `regex` conditions the tree has itself. */
export function countRegex(conditions: RuleConditions): number {
  return factsOf(conditions).patterns;
}

/** The keys of the segments that the tree names itself. */
export function segmentsOf(conditions: RuleConditions): ReadonlySet<string> {
  return new Set(factsOf(conditions).segments);
}

/**
 * What is wrong with checked conditions of one flag's rules taken together, or of one segment: a segment that does not
 * exist, segments that name each other in a circle or too deeply, too many or too large patterns. `path` is the keys of
 * the segments that lead to the problem.
 */
export function checkReferences(
  trees: readonly RuleConditions[],
  segments: Segments,
): ConditionProblem | undefined {
  const reach = follow(trees, segments);
  return "problem" in reach ? reach : undefined;
}

/** What the conditions of a flag's rules lead to. */
export interface Reach {
  /** All segments, those that segments name included, each once and after those that it names. */
  readonly segments: readonly string[];
  /** Whether an evaluation may come to the same segment on two ways. */
  readonly repeats: boolean;
}

export function follow(trees: readonly RuleConditions[], segments: Segments): Reach | ConditionProblem {
  if (trees.length > MAX_RULES) return limited([], MAX_RULES, "rules in a flag");
  const search = new Search(segments);
  for (const tree of trees) {
    const problem = search.enter(tree, []);
    if (problem !== undefined) return problem;
  }
  return { segments: [...search.found.keys()], repeats: search.names > search.found.size };
}

class Search {
  /** Each finished segment with the levels of segments below it. */
  readonly found: Map<string, number> = new Map();
  /** How often a segment is named, in trees that are entered once each. */
  names = 0;
  readonly #segments: Segments;
  #nodes = 0;
  #patterns = 0;
  #patternSize = 0;

  constructor(segments: Segments) {
    this.#segments = segments;
  }

  enter(tree: RuleConditions, trail: readonly string[]): ConditionProblem | undefined {
    const facts = factsOf(tree);
    this.names += facts.segments.length;
    this.#nodes += facts.nodes;
    if (this.#nodes > MAX_NODES) {
      return limited(trail, MAX_NODES, "conditions and groups in a flag, those of segments included");
    }
    this.#patterns += facts.patterns;
    this.#patternSize += facts.patternSize;
    if (this.#patterns > MAX_REGEX_CONDITIONS) {
      return limited(trail, MAX_REGEX_CONDITIONS, "regex conditions in a flag, those of segments included");
    }
    if (this.#patternSize > MAX_PATTERN_SIZE) {
      return limited(trail, MAX_PATTERN_SIZE, "instructions in all compiled patterns of a flag together");
    }
    for (const key of new Set(facts.segments)) {
      const problem = this.#follow(key, [...trail, key]);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  #follow(key: string, trail: readonly string[]): ConditionProblem | undefined {
    if (trail.indexOf(key) < trail.length - 1) {
      return { problem: `the segment "${key}" leads back to itself`, path: trail.join(".") };
    }
    const below = this.found.get(key) ?? 0;
    if (trail.length + below > MAX_SEGMENT_DEPTH) {
      return limited(trail, MAX_SEGMENT_DEPTH, "levels of segments that name segments");
    }
    if (this.found.has(key)) return undefined;
    const tree = this.#segments.get(key);
    if (tree === undefined) return { problem: `there is no segment "${key}"`, path: trail.join(".") };
    const problem = this.enter(tree, trail);
    if (problem !== undefined) return problem;
    const levels = factsOf(tree).segments.map((name) => 1 + (this.found.get(name) ?? 0));
    this.found.set(key, Math.max(0, ...levels));
    return undefined;
  }
}

function limited(trail: readonly string[], limit: number, what: string): ConditionProblem {
  return { problem: `there may be ${limit} ${what}`, path: trail.join("."), limit };
}
