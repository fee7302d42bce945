/** The compiled flag: validates a definition once and builds its decision graph, so that an evaluation only walks it. */
import {
  bucketPath,
  HASHES,
  rolloutSuffix,
  ruleSuffix,
  thresholdOf,
  variantSuffix,
  variantThresholds,
} from "./bucket.ts";
import { buildEnvironments, buildGroup, segmentGraphs } from "./build.ts";
import type { Steps } from "./cost.ts";
import type {
  Evaluation,
  EvaluationContext,
  FlagDefinition,
  OverrideDefinition,
  RuleDefinition,
  Segments,
  TrustedRoot,
} from "./definition.ts";
import type { Explanation, OriginOf } from "./explain.ts";
import { explainFlag } from "./explain-flag.ts";
import { leaf, type Memory, mark, Node, readableNode, resultOf, VARIANT, WITHIN, walk } from "./graph.ts";
import { prepareSuffix } from "./murmur.ts";
import {
  defaultResult,
  disabledResult,
  inEnvironment,
  overrideResult,
  rolloutResult,
  ruleResult,
  variantResult,
} from "./outcome.ts";
import { trustedRootsOf } from "./references.ts";
import { type ValidRule, validate } from "./validate.ts";

/** A flag ready to evaluate. Immutable; shared by all evaluations. */
export interface CompiledFlag {
  /** Returns a result for every context, in bounded time. */
  evaluate(context: EvaluationContext, override?: OverrideDefinition): Evaluation;
  /** The same result with every step that led to it. `originOf` gives the origin that a step shows for an attribute. */
  explain(context: EvaluationContext, override?: OverrideDefinition, originOf?: OriginOf): Explanation;
  /** The id of the rule that decided this result of `evaluate`. */
  ruleOf(result: Evaluation): string | undefined;
  /** The trusted roots that its rules read. */
  readonly trustedRoots: ReadonlySet<TrustedRoot>;
  /** The most that one evaluation of the rules costs. */
  readonly cost: Steps;
}

/** Throws when the definition is invalid. */
export function compileFlag(definition: FlagDefinition, segments: Segments): CompiledFlag {
  return new Flag(definition, segments);
}

/** The parts of a flag that its environment settings can change. */
interface Plan {
  readonly enabled: boolean;
  readonly disabled: Evaluation;
  /** The nodes after the rules: rollout and variants. */
  readonly rest: Node;
}

/** The end of the rules of a flag with environment settings. The plan of the environment continues from here. */
const REST: Node = mark();

/** A class, so that V8 sees one object shape at the call sites. */
class Flag implements CompiledFlag {
  readonly cost: Steps;
  readonly trustedRoots: ReadonlySet<TrustedRoot>;
  /** The first node of the fast path: no environment settings, no segment memory, no override. */
  readonly #start: Node | undefined;
  readonly #definition: FlagDefinition;
  readonly #segments: Segments;
  readonly #entry: Node;
  readonly #plan: Plan;
  readonly #environments: ReadonlyMap<string, Plan> | undefined;
  readonly #repeats: boolean;
  /** The rules by their results: each rule has an object of its own. */
  readonly #rules: ReadonlyMap<Evaluation, string>;

  constructor(definition: FlagDefinition, segments: Segments) {
    const { rules, reach } = validate(definition, segments);
    const graphs = segmentGraphs(reach.segments, segments);
    const names = Object.keys(definition.environments ?? {});
    this.cost = reach.cost;
    this.#definition = definition;
    this.#segments = segments;
    this.#repeats = reach.repeats;
    this.#plan = planOf(definition);
    this.#environments =
      names.length === 0
        ? undefined
        : new Map(names.map((name) => [name, planOf(inEnvironment(definition, name))]));
    const trustedRoots = new Set<TrustedRoot>();
    const results = new Map<Evaluation, string>();
    this.#rules = results;
    const ruleNode = (next: Node, { rule, conditions }: ValidRule): Node => {
      const result = ruleResult(definition, rule);
      results.set(result, rule.id);
      let node = buildGroup(conditions, graphs, shareOf(definition, rule, leaf(result), next), next);
      for (const root of trustedRootsOf(conditions, segments)) {
        trustedRoots.add(root);
        node = readableNode(root, node, next);
      }
      return rule.environments === undefined ? node : buildEnvironments(rule.environments, node, next);
    };
    this.#entry = rules.reduceRight(ruleNode, names.length === 0 ? this.#plan.rest : REST);
    this.trustedRoots = trustedRoots;
    if (names.length === 0 && !this.#repeats) {
      this.#start = definition.enabled ? this.#entry : leaf(this.#plan.disabled);
    }
  }

  evaluate(context: EvaluationContext, override?: OverrideDefinition): Evaluation {
    if (override === undefined && this.#start !== undefined) {
      return resultOf(walk(this.#start, context, undefined));
    }
    return this.#evaluate(context, override);
  }

  explain(context: EvaluationContext, override?: OverrideDefinition, originOf?: OriginOf): Explanation {
    return explainFlag(this.#definition, this.#segments, { context, override, originOf });
  }

  ruleOf(result: Evaluation): string | undefined {
    return this.#rules.get(result);
  }

  #evaluate(context: EvaluationContext, override: OverrideDefinition | undefined): Evaluation {
    const plan = this.#planIn(context.environment);
    if (!plan.enabled) return plan.disabled;
    if (override !== undefined) return overrideResult(this.#definition, override);
    const memory: Memory | undefined = this.#repeats ? new Map() : undefined;
    const end = walk(this.#entry, context, memory);
    return resultOf(end === REST ? walk(plan.rest, context, memory) : end);
  }

  #planIn(environment: string | undefined): Plan {
    return (environment !== undefined && this.#environments?.get(environment)) || this.#plan;
  }
}

function planOf(flag: FlagDefinition): Plan {
  return { enabled: flag.enabled, disabled: disabledResult(flag), rest: restOf(flag) };
}

/** The nodes after the rules: the rollout, then the variants for the users in the rollout. */
function restOf(flag: FlagDefinition): Node {
  const { rolloutPercentage } = flag;
  const outside = leaf(defaultResult(flag, "default"));
  const variants = variantsOf(flag);
  if (rolloutPercentage === undefined) return variants ?? outside;
  return within(flag, rolloutPercentage, rolloutSuffix(flag), variants ?? leaf(rolloutResult(flag)), outside);
}

function variantsOf(flag: FlagDefinition): Node | undefined {
  const { variants = [] } = flag;
  if (variants.length === 0) return undefined;
  const thresholds = variantThresholds(variants.map(({ weight }) => weight));
  const ends = variants.map((variant, index) => ({
    threshold: thresholds[index] ?? HASHES,
    end: leaf(variantResult(variant)),
  }));
  return new Node(VARIANT, bucketPath(flag.bucketBy), prepareSuffix(variantSuffix(flag)), ends);
}

/** The nodes after a rule's conditions: its percentage, if it has one, then its result. */
function shareOf(flag: FlagDefinition, rule: RuleDefinition, matched: Node, next: Node): Node {
  if (rule.percentage === undefined) return matched;
  return within(flag, rule.percentage, ruleSuffix(flag, rule), matched, next);
}

function within(flag: FlagDefinition, percentage: number, suffix: string, yes: Node, no: Node): Node {
  const threshold = thresholdOf(percentage);
  if (threshold <= 0) return no;
  if (threshold >= HASHES) return yes;
  return new Node(WITHIN, bucketPath(flag.bucketBy), prepareSuffix(suffix), threshold, yes, no);
}
