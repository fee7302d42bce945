/** Reverts entries of the audit log: makes the inverse changes, with audit entries of their own. */
import type { AuditAction } from "../../model/audit.ts";
import type { FlagOverride } from "../../model/override.ts";
import { changedParts, withPartsOf } from "../../model/parts.ts";
import type { FlagRule } from "../../model/rule.ts";
import type { AuditRow, FlagRow, OverrideRow, RuleRow, SegmentRow } from "../../model/tables.ts";
import { conflict, notFound } from "../rows/entity.ts";
import { FLAG_MODEL, reviveFlag } from "../rows/flags.ts";
import { OVERRIDE_MODEL, reviveOverride } from "../rows/overrides.ts";
import { findRow, findRows } from "../rows/queries.ts";
import { byOrder, RULE_MODEL, reviveRule } from "../rows/rules.ts";
import { reviveSegment, SEGMENT_MODEL } from "../rows/segments.ts";
import { AUDIT_MODEL } from "./audit.ts";
import { joinParts } from "./audit-parts.ts";
import { type Drafting, MAX_STEPS } from "./drafting.ts";
import { restoreFlag } from "./restore-flag.ts";
import { storedFlag, storedRules, storedSegment } from "./stored.ts";
import type { AuditedChange, WriteContext } from "./write.ts";
import { deleteFlag } from "./write-flags.ts";
import { createOverride, deleteOverride } from "./write-overrides.ts";
import { changeRuled, type RuledFlag } from "./write-ruled.ts";
import { storedRuled } from "./write-rules.ts";
import { addSegment, changeSegment, deleteSegment } from "./write-segments.ts";

/** Refused with the fields that later changes touched. Resolves to the number of overrides that cannot come back. */
export async function revertEntry(
  drafting: Drafting,
  entryId: string,
  maxOverrides: number,
): Promise<number> {
  const { tx, tenant } = drafting.context;
  const found = await findRow<AuditRow>(tx, AUDIT_MODEL, { entryId, tenant });
  if (found === undefined) throw notFound("audit entry");
  return revertRows(drafting, await joinParts(tx, [found]), maxOverrides);
}

/** The same for all entries of a change. */
export async function revertChange(
  drafting: Drafting,
  changeId: string,
  maxOverrides: number,
): Promise<number> {
  const { tx, tenant } = drafting.context;
  const sortBy = { field: "revision", direction: "desc" } as const;
  const rows = await findRows<AuditRow>(
    tx,
    AUDIT_MODEL,
    { changeId, tenant },
    { sortBy, limit: MAX_STEPS + 1 },
  );
  if (rows.length === 0) throw notFound("change");
  return revertRows(drafting, await joinParts(tx, rows), maxOverrides);
}

/** Newest first. The states of a flag with its rules are checked as a whole, because each alone may be invalid. */
async function revertRows(
  drafting: Drafting,
  rows: readonly AuditRow[],
  maxOverrides: number,
): Promise<number> {
  const { context } = drafting;
  const unknown = rows.find(({ action }) => !Object.hasOwn(INVERTIBLE, action));
  if (unknown !== undefined) {
    throw conflict("This version of the server cannot revert such an entry. Change it back by hand.", {
      action: unknown.action,
    });
  }
  const created = new Set(rows.filter(({ action }) => action === "flag.created").map(({ flagId }) => flagId));
  const others = rows.filter(({ flagId }) => !created.has(flagId));
  let missing = 0;
  for (const { entityId } of rowsOf(others, "override.created")) {
    drafting.add(await deleteOverride(context, entityId));
  }
  for (const row of others) {
    const change = await segmentBack(context, row);
    if (change !== undefined) drafting.add(change);
  }
  for (const row of rowsOf(others, "flag.deleted")) {
    await requireAbsent(context, FLAG_MODEL, { flagId: row.entityId });
    const { changes, missingOverrides } = await restoreFlag(context, row.before, maxOverrides);
    drafting.add(...changes);
    missing += missingOverrides;
  }
  const ruled = rowsOf(others, "flag.updated", "rule.created", "rule.updated", "rule.deleted");
  for (const flagId of new Set(ruled.map((row) => row.flagId))) {
    const before = await storedRuled(context, flagId);
    const after = await ruledBack(
      context,
      before,
      ruled.filter((row) => row.flagId === flagId),
    );
    drafting.add(...(await changeRuled(context, before, after)));
  }
  for (const flagId of created) {
    drafting.add(
      await removeFlag(
        context,
        flagId,
        rows.filter((row) => row.flagId === flagId),
      ),
    );
  }
  for (const { before } of rowsOf(others, "override.deleted")) {
    drafting.add(await createOverride(context, inputOf(reviveOverride(before)), maxOverrides));
  }
  return missing;
}

/** A newer version may have written another action. */
const INVERTIBLE: Readonly<Record<AuditAction, true>> = {
  "flag.created": true,
  "flag.updated": true,
  "flag.deleted": true,
  "rule.created": true,
  "rule.updated": true,
  "rule.deleted": true,
  "override.created": true,
  "override.deleted": true,
  "segment.created": true,
  "segment.updated": true,
  "segment.deleted": true,
};

