/** Creates, updates and deletes rules. */
import type { FlagRule, FlagRuleInput, FlagRulePatch } from "../../model/rule.ts";
import type { WithWarnings } from "../../model/warning.ts";
import { isSame, requireVersion } from "../rows/entity.ts";
import { byOrder, newRule, patchRule } from "../rows/rules.ts";
import { withWarnings } from "../rows/warnings.ts";
import { storedFlag, storedRule, storedRules } from "./stored.ts";
import type { Change, Unchanged, WriteContext } from "./write.ts";
import { deletedRule, type RuledFlag, requireRuled, writtenRule } from "./write-ruled.ts";

export async function createRule(
  context: WriteContext,
  flagId: string,
  input: FlagRuleInput,
): Promise<Change<WithWarnings<FlagRule>>> {
  const before = await storedRuled(context, flagId);
  const rule = addedRule(context, before, input);
  return written(context, before, rule);
}

/** A new rule of a flag that has these rules. */
export function addedRule(
  { at, newId, revision }: WriteContext,
  { flag, rules }: RuledFlag,
  input: FlagRuleInput,
): FlagRule {
  // A copied rule may have a position that no revision has reached.
  const position = Math.max(revision(), ...rules.map((other) => other.position + 1));
  return newRule(flag, input, { id: newId(), at, position });
}

export async function updateRule(
  context: WriteContext,
  flagId: string,
  ruleId: string,
  patch: FlagRulePatch,
  version: number | undefined,
): Promise<Change<WithWarnings<FlagRule>> | Unchanged<WithWarnings<FlagRule>>> {
  const before = await storedRuled(context, flagId);
  const stored = await storedRule(context, flagId, ruleId);
  requireVersion("rule", stored, version);
  const rule = patchRule(before.flag, stored, patch, context.at);
  if (isSame(stored, rule, patch)) {
    return { action: null, result: withWarnings(stored, before.flag, before.rules) };
  }
  return written(context, before, rule);
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
  return { ...deletedRule(context, flag, before), result: undefined };
}

/** Adds the rule to its flag, or replaces the one with its id. */
async function written(
  context: WriteContext,
  before: RuledFlag,
  rule: FlagRule,
): Promise<Change<WithWarnings<FlagRule>>> {
  const { flag } = before;
  const rules = [...before.rules.filter(({ id }) => id !== rule.id), rule].sort(byOrder);
  await requireRuled(context, before, { flag, rules });
  const stored = before.rules.find(({ id }) => id === rule.id);
  return { ...writtenRule(context, flag, stored, rule), result: withWarnings(rule, flag, rules) };
}

export async function storedRuled(context: WriteContext, flagId: string): Promise<RuledFlag> {
  return { flag: await storedFlag(context, flagId), rules: await storedRules(context, flagId) };
}
