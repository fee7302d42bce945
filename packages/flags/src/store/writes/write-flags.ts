/** Creates, updates and deletes flags. */
import { type FeatureFlag, type FeatureFlagPatch, type FlagDraft, fitsType } from "../../model/flag.ts";
import type { FlagRule } from "../../model/rule.ts";
import type { OverrideRow } from "../../model/tables.ts";
import type { WithWarnings } from "../../model/warning.ts";
import { requireUsable } from "../rows/definition.ts";
import { conflict, isSame, outOfDate, requireVersion } from "../rows/entity.ts";
import { insertFlag, newFlag, patchFlag, replaceFlag } from "../rows/flags.ts";
import { requireFreeKey, requireMeaningful } from "../rows/global-keys.ts";
import { isExpired, OVERRIDE_MODEL, toOverride } from "../rows/overrides.ts";
import { findRowsIn, scanRows } from "../rows/queries.ts";
import { requireFit, requireOwnFit } from "../rows/values.ts";
import { withWarnings } from "../rows/warnings.ts";
import { removeFlag } from "./deleted-flag.ts";
import { digestOf } from "./preview.ts";
import { storedFlag, storedRules, storedSegments } from "./stored.ts";
import type { Change, Unchanged, WriteContext } from "./write.ts";

export async function createFlag(
  { tx, tenant, at, newId }: WriteContext,
  input: FlagDraft,
): Promise<Change<WithWarnings<FeatureFlag>>> {
  const flag = newFlag(input, newId(), at);
  requireOwnFit(flag);
  requireMeaningful(tenant, flag);
  requireUsable(flag, [], new Map());
  await requireFreeKey(tx, tenant, flag.key);
  await insertFlag(tx, tenant, flag);
  const result = withWarnings(flag, flag, []);
  return { ...subject(flag), action: "flag.created", before: null, after: flag, result };
}

export async function updateFlag(
  context: WriteContext,
  id: string,
  patch: FeatureFlagPatch,
  version: number | undefined,
  digest?: string,
): Promise<Change<WithWarnings<FeatureFlag>> | Unchanged<WithWarnings<FeatureFlag>>> {
  const before = await storedFlag(context, id);
  requireVersion("flag", before, version);
  const flag = patchFlag(before, patch, context.at);
  const rules = await storedRules(context, id);
  // No other write of the tenant runs at the same time.
  if (digest !== undefined && digest !== (await digestOf(before, rules, await storedSegments(context))))
    throw outOfDate([before.key]);
  if (isSame(before, flag, patch)) return { action: null, result: withWarnings(before, before, rules) };
  return changeFlag(context, before, flag, rules);
}

/** Replaces a stored flag with one that has the next version. `rules` are those of the flag, in evaluation order. */
export async function changeFlag(
  context: WriteContext,
  before: FeatureFlag,
  flag: FeatureFlag,
  rules: readonly FlagRule[],
): Promise<Change<WithWarnings<FeatureFlag>>> {
  const { tx, tenant } = context;
  requireOwnFit(flag);
  requireMeaningful(tenant, flag);
  if (flag.key !== before.key) {
    await requireFreeKey(tx, tenant, flag.key, flag.id);
  }
  if (flag.type !== before.type) {
    for (const rule of rules) requireFit(flag, rule.value, { field: "type", ruleId: rule.id });
    await requireOverridesFit(context, flag);
  }
  if (flag.variants !== before.variants) await requireVariantsUnused(context, before, flag, rules);
  requireUsable(flag, rules, rules.length === 0 ? new Map() : await storedSegments(context));
  await replaceFlag(tx, tenant, flag);
  const result = withWarnings(flag, flag, rules);
  return { ...subject(flag), action: "flag.updated", before, after: flag, result };
}

export async function deleteFlag(
  context: WriteContext,
  id: string,
  version: number | undefined,
): Promise<Change<void>> {
  const { key, before } = await removeFlag(context, id, version);
  return { ...subject({ id, key }), action: "flag.deleted", before, after: null, result: undefined };
}

const subject = ({ id, key }: Pick<FeatureFlag, "id" | "key">) => ({
  flagId: id,
  flagKey: key,
  entityId: id,
});

/** Throws if an override does not fit the new type. Deletes such overrides if they have expired: a snapshot must not read them. */
async function requireOverridesFit(
  { tx, tenant, now, sweep }: WriteContext,
  flag: FeatureFlag,
): Promise<void> {
  const match = { flagId: flag.id, tenant };
  for await (const row of scanRows<OverrideRow>(tx, OVERRIDE_MODEL, "overrideId", match)) {
    const override = toOverride(row);
    if (fitsType(flag.type, override.value)) continue;
    if (isExpired(override, now)) await sweep(override, override);
    else requireFit(flag, override.value, { field: "type", overrideId: override.id });
  }
}

/** Throws if a rule or an override uses a removed variant. Deletes such overrides if they have expired. */
async function requireVariantsUnused(
  { tx, tenant, now, sweep }: WriteContext,
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
    if (!isRemoved(override.variant)) continue;
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