function rowsOf(rows: readonly AuditRow[], ...actions: readonly AuditAction[]): AuditRow[] {
  return rows.filter(({ action }) => actions.includes(action));
}

/** Undefined for an entry that is not about a segment. */
async function segmentBack(context: WriteContext, row: AuditRow): Promise<AuditedChange | undefined> {
  const id = row.entityId;
  switch (row.action) {
    case "segment.created":
      requireUntouched(await storedSegment(context, id), reviveSegment(row.after));
      return deleteSegment(context, id, undefined);
    case "segment.updated": {
      const current = await storedSegment(context, id);
      const back = withFieldsBack(current, reviveSegment(row.before), reviveSegment(row.after));
      return changeSegment(context, current, { ...back, updatedAt: context.at });
    }
    case "segment.deleted": {
      await requireAbsent(context, SEGMENT_MODEL, { segmentId: id });
      const segment = reviveSegment(row.before);
      return addSegment(context, { ...segment, version: segment.version + 1, updatedAt: context.at });
    }
    default:
      return undefined;
  }
}

/** The flag with its rules before these entries, and the later changes of other fields. */
async function ruledBack(
  context: WriteContext,
  before: RuledFlag,
  rows: readonly AuditRow[],
): Promise<RuledFlag> {
  let { flag } = before;
  const rules = new Map(before.rules.map((rule) => [rule.id, rule]));
  for (const { action, entityId, before: earlier, after: later } of rows) {
    const rule = rules.get(entityId);
    if (action === "flag.updated") {
      flag = { ...withFieldsBack(flag, reviveFlag(earlier), reviveFlag(later)), updatedAt: context.at };
    } else if (action === "rule.deleted") {
      await requireAbsent(context, RULE_MODEL, { ruleId: entityId });
      const deleted = reviveRule(earlier);
      rules.set(entityId, { ...deleted, version: deleted.version + 1 });
    } else if (rule === undefined) {
      throw notFound("rule");
    } else if (action === "rule.updated") {
      rules.set(entityId, withFieldsBack(rule, reviveRule(earlier), reviveRule(later)));
    } else {
      requireUntouched(rule, reviveRule(later));
      rules.delete(entityId);
    }
  }
  return { flag, rules: [...rules.values()].sort(byOrder) };
}

/** Refused if the flag has changed since, or has rules or overrides that these entries did not create. */
async function removeFlag(
  context: WriteContext,
  flagId: string,
  rows: readonly AuditRow[],
): Promise<AuditedChange> {
  const { tx, tenant } = context;
  const [row] = rowsOf(rows, "flag.created");
  const fields = changedParts(await storedFlag(context, flagId), reviveFlag(row?.after ?? null));
  const created = new Map(rows.map(({ entityId, after }) => [entityId, after]));
  const isOwn = (rule: FlagRule) => {
    const after = created.get(rule.id);
    return after !== undefined && changedParts(rule, reviveRule(after)).length === 0;
  };
  if (!(await storedRules(context, flagId)).every(isOwn)) fields.push("rules");
  const overrides = await findRows<OverrideRow>(
    tx,
    OVERRIDE_MODEL,
    { flagId, tenant },
    { select: ["flagId", "tenant", "overrideId"], limit: created.size + 1 },
  );
  if (!overrides.every(({ overrideId }) => created.has(overrideId))) fields.push("overrides");
  refuseIfAny(fields);
  return deleteFlag(context, flagId, undefined);
}

/** The entity with the fields that the entry changed as they were before, and the next version. */
function withFieldsBack<Entity extends { readonly version: number }>(
  current: Entity,
  before: Entity,
  after: Entity,
): Entity {
  const parts = changedParts(before, after);
  if (parts.length === 0) throw nothingToRevert();
  const later = new Set(changedParts(current, after));
  refuseIfAny(parts.filter((part) => later.has(part)));
  return { ...withPartsOf(current, before, parts), version: current.version + 1 };
}

function requireUntouched(current: object, after: object): void {
  refuseIfAny(changedParts(current, after));
}

async function requireAbsent(
  { tx, tenant }: WriteContext,
  model: string,
  id: Readonly<Record<string, string>>,
): Promise<void> {
  const found = await findRow<FlagRow | RuleRow | SegmentRow>(tx, model, { ...id, tenant });
  if (found !== undefined) refuseIfAny(["id"]);
}

function refuseIfAny(fields: readonly string[]): void {
  if (fields.length === 0) return;
  throw conflict(
    `The entry cannot be reverted, because later changes touched ${fields.join(", ")}. Revert the later entries first, or change the fields by hand.`,
    { fields },
  );
}

function nothingToRevert() {
  return conflict("The entry changed no field, so there is nothing to revert.", { fields: [] });
}

function inputOf({ id: _id, createdAt: _createdAt, expiresAt, ...override }: FlagOverride) {
  return { ...override, ...(expiresAt && { expiresAt: expiresAt.toISOString() }) };
}
