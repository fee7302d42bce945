/** Converts rules to rows and back, and reads and writes those rows. */
import type { RuleDefinition } from "../../engine/definition.ts";
import type { FeatureFlag } from "../../model/flag.ts";
import { type FlagRule, type FlagRuleInput, type FlagRulePatch, RULE_FIELDS } from "../../model/rule.ts";
import type { RuleRow } from "../../model/tables.ts";
import { invalid, overtaken } from "./entity.ts";
import { type Mapping, mappingOf } from "./mapping.ts";
import { type Adapter, findRows, replaceRow, where } from "./queries.ts";
import { requireFit } from "./values.ts";

export const RULE_MODEL = "featureFlagRule";

const RULES: Mapping<typeof RULE_FIELDS> = mappingOf(RULE_FIELDS);

export async function readRules(adapter: Adapter, tenant: string, flagId: string): Promise<FlagRule[]> {
  const rows = await findRows<RuleRow>(adapter, RULE_MODEL, { flagId, tenant });
  return rows.map(toRule).sort(byOrder);
}

/** Copied rules may have equal positions. Ids sort by the time of creation. */
export function byOrder(a: FlagRule, b: FlagRule): number {
  return a.priority - b.priority || a.position - b.position || (a.id < b.id ? -1 : 1);
}

/** Groups rules by flag and keeps their order. */
export function groupByFlag(rules: Iterable<FlagRule>): Map<string, FlagRule[]> {
  const groups = new Map<string, FlagRule[]>();
  for (const rule of rules) {
    const group = groups.get(rule.flagId);
    if (group === undefined) groups.set(rule.flagId, [rule]);
    else group.push(rule);
  }
  return groups;
}

/** `position`: the one of a rule whose input has none. */
export function newRule(
  flag: FeatureFlag,
  input: FlagRuleInput,
  { id, at, position }: { readonly id: string; readonly at: Date; readonly position: number },
): FlagRule {
  const { salt = id } = input;
  return RULES.create(input, at, { id, flagId: flag.id, salt, position: input.position ?? position });
}

export function patchRule(flag: FeatureFlag, rule: FlagRule, patch: FlagRulePatch, at: Date): FlagRule {
  return RULES.patch(rule, patch, at, flag.type);
}

/** What a rule owes to its flag: a value of its type, or one of its variants. */
export function requireFitting(flag: FeatureFlag, rule: FlagRule): void {
  if (rule.value === undefined && rule.variant === undefined) {
    throw invalid("The rule has neither a value nor a variant. Set one of them.", { field: "value" });
  }
  requireFit(flag, rule.value, { field: "value" });
  requireVariant(flag, rule.variant);
}

export function requireVariant({ variants = [] }: FeatureFlag, variant: string | undefined): void {
  if (variant === undefined || variants.some(({ key }) => key === variant)) return;
  const keys = variants.map(({ key }) => key);
  throw invalid(`The flag has no variant "${variant}". Its variants are: ${keys.join(", ") || "none"}.`, {
    field: "variant",
  });
}

export async function insertRule(tx: Adapter, tenant: string, rule: FlagRule): Promise<void> {
  await tx.create<RuleRow>({ model: RULE_MODEL, data: { tenant, ...RULES.toColumns(rule) } });
}

export async function replaceRule(tx: Adapter, tenant: string, rule: FlagRule): Promise<void> {
  const match = { ruleId: rule.id, flagId: rule.flagId, tenant };
  if (!(await replaceRow(tx, RULE_MODEL, match, RULES.toColumns(rule)))) throw overtaken("rule");
}

export async function removeRule(tx: Adapter, tenant: string, rule: FlagRule): Promise<void> {
  const match = where({ ruleId: rule.id, flagId: rule.flagId, tenant });
  await tx.delete<RuleRow>({ model: RULE_MODEL, where: match });
}

export function toDefinition(rule: FlagRule): RuleDefinition {
  const { id, enabled, conditions, value, variant, percentage, environments, salt } = rule;
  return {
    id,
    enabled,
    conditions,
    ...(value !== undefined && { value }),
    ...(variant !== undefined && { variant }),
    ...(percentage !== undefined && { percentage }),
    ...(environments !== undefined && { environments }),
    salt,
  };
}

/** Decodes a rule from the audit log. */
export function reviveRule(text: string | null): FlagRule {
  const rule = RULES.revive(text);
  if (typeof rule.salt === "string" && typeof rule.position === "number") return rule;
  throw new Error(`The audit entry of the rule ${rule.id} has no salt or no position.`);
}

export function toRule(row: RuleRow): FlagRule {
  return RULES.toEntity(row);
}
