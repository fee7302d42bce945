/** A flag before and after a change that is not made: for plans, which evaluate both. */
import { type CompiledFlag, compileFlag } from "../../engine/compile.ts";
import type { RuleConditions, Segments } from "../../engine/definition.ts";
import { MAX_JSON_DEPTH } from "../../engine/json.ts";
import { follow } from "../../engine/references.ts";
import { canonicalJson } from "../../model/canonical-json.ts";
import type { FeatureFlag, FeatureFlagPatch } from "../../model/flag.ts";
import type { FlagRule } from "../../model/rule.ts";
import type { FlagPreview } from "../flag-store.ts";
import { compile, requireAffordable, requireReferences, requireUsable } from "../rows/definition.ts";
import { patchFlag, readFlag } from "../rows/flags.ts";
import { requireFreeKey, requireMeaningful } from "../rows/global-keys.ts";
import type { Adapter } from "../rows/queries.ts";
import { readRules } from "../rows/rules.ts";
import { readSegments } from "../rows/segments.ts";
import { requireFit, requireOwnFit } from "../rows/values.ts";
import { sha256Hex } from "../sha256.ts";

/** A flag that is `true` for the users who match the conditions, and `false` for the others. */
export async function previewConditions(
  adapter: Adapter,
  tenant: string,
  conditions: RuleConditions,
): Promise<CompiledFlag> {
  const segments = await readSegments(adapter, tenant);
  requireReferences([conditions], segments);
  requireAffordable({ trees: [conditions], segments });
  const rule = { id: "matches", enabled: true, conditions, value: true, salt: "" };
  const flag = {
    key: "matches",
    type: "boolean",
    enabled: true,
    defaultValue: false,
    rules: [rule],
  } as const;
  return compileFlag(flag, segments);
}

/** Throws as the update would, except that overrides are not compared with a new type or with removed variants. */
export async function previewFlag(
  adapter: Adapter,
  tenant: string,
  id: string,
  patch: FeatureFlagPatch,
): Promise<FlagPreview> {
  const flag = await readFlag(adapter, tenant, id);
  const rules = await readRules(adapter, tenant, id);
  const segments = await readSegments(adapter, tenant);
  const changed = patchFlag(flag, patch, flag.updatedAt);
  requireOwnFit(changed);
  requireMeaningful(tenant, changed);
  if (changed.key !== flag.key) {
    await requireFreeKey(adapter, tenant, changed.key, id);
  }
  if (changed.type !== flag.type) {
    for (const rule of rules) requireFit(changed, rule.value, { field: "type", ruleId: rule.id });
  }
  requireUsable(changed, rules, segments);
  return {
    flag,
    before: compile(flag, rules, segments),
    after: compile(changed, rules, segments),
    digest: await digestOf(flag, rules, segments),
  };
}

/** Of everything that evaluation reads except overrides. */
export async function digestOf(
  flag: FeatureFlag,
  rules: readonly FlagRule[],
  segments: Segments,
): Promise<string> {
  const reach = follow(
    rules.map(({ conditions }) => conditions),
    segments,
  );
  const used = "problem" in reach ? [] : [...reach.segments].sort();
  const read = [flag, rules, used.map((key) => [key, segments.get(key)])];
  return sha256Hex(canonicalJson(read, 2 * MAX_JSON_DEPTH));
}
