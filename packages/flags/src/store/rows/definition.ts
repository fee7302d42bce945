/** Compiles a flag with its rules, and checks before a write that the engine accepts the result. */
import { type CompiledFlag, compileFlag } from "../../engine/compile.ts";
import { checkReferences, costOf } from "../../engine/conditions.ts";
import type { Steps } from "../../engine/cost.ts";
import type { FlagDefinition, RuleConditions, Segments } from "../../engine/definition.ts";
import type { FeatureFlag } from "../../model/flag.ts";
import type { FlagRule } from "../../model/rule.ts";
import { invalid } from "./entity.ts";
import { toDefinition } from "./rules.ts";

/** About 3 ms, in which no other request runs. The longest literal pattern fits. */
const MAX_FLAG_COST: Steps = 300_000;

/** The rules must be in evaluation order. */
export function compile(flag: FeatureFlag, rules: readonly FlagRule[], segments: Segments): CompiledFlag {
  return compileFlag(toFlagDefinition(flag, rules), segments);
}

/** The flag as evaluation needs it. The rules must be in evaluation order. */
export function toFlagDefinition(flag: FeatureFlag, rules: readonly FlagRule[]): FlagDefinition {
  return {
    key: flag.key,
    type: flag.type,
    enabled: flag.enabled,
    ...(flag.defaultValue !== undefined && { defaultValue: flag.defaultValue }),
    ...(flag.offValue !== undefined && { offValue: flag.offValue }),
    ...(flag.rolloutPercentage !== undefined && { rolloutPercentage: flag.rolloutPercentage }),
    ...(flag.variants !== undefined && { variants: flag.variants }),
    ...(flag.environments !== undefined && { environments: flag.environments }),
    ...(flag.salt !== undefined && { salt: flag.salt }),
    ...(flag.bucketBy !== undefined && { bucketBy: flag.bucketBy }),
    rules: rules.map(toDefinition),
  };
}

/** Throws if the flag does not compile. One such flag would stop the snapshot of all others from being refreshed. */
export function requireUsable(flag: FeatureFlag, rules: readonly FlagRule[], segments: Segments): void {
  requireReferences(
    rules.map(({ conditions }) => conditions),
    segments,
  );
  try {
    compile(flag, rules, segments);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "it is invalid";
    throw invalid(`The flag "${flag.key}" could not be evaluated after this change: ${reason}`);
  }
}

/** Throws on unknown segments, cycles of segments, and conditions above the engine's limits. */
export function requireReferences(trees: readonly RuleConditions[], segments: Segments): void {
  const breach = checkReferences(trees, segments);
  if (breach === undefined) return;
  const { problem, path, limit } = breach;
  const place = path === "" ? "" : ` (${path})`;
  throw invalid(`The conditions are invalid${place}: ${problem}.`, {
    field: "conditions",
    ...(limit !== undefined && { limit }),
  });
}

/** Conditions, and the segments that they may name. */
export interface Conditions {
  readonly trees: readonly RuleConditions[];
  readonly segments: Segments;
}

/**
 * Throws if the conditions of a flag, or of one segment, could take too long to evaluate. Conditions that were stored
 * with a higher limit may stay or shrink.
 */
export function requireAffordable({ trees, segments }: Conditions, before?: Conditions): void {
  const cost = costOf(trees, segments);
  if (cost <= MAX_FLAG_COST) return;
  if (before !== undefined && cost <= costOf(before.trees, before.segments)) return;
  throw invalid(
    `Evaluating the conditions of the flag, its segments included, would cost more than ${MAX_FLAG_COST} steps, the limit. Use fewer regex and contains conditions, or starts_with, ends_with and in instead.`,
    { field: "conditions", limit: MAX_FLAG_COST },
  );
}
