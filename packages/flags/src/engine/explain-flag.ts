/** Evaluates a flag step by step from its definition and tells about each step. Slow, and apart from the quick way. */
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
import type { Explanation, ExplanationStep } from "./explain.ts";
import type { JsonObject } from "./json.ts";
import { murmur3 } from "./murmur.ts";
import {
  defaultResult,
  inEnvironment,
  overrideResult,
  rolloutResult,
  ruleResult,
  variantResult,
} from "./outcome.ts";
import { Tracer } from "./trace.ts";

export function explainFlag(
  definition: FlagDefinition,
  segments: Segments,
  context: EvaluationContext,
  override: OverrideDefinition | undefined,
): Explanation {
  const flag = inEnvironment(definition, context.environment);
  const explained = new Explained(flag, segments, context);
  const result = explained.decide(override, flag === definition ? undefined : context.environment);
  return { result, steps: explained.steps };
}

class Explained {
  readonly steps: ExplanationStep[] = [];
  readonly #flag: FlagDefinition;
  readonly #context: EvaluationContext;
  readonly #tracer: Tracer;

  constructor(flag: FlagDefinition, segments: Segments, context: EvaluationContext) {
    this.#flag = flag;
    this.#context = context;
    this.#tracer = new Tracer(segments, context);
  }

  /** `environment` is the one whose settings apply, if any. */
  decide(override: OverrideDefinition | undefined, environment: string | undefined): Evaluation {
    const flag = this.#flag;
    const settings: JsonObject = environment === undefined ? {} : { environment };
    this.#say("enabled", flag.enabled ? "enabled" : "disabled", settings);
    if (!flag.enabled) return defaultResult(flag, "disabled");
    this.#say("override", override === undefined ? "none" : "applied", {});
    if (override !== undefined) return overrideResult(flag, override);
    for (const rule of flag.rules) if (this.#matches(rule)) return ruleResult(flag, rule);
    return this.#roll();
  }

  #matches(rule: RuleDefinition): boolean {
    const { id, percentage } = rule;
    if (!rule.enabled) {
      this.#say("rule", "skipped", { rule: id, why: "the rule is disabled" });
      return false;
    }
    const conditions = this.#tracer.group(rule.conditions);
    if (!conditions.holds) {
      this.#say("rule", "not_matched", { rule: id, conditions });
      return false;
    }
    if (percentage === undefined) {
      this.#say("rule", "matched", { rule: id, conditions });
      return true;
    }
    const share = this.#bucket(ruleSuffix(this.#flag, rule), percentage);
    this.#say("rule", share.included ? "matched" : "outside_percentage", { rule: id, conditions, ...share });
    return share.included;
  }

  #roll(): Evaluation {
    const { rolloutPercentage, variants = [] } = this.#flag;
    if (rolloutPercentage !== undefined) {
      const share = this.#bucket(rolloutSuffix(this.#flag), rolloutPercentage);
      this.#say("rollout", share.included ? "included" : "excluded", share);
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
    if (variant === undefined) throw new Error("The last variant takes every hash.");
    const shares = variants.map(({ key, weight }, place) => ({
      variant: key,
      weight,
      threshold: thresholds[place] ?? HASHES,
    }));
    this.#say("variant", variant.key, { ...hashed, shares });
    return variantResult(variant);
  }

  #default(): Evaluation {
    this.#say("default", "default", {});
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

  #say(step: ExplanationStep["step"], outcome: string, detail: JsonObject): void {
    this.steps.push({ step, outcome, detail });
  }
}
