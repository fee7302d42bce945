/** A flag and its rules as the engine takes them, and what a write must know before it is let in: that the engine does. */
import { type CompiledFlag, compileFlag } from "../engine/compile.ts";
import { checkReferences } from "../engine/conditions.ts";
import type { FlagDefinition, RuleConditions, Segments } from "../engine/definition.ts";
import type { FeatureFlag } from "../model/flag.ts";
import { invalid } from "./entity.ts";
import { type StoredRule, toDefinition } from "./rules.ts";

/** The rules must be in order. */
export function compile(flag: FeatureFlag, rules: readonly StoredRule[], segments: Segments): CompiledFlag {
  const definition: FlagDefinition = {
    key: flag.key,
    type: flag.type,
    enabled: flag.enabled,
    ...(flag.defaultValue !== undefined && { defaultValue: flag.defaultValue }),
    ...(flag.rolloutPercentage !== undefined && { rolloutPercentage: flag.rolloutPercentage }),
    ...(flag.variants !== undefined && { variants: flag.variants }),
    ...(flag.environments !== undefined && { environments: flag.environments }),
    ...(flag.salt !== undefined && { salt: flag.salt }),
    ...(flag.bucketBy !== undefined && { bucketBy: flag.bucketBy }),
    rules: rules.map(toDefinition),
  };
  return compileFlag(definition, segments);
}

/** Refuses what no snapshot could hold: one flag that does not compile would keep all others from being refreshed. */
export function requireUsable(flag: FeatureFlag, rules: readonly StoredRule[], segments: Segments): void {
  requireReferences(
    rules.map(({ rule }) => rule.conditions),
    segments,
  );
  try {
    compile(flag, rules, segments);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "it is not valid";
    throw invalid(`The flag "${flag.key}" could not be evaluated like this: ${reason}`);
  }
}

/** Refuses unknown segments, circles of them, and more than the engine's limits allow. */
export function requireReferences(trees: readonly RuleConditions[], segments: Segments): void {
  const found = checkReferences(trees, segments);
  if (found === undefined) return;
  const { problem, path, limit } = found;
  const place = path === "" ? "" : ` (${path})`;
  throw invalid(`The conditions cannot be used${place}: ${problem}.`, {
    field: "conditions",
    ...(limit !== undefined && { limit }),
  });
}
