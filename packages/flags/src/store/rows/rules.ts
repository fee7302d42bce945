/** Converts rules to rows and back, and reads and writes those rows. */
import type { RuleDefinition } from "../../engine/definition.ts";
import type { FeatureFlag } from "../../model/flag.ts";
import { type FlagRule, type FlagRuleInput, type FlagRulePatch, RULE_FIELDS } from "../../model/rule.ts";
import type { RuleRow } from "../../model/tables.ts";
import { invalid, notFound, overtaken } from "./entity.ts";
import { type Mapping, mappingOf } from "./mapping.ts";
import { type Adapter, findRow, findRows, replaceRow, where } from "./queries.ts";
import { requireFit } from "./values.ts";

export const RULE_MODEL = "featureFlagRule";

const RULES: Mapping<typeof RULE_FIELDS> = mappingOf(RULE_FIELDS);

/** A rule with the columns that only evaluation needs. */
export interface StoredRule {
  readonly rule: FlagRule;
  readonly salt: string;
  readonly position: number;
}

export async function readRules(adapter: Adapter, tenant: string, flagId: string): Promise<StoredRule[]> {
  const rows = await findRows<RuleRow>(adapter, RULE_MODEL, { flagId, tenant });
  return rows.map(toStoredRule).sort(byOrder);
}

/** Throws if the rule belongs to another flag. */
export async function readRule(
  adapter: Adapter,
  tenant: string,
  flagId: string,
  ruleId: string,
): Promise<StoredRule> {
  const row = await findRow<RuleRow>(adapter, RULE_MODEL, { ruleId, flagId, tenant });
  if (row === undefined) throw notFound("rule");
  return toStoredRule(row);
}

export function byOrder(a: StoredRule, b: StoredRule): number {
  return a.rule.priority - b.rule.priority || a.position - b.position;
}

/** Groups rules by flag and keeps their order. */
export function groupByFlag(rules: Iterable<StoredRule>): Map<string, StoredRule[]> {
  const groups = new Map<string, StoredRule[]>();
  for (const stored of rules) {
    const group = groups.get(stored.rule.flagId);
    if (group === undefined) groups.set(stored.rule.flagId, [stored]);
    else group.push(stored);
  }
  return groups;
}

export function newRule(flag: FeatureFlag, input: FlagRuleInput, id: string, at: Date): FlagRule {
  return RULES.create(input, at, { id, flagId: flag.id });
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

export async function insertRule(tx: Adapter, tenant: string, stored: StoredRule): Promise<void> {
  const { salt, position, rule } = stored;
  await tx.create<RuleRow>({
    model: RULE_MODEL,
    data: { tenant, salt, position, ...RULES.toColumns(rule) },
  });
}

export async function replaceRule(tx: Adapter, tenant: string, rule: FlagRule): Promise<void> {
  const match = { ruleId: rule.id, flagId: rule.flagId, tenant };
  if (!(await replaceRow(tx, RULE_MODEL, match, RULES.toColumns(rule)))) throw overtaken("rule");
}

export async function removeRule(tx: Adapter, tenant: string, rule: FlagRule): Promise<void> {
  const match = where({ ruleId: rule.id, flagId: rule.flagId, tenant });
  await tx.delete<RuleRow>({ model: RULE_MODEL, where: match });
}

export async function removeRulesOf(tx: Adapter, tenant: string, flagId: string): Promise<void> {
  await tx.deleteMany({ model: RULE_MODEL, where: where({ flagId, tenant }) });
}

export function toDefinition({ rule, salt }: StoredRule): RuleDefinition {
  return {
    id: rule.id,
    enabled: rule.enabled,
    conditions: rule.conditions,
    ...(rule.value !== undefined && { value: rule.value }),
    ...(rule.variant !== undefined && { variant: rule.variant }),
    ...(rule.percentage !== undefined && { percentage: rule.percentage }),
    salt,
  };
}

/** A rule as the audit log keeps it: with all that evaluation needs. */
export type AuditedRule = FlagRule & Pick<StoredRule, "salt" | "position">;

export function toAudited({ rule, salt, position }: StoredRule): AuditedRule {
  return { ...rule, salt, position };
}

/** Decodes a rule from the audit log. */
export function reviveRule(text: string | null): StoredRule {
  const { salt, position, ...rule }: FlagRule & Partial<AuditedRule> = RULES.revive(text);
  if (typeof salt !== "string" || typeof position !== "number") {
    throw new Error(`The audit entry of the rule ${rule.id} has no salt or no position.`);
  }
  return { rule, salt, position };
}

export function toStoredRule(row: RuleRow): StoredRule {
  return { rule: RULES.toEntity(row), salt: row.salt, position: row.position };
}
