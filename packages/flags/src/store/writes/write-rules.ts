/** Creates, updates and deletes rules. */
import type { RuleConditions } from "../../engine/definition.ts";
import type { FeatureFlag } from "../../model/flag.ts";
import type { FlagRule, FlagRuleInput, FlagRulePatch } from "../../model/rule.ts";
import type { WithWarnings } from "../../model/warning.ts";
import { requireAffordable, requireUsable } from "../rows/definition.ts";
import { isSame, requireVersion } from "../rows/entity.ts";
import { readFlag } from "../rows/flags.ts";
import {
  byOrder,
  insertRule,
  newRule,
  patchRule,
  readRule,
  readRules,
  removeRule,
  replaceRule,
  requireFitting,
  type StoredRule,
  toAudited,
} from "../rows/rules.ts";
import { readSegments } from "../rows/segments.ts";
import { withWarnings } from "../rows/warnings.ts";
import type { Change, Unchanged, WriteContext } from "./write.ts";

export async function createRule(
  context: WriteContext,
  flagId: string,
  input: FlagRuleInput,
): Promise<Change<WithWarnings<FlagRule>>> {
  const { tx, tenant, at, newId, revision } = context;
  const flag = await readFlag(tx, tenant, flagId);
  const id = newId();
  const rule = newRule(flag, input, id, at);
  // The salt never changes, so an exported rule keeps its share of users.
  return addRule(context, flag, { rule, salt: id, position: revision() });
}

/** Adds a rule to a flag. */
export async function addRule(
  context: WriteContext,
  flag: FeatureFlag,
  stored: StoredRule,
): Promise<Change<WithWarnings<FlagRule>>> {
  const { rule } = stored;
  const rules = await requireUsableWith(context, flag, stored);
  await insertRule(context.tx, context.tenant, stored);
  return {
    ...subject(flag, rule),
    action: "rule.created",
    before: null,
    after: toAudited(stored),
    result: withWarnings(rule, flag, rules),
  };
}

export async function updateRule(
  context: WriteContext,
  flagId: string,
  ruleId: string,
  patch: FlagRulePatch,
  version: number | undefined,
): Promise<Change<WithWarnings<FlagRule>> | Unchanged<WithWarnings<FlagRule>>> {
  const { tx, tenant, at } = context;
  const flag = await readFlag(tx, tenant, flagId);
  const before = await readRule(tx, tenant, flagId, ruleId);
  requireVersion("rule", before.rule, version);
  const rule = patchRule(flag, before.rule, patch, at);
  if (isSame(before.rule, rule, patch)) {
    const rules = await readRules(tx, tenant, flagId);
    return { action: null, result: withWarnings(before.rule, flag, rules) };
  }
  return changeRule(context, flag, before, rule);
}

/** Replaces a stored rule with one that has the next version. */
export async function changeRule(
  context: WriteContext,
  flag: FeatureFlag,
  before: StoredRule,
  rule: FlagRule,
): Promise<Change<WithWarnings<FlagRule>>> {
  const after = { ...before, rule };
  const rules = await requireUsableWith(context, flag, after);
  await replaceRule(context.tx, context.tenant, rule);
  return {
    ...subject(flag, rule),
    action: "rule.updated",
    before: toAudited(before),
    after: toAudited(after),
    result: withWarnings(rule, flag, rules),
  };
}

export async function deleteRule(
  { tx, tenant }: WriteContext,
  flagId: string,
  ruleId: string,
  version: number | undefined,
): Promise<Change<void>> {
  const flag = await readFlag(tx, tenant, flagId);
  const stored = await readRule(tx, tenant, flagId, ruleId);
  const { rule } = stored;
  requireVersion("rule", rule, version);
  await removeRule(tx, tenant, rule);
  const before = toAudited(stored);
  return { ...subject(flag, rule), action: "rule.deleted", before, after: null, result: undefined };
}

const subject = (flag: FeatureFlag, rule: FlagRule) => ({
  flagId: flag.id,
  flagKey: flag.key,
  entityId: rule.id,
});

/** Throws if the rule does not fit its flag, or the engine rejects the flag with it. Returns all rules, in order. */
async function requireUsableWith(
  { tx, tenant }: WriteContext,
  flag: FeatureFlag,
  stored: StoredRule,
): Promise<readonly StoredRule[]> {
  requireFitting(flag, stored.rule);
  const before = await readRules(tx, tenant, flag.id);
  const others = before.filter(({ rule }) => rule.id !== stored.rule.id);
  const rules = [...others, stored].sort(byOrder);
  const segments = await readSegments(tx, tenant);
  requireUsable(flag, rules, segments);
  requireAffordable({ trees: treesOf(rules), segments }, { trees: treesOf(before), segments });
  return rules;
}

const treesOf = (rules: readonly StoredRule[]): RuleConditions[] => rules.map(({ rule }) => rule.conditions);
