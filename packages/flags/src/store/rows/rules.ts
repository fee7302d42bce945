/** Converts rules to rows and back, and reads and writes those rows. */
import type { RuleConditions, RuleDefinition } from "../../engine/definition.ts";
import type { JsonValue } from "../../engine/json.ts";
import type { FeatureFlag } from "../../model/flag.ts";
import type { FlagRule, FlagRuleInput, FlagRulePatch } from "../../model/rule.ts";
import type { RuleRow } from "../../model/tables.ts";
import { decodeJson, encodeJson, reviveEntity } from "./codec.ts";
import { invalid, notFound, overtaken } from "./entity.ts";
import { type Adapter, findRow, findRows, replaceRow, where } from "./queries.ts";
import { patched, patchedValue, requireFit } from "./values.ts";

export const RULE_MODEL = "featureFlagRule";

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
  return {
    id,
    flagId: flag.id,
    priority: input.priority,
    ...(input.name !== undefined && { name: input.name }),
    conditions: input.conditions,
    ...(input.value !== undefined && { value: input.value }),
    ...(input.variant !== undefined && { variant: input.variant }),
    ...(input.percentage !== undefined && { percentage: input.percentage }),
    enabled: input.enabled ?? true,
    version: 1,
    createdAt: at,
  };
}

export function patchRule(flag: FeatureFlag, rule: FlagRule, patch: FlagRulePatch): FlagRule {
  const name = patched(rule.name, patch.name);
  const value = patchedValue(flag, rule.value, patch.value);
  const variant = patched(rule.variant, patch.variant);
  const percentage = patched(rule.percentage, patch.percentage);
  return {
    id: rule.id,
    flagId: rule.flagId,
    priority: patch.priority ?? rule.priority,
    ...(name !== undefined && { name }),
    conditions: patch.conditions ?? rule.conditions,
    ...(value !== undefined && { value }),
    ...(variant !== undefined && { variant }),
    ...(percentage !== undefined && { percentage }),
    enabled: patch.enabled ?? rule.enabled,
    version: rule.version + 1,
    createdAt: rule.createdAt,
  };
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
    data: { tenant, salt, position, ...toColumns(rule) },
  });
}

export async function replaceRule(tx: Adapter, tenant: string, rule: FlagRule): Promise<void> {
  const match = { ruleId: rule.id, flagId: rule.flagId, tenant };
  if (!(await replaceRow(tx, RULE_MODEL, match, toColumns(rule)))) throw overtaken("rule");
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

function toColumns(rule: FlagRule): Omit<RuleRow, "id" | "tenant" | "salt" | "position"> {
  return {
    ruleId: rule.id,
    flagId: rule.flagId,
    priority: encodeJson(rule.priority),
    name: rule.name ?? null,
    conditions: encodeJson(rule.conditions as JsonValue),
    value: rule.value === undefined ? null : encodeJson(rule.value),
    variant: rule.variant ?? null,
    percentage: rule.percentage === undefined ? null : encodeJson(rule.percentage),
    enabled: rule.enabled,
    version: rule.version,
    createdAt: rule.createdAt,
  };
}

/** A rule as the audit log keeps it: with all that evaluation needs. */
export type AuditedRule = FlagRule & Pick<StoredRule, "salt" | "position">;

export function toAudited({ rule, salt, position }: StoredRule): AuditedRule {
  return { ...rule, salt, position };
}

/** Decodes a rule from the audit log. */
export function reviveRule(text: string | null): StoredRule {
  const { salt, position, ...rule } = reviveEntity<FlagRule & Partial<AuditedRule>>(text, ["createdAt"]);
  if (typeof salt !== "string" || typeof position !== "number") {
    throw new Error(`The audit entry of the rule ${rule.id} has no salt or no position.`);
  }
  return { rule, salt, position };
}

export function toStoredRule(row: RuleRow): StoredRule {
  const rule: FlagRule = {
    id: row.ruleId,
    flagId: row.flagId,
    priority: decodeJson(row.priority) as number,
    ...(row.name !== null && { name: row.name }),
    conditions: decodeJson(row.conditions) as RuleConditions,
    ...(row.value !== null && { value: decodeJson(row.value) }),
    ...(row.variant !== null && { variant: row.variant }),
    ...(row.percentage !== null && { percentage: decodeJson(row.percentage) as number }),
    enabled: row.enabled,
    version: row.version,
    createdAt: row.createdAt,
  };
  return { rule, salt: row.salt, position: row.position };
}
