/** The tracing evaluator: evaluates a flag from its definition and records each step. Slow, and independent of the graph. */
import {
  bucketId,
  bucketPath,
  HASHES,
  rolloutSuffix,
  ruleSuffix,
  thresholdOf,
  variantSuffix,
  variantThresholds,
} from "./bucket.ts";
import type {
  Evaluation,
  EvaluationContext,
  FlagDefinition,
  OverrideDefinition,
  RuleDefinition,
  Segments,
  Variant,
} from "./definition.ts";
import type { Explanation, ExplanationStep, OriginOf } from "./explain.ts";
import type { JsonObject } from "./json.ts";
import { murmur3 } from "./murmur.ts";
import {
  countsIn,
  defaultResult,
  disabledResult,
  inEnvironment,
  overrideResult,
  rolloutResult,
  ruleResult,
  variantResult,
} from "./outcome.ts";
import { trustedRootsOf } from "./references.ts";
import { Tracer } from "./trace.ts";

/** What an explanation is for. */
interface Subject {
  readonly context: EvaluationContext;
  readonly override: OverrideDefinition | undefined;
  readonly originOf: OriginOf | undefined;
}

export function explainFlag(definition: FlagDefinition, segments: Segments, subject: Subject): Explanation {
  const { context, override, originOf } = subject;
  const flag = inEnvironment(definition, context.environment);
  const evaluator = new TracingEvaluator(flag, segments, context, originOf);
  const result = evaluator.evaluate(override, flag === definition ? undefined : context.environment);
  return { result, steps: evaluator.steps };
}

class TracingEvaluator {
  readonly steps: ExplanationStep[] = [];
  readonly #flag: FlagDefinition;
  readonly #segments: Segments;
  readonly #context: EvaluationContext;
  readonly #tracer: Tracer;

  constructor(
    flag: FlagDefinition,
    segments: Segments,
    context: EvaluationContext,
    originOf: OriginOf | undefined,
  ) {
    this.#flag = flag;
    this.#segments = segments;
    this.#context = context;
    this.#tracer = new Tracer(segments, context, originOf);
  }

  /** `environment` is the environment whose settings apply, if any. */
  evaluate(override: OverrideDefinition | undefined, environment: string | undefined): Evaluation {
    const flag = this.#flag;
    const settings: JsonObject = environment === undefined ? {} : { environment };
    if (!flag.enabled) {
      const source = flag.offValue === undefined ? "defaultValue" : "offValue";
      this.#record("enabled", "disabled", { ...settings, source });
      return disabledResult(flag);
    }
    this.#record("enabled", "enabled", settings);
    this.#record("override", override === undefined ? "none" : "applied", {});
    if (override !== undefined) return overrideResult(flag, override);
    for (const rule of flag.rules) if (this.#matches(rule)) return ruleResult(flag, rule);
    return this.#rollout();
  }

  #matches(rule: RuleDefinition): boolean {
    const { id, percentage, environments = [] } = rule;
    if (!rule.enabled) {
      this.#record("rule", "skipped", { rule: id, why: "the rule is disabled" });
      return false;
    }
    const { environment } = this.#context;
    if (!countsIn(rule, environment)) {
      const here = environment === undefined ? "no environment was named" : `this is ${environment}`;
      const why = `the rule counts only in ${environments.join(", ")}, and ${here}`;
      this.#record("rule", "skipped", { rule: id, why, environments });
      return false;
    }
    const { unreadable = [] } = this.#context;
    const roots = trustedRootsOf(rule.conditions, this.#segments);
    const unread = unreadable.filter((root) => roots.has(root));
    if (unread.length > 0) {
      const why = `the rule reads ${unread.join(" and ")}, which could not be read`;
      this.#record("rule", "skipped", { rule: id, why });
      return false;
    }
    const conditions = this.#tracer.group(rule.conditions);
    if (!conditions.holds) {
      this.#record("rule", "not_matched", { rule: id, conditions });
      return false;
    }
    if (percentage === undefined) {
      this.#record("rule", "matched", { rule: id, conditions });
      return true;
    }
    const share = this.#bucket(ruleSuffix(this.#flag, rule), percentage);
    this.#record("rule", share.included ? "matched" : "outside_percentage", {
      rule: id,
      conditions,
      ...share,
    });
    return share.included;
  }

  #rollout(): Evaluation {
    const { rolloutPercentage, variants = [] } = this.#flag;
    if (rolloutPercentage !== undefined) {
      const share = this.#bucket(rolloutSuffix(this.#flag), rolloutPercentage);
      this.#record("rollout", share.included ? "included" : "excluded", share);
      if (!share.included) return this.#default();
    }
    if (variants.length > 0) return this.#variant(variants);
    return rolloutPercentage === undefined ? this.#default() : rolloutResult(this.#flag);
  }

  #variant(variants: readonly Variant[]): Evaluation {
    const hashed = this.#hash(variantSuffix(this.#flag));
    const thresholds = variantThresholds(variants.map(({ weight }) => weight));
    const index = thresholds.findIndex((threshold) => hashed.hash < threshold);
    const variant = variants[index];
    if (variant === undefined)
      throw new Error(`No variant covers the hash ${hashed.hash}. The last threshold must be ${HASHES}.`);
    const shares = variants.map(({ key, weight }, place) => ({
      variant: key,
      weight,
      threshold: thresholds[place] ?? HASHES,
    }));
    this.#record("variant", variant.key, { ...hashed, shares });
    return variantResult(variant);
  }

  #default(): Evaluation {
    this.#record("default", "default", {});
    return defaultResult(this.#flag, "default");
  }

  #bucket(suffix: string, percentage: number) {
    const threshold = thresholdOf(percentage);
    const hashed = this.#hash(suffix);
    return { percentage, ...hashed, threshold, included: hashed.hash < threshold };
  }

  #hash(suffix: string) {
    const { bucketBy = "userId" } = this.#flag;
    const input = bucketId(this.#context, bucketPath(bucketBy)) + suffix;
    const hash = murmur3(input);
    return { bucketBy, input, hash, bucket: (hash / HASHES) * 100 };
  }

  #record(step: ExplanationStep["step"], outcome: string, detail: JsonObject): void {
    this.steps.push({ step, outcome, detail });
  }
}
