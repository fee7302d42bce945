/** Checks a flag with its rules as a whole, and makes the changes from one state of it to another. */
import type { RuleConditions } from "../../engine/definition.ts";
import { type FeatureFlag, fitsType } from "../../model/flag.ts";
import type { FlagRule } from "../../model/rule.ts";
import type { OverrideRow } from "../../model/tables.ts";
import { requireAffordable, requireUsable } from "../rows/definition.ts";
import { conflict } from "../rows/entity.ts";
import { replaceFlag } from "../rows/flags.ts";
import { requireFreeKey, requireMeaningful } from "../rows/global-keys.ts";
import { isExpired, OVERRIDE_MODEL, toOverride } from "../rows/overrides.ts";
import { findRowsIn, scanRows } from "../rows/queries.ts";
import { insertRule, removeRule, replaceRule, requireFitting } from "../rows/rules.ts";
import { requireFit, requireOwnFit } from "../rows/values.ts";
import { storedSegments } from "./stored.ts";
import type { AuditedChange, WriteContext } from "./write.ts";

/** A flag and its rules, in evaluation order. */
export interface RuledFlag {
  readonly flag: FeatureFlag;
  readonly rules: readonly FlagRule[];
}

/** The changes of the flag and of its rules. What did not change is the same object in both states. */
export async function changeRuled(
  context: WriteContext,
  before: RuledFlag,
  after: RuledFlag,
): Promise<AuditedChange[]> {
  await requireRuled(context, before, after);
  const { flag, rules } = after;
  const stored = new Map(before.rules.map((rule) => [rule.id, rule]));
  const kept = new Set(rules.map(({ id }) => id));
  return [
    ...before.rules.filter(({ id }) => !kept.has(id)).map((rule) => deletedRule(context, flag, rule)),
    ...(flag === before.flag ? [] : [writtenFlag(context, before.flag, flag)]),
    ...rules
      .filter((rule) => stored.get(rule.id) !== rule)
      .map((rule) => writtenRule(context, flag, stored.get(rule.id), rule)),
  ];
}

export function writtenFlag(
  { tx, tenant }: WriteContext,
  before: FeatureFlag,
  flag: FeatureFlag,
): AuditedChange {
  const subject = { flagId: flag.id, flagKey: flag.key, entityId: flag.id };
  const rows = () => replaceFlag(tx, tenant, flag);
  return { ...subject, action: "flag.updated", before, after: flag, rows };
}

/** `before` is undefined for a new rule. */
export function writtenRule(
  { tx, tenant }: WriteContext,
  flag: FeatureFlag,
  before: FlagRule | undefined,
  rule: FlagRule,
): AuditedChange {
  if (before === undefined) {
    const rows = () => insertRule(tx, tenant, rule);
    return { ...subjectOf(flag, rule), action: "rule.created", before: null, after: rule, rows };
  }
  const rows = () => replaceRule(tx, tenant, rule);
  return { ...subjectOf(flag, rule), action: "rule.updated", before, after: rule, rows };
}

export function deletedRule(
  { tx, tenant }: WriteContext,
  flag: FeatureFlag,
  before: FlagRule,
): AuditedChange {
  const rows = () => removeRule(tx, tenant, before);
  return { ...subjectOf(flag, before), action: "rule.deleted", before, after: null, rows };
}

const subjectOf = (flag: FeatureFlag, rule: FlagRule) => ({
  flagId: flag.id,
  flagKey: flag.key,
  entityId: rule.id,
});

/** Throws if the flag with its rules, or one of its overrides, would not be valid after the change. */
export async function requireRuled(
  context: WriteContext,
  before: RuledFlag,
  { flag, rules }: RuledFlag,
): Promise<void> {
  const kept = new Set(before.rules);
  const written = rules.filter((rule) => !kept.has(rule));
  const isTyped = flag.type !== before.flag.type;
  // Deleting rules is always possible.
  if (flag === before.flag && written.length === 0) return;
  if (flag !== before.flag) await requireOwn(context, before.flag, flag);
  for (const rule of written) requireFitting(flag, rule);
  const others = rules.filter((rule) => kept.has(rule));
  if (isTyped) {
    for (const rule of others) requireFit(flag, rule.value, { field: "type", ruleId: rule.id });
    await requireOverridesFit(context, flag);
  }
  if (flag.variants !== before.flag.variants) await requireVariantsUnused(context, before.flag, flag, others);
  const segments = rules.length === 0 ? new Map() : await storedSegments(context);
  requireUsable(flag, rules, segments);
  if (written.length > 0)
    requireAffordable({ trees: treesOf(rules), segments }, { trees: treesOf(before.rules), segments });
}

async function requireOwn(
  { tx, tenant }: WriteContext,
  before: FeatureFlag,
  flag: FeatureFlag,
): Promise<void> {
  requireOwnFit(flag);
  requireMeaningful(tenant, flag);
  if (flag.key !== before.key) await requireFreeKey(tx, tenant, flag.key, flag.id);
}

const treesOf = (rules: readonly FlagRule[]): RuleConditions[] => rules.map(({ conditions }) => conditions);

/** Throws if an override does not fit the new type. Deletes such overrides if they have expired: a snapshot must not read them. */
async function requireOverridesFit(
  { tx, tenant, now, sweep, drafted }: WriteContext,
  flag: FeatureFlag,
): Promise<void> {
  const match = { flagId: flag.id, tenant };
  for await (const row of scanRows<OverrideRow>(tx, OVERRIDE_MODEL, "overrideId", match)) {
    const override = toOverride(row);
    if (fitsType(flag.type, override.value) || drafted?.gone.has(override.id)) continue;
    if (isExpired(override, now)) await sweep(override, override);
    else requireFit(flag, override.value, { field: "type", overrideId: override.id });
  }
}

/** Throws if a rule or an override uses a removed variant. Deletes such overrides if they have expired. */
async function requireVariantsUnused(
  { tx, tenant, now, sweep, drafted }: WriteContext,
  before: FeatureFlag,
  after: FeatureFlag,
  rules: readonly FlagRule[],
): Promise<void> {
  const kept = new Set(after.variants?.map(({ key }) => key));
  const removed = (before.variants ?? []).map(({ key }) => key).filter((key) => !kept.has(key));
  const isRemoved = (variant: string | undefined) => removed.some((key) => key === variant);
  const rule = rules.find(({ variant }) => isRemoved(variant));
  if (rule !== undefined) throw variantInUse("rule", rule.id, rule.variant);
  const match = { flagId: before.id, tenant };
  const rows = await findRowsIn<OverrideRow>(tx, OVERRIDE_MODEL, match, "variant", removed);
  for (const override of rows.map(toOverride)) {
    if (!isRemoved(override.variant) || drafted?.gone.has(override.id)) continue;
    if (!isExpired(override, now)) throw variantInUse("override", override.id, override.variant);
    await sweep(override, override);
  }
}

function variantInUse(entity: "rule" | "override", id: string, variant: string | undefined) {
  return conflict(
    `The variant "${variant}" is still used by the ${entity} ${id}. Change or delete the ${entity} first.`,
    { field: "variants", entity, id },
  );
}
