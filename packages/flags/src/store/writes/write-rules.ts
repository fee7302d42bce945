/** Creates, updates and deletes rules. */
import type { RuleConditions } from "../../engine/definition.ts";
import type { FeatureFlag } from "../../model/flag.ts";
import type { FlagRule, FlagRuleInput, FlagRulePatch } from "../../model/rule.ts";
import type { WithWarnings } from "../../model/warning.ts";
import { requireAffordable, requireUsable } from "../rows/definition.ts";
import { isSame, requireVersion } from "../rows/entity.ts";
import {
  byOrder,
  insertRule,
  newRule,
  patchRule,
  removeRule,
  replaceRule,
  requireFitting,
} from "../rows/rules.ts";
import { withWarnings } from "../rows/warnings.ts";
import { storedFlag, storedRule, storedRules, storedSegments } from "./stored.ts";
import type { Change, Unchanged, WriteContext } from "./write.ts";

export async function createRule(
  context: WriteContext,
  flagId: string,
  input: FlagRuleInput,
): Promise<Change<WithWarnings<FlagRule>>> {
  const { at, newId, revision } = context;
  const flag = await storedFlag(context, flagId);
  const others = await storedRules(context, flagId);
  // A copied rule may have a position that no revision has reached.
  const position = Math.max(revision(), ...others.map((other) => other.position + 1));
  return addRule(context, flag, newRule(flag, input, { id: newId(), at, position }), others);
}

/** Adds a rule to a flag with these rules. */
export async function addRule(
  context: WriteContext,
  flag: FeatureFlag,
  rule: FlagRule,
  others: readonly FlagRule[],
): Promise<Change<WithWarnings<FlagRule>>> {
  const rules = await requireUsableWith(context, flag, rule, others);
  await insertRule(context.tx, context.tenant, rule);
  return {
    ...subject(flag, rule),
    action: "rule.created",
    before: null,
    after: rule,
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
  const flag = await storedFlag(context, flagId);
  const before = await storedRule(context, flagId, ruleId);
  requireVersion("rule", before, version);
  const rule = patchRule(flag, before, patch, context.at);
  if (isSame(before, rule, patch)) {
    const rules = await storedRules(context, flagId);
    return { action: null, result: withWarnings(before, flag, rules) };
  }
  return changeRule(context, flag, before, rule);
}

/** Replaces a stored rule with one that has the next version. */
export async function changeRule(
  context: WriteContext,
  flag: FeatureFlag,
  before: FlagRule,
  rule: FlagRule,
): Promise<Change<WithWarnings<FlagRule>>> {
  const stored = await storedRules(context, flag.id);
  const rules = await requireUsableWith(context, flag, rule, stored);
  await replaceRule(context.tx, context.tenant, rule);
  return {
    ...subject(flag, rule),
    action: "rule.updated",
    before,
    after: rule,
    result: withWarnings(rule, flag, rules),
  };
}

export async function deleteRule(
  context: WriteContext,
  flagId: string,
  ruleId: string,
  version: number | undefined,
): Promise<Change<void>> {
  const flag = await storedFlag(context, flagId);
  const before = await storedRule(context, flagId, ruleId);
  requireVersion("rule", before, version);
  await removeRule(context.tx, context.tenant, before);
  return { ...subject(flag, before), action: "rule.deleted", before, after: null, result: undefined };
}

const subject = (flag: FeatureFlag, rule: FlagRule) => ({
  flagId: flag.id,
  flagKey: flag.key,
  entityId: rule.id,
});

/** Throws if the rule does not fit its flag, or the engine rejects the flag with it. Returns all rules, in order. */
async function requireUsableWith(
  context: WriteContext,
  flag: FeatureFlag,
  rule: FlagRule,
  before: readonly FlagRule[],
): Promise<readonly FlagRule[]> {
  requireFitting(flag, rule);
  const others = before.filter(({ id }) => id !== rule.id);
  const rules = [...others, rule].sort(byOrder);
  const segments = await storedSegments(context);
  requireUsable(flag, rules, segments);
  requireAffordable({ trees: treesOf(rules), segments }, { trees: treesOf(before), segments });
  return rules;
}

const treesOf = (rules: readonly FlagRule[]): RuleConditions[] => rules.map(({ conditions }) => conditions);
