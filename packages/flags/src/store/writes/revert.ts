/** Reverts an audit entry: makes the inverse change, with an audit entry of its own. */
import type { FlagOverride } from "../../model/override.ts";
import { changedParts, withPartsOf } from "../../model/parts.ts";
import type { RevertedAuditEntry } from "../../model/plan.ts";
import type { AuditRow, FlagRow, RuleRow, SegmentRow } from "../../model/tables.ts";
import type { RevertingChange } from "../flag-store.ts";
import { conflict, notFound } from "../rows/entity.ts";
import { FLAG_MODEL, reviveFlag } from "../rows/flags.ts";
import { OVERRIDE_MODEL, reviveOverride } from "../rows/overrides.ts";
import { findRow, where } from "../rows/queries.ts";
import { RULE_MODEL, reviveRule } from "../rows/rules.ts";
import { reviveSegment, SEGMENT_MODEL, segmentPatchTo } from "../rows/segments.ts";
import { AUDIT_MODEL } from "./audit.ts";
import { joinParts } from "./audit-parts.ts";
import { restoreFlag } from "./restore-flag.ts";
import { storedFlag, storedRule, storedRules, storedSegment } from "./stored.ts";
import type { AuditedChange, Change, WriteContext } from "./write.ts";
import { changeFlag, deleteFlag } from "./write-flags.ts";
import { createOverride, deleteOverride } from "./write-overrides.ts";
import { addRule, changeRule, deleteRule } from "./write-rules.ts";
import { addSegment, deleteSegment, updateSegment } from "./write-segments.ts";

/** Refused with the fields that later changes touched. */
export async function revertEntry(
  context: WriteContext,
  entryId: string,
  maxOverrides: number,
  check: (change: RevertingChange) => void = () => undefined,
): Promise<Change<RevertedAuditEntry>> {
  const { tx, tenant } = context;
  const precede: WriteContext["precede"] = async (earlier) => {
    check(earlier);
    await context.precede(earlier);
  };
  const found = await findRow<AuditRow>(tx, AUDIT_MODEL, { entryId, tenant });
  const [row] = await joinParts(tx, found === undefined ? [] : [found]);
  if (row === undefined) throw notFound("audit entry");
  const { missingOverrides = 0, ...change } = await inverseOf({ ...context, precede }, row, maxOverrides);
  check(change);
  const result = {
    id: entryId,
    action: change.action,
    flagId: change.flagId,
    entityId: change.entityId,
    ...(missingOverrides > 0 && { missingOverrides }),
  };
  return { ...change, result };
}

type Inverse = AuditedChange & { readonly missingOverrides?: number };

async function inverseOf(context: WriteContext, row: AuditRow, maxOverrides: number): Promise<Inverse> {
  switch (row.action) {
    case "flag.created":
      return removeFlag(context, row);
    case "flag.updated":
      return changeFlagBack(context, row);
    case "flag.deleted":
      await requireAbsent(context, FLAG_MODEL, { flagId: row.entityId });
      return restoreFlag(context, row.before, maxOverrides);
    case "rule.created": {
      const rule = await storedRule(context, row.flagId, row.entityId);
      requireUntouched(rule, reviveRule(row.after));
      return deleteRule(context, row.flagId, row.entityId, undefined);
    }
    case "rule.updated":
      return changeRuleBack(context, row);
    case "rule.deleted": {
      await requireAbsent(context, RULE_MODEL, { ruleId: row.entityId });
      const flag = await storedFlag(context, row.flagId);
      const rule = reviveRule(row.before);
      const others = await storedRules(context, flag.id);
      return addRule(context, flag, { ...rule, version: rule.version + 1 }, others);
    }
    case "override.created":
      return deleteOverride(context, row.entityId);
    case "override.deleted":
      return createOverride(context, inputOf(reviveOverride(row.before)), maxOverrides);
    case "segment.created":
      requireUntouched(await storedSegment(context, row.entityId), reviveSegment(row.after));
      return deleteSegment(context, row.entityId, undefined);
    case "segment.updated":
      return changeSegmentBack(context, row);
    case "segment.deleted": {
      await requireAbsent(context, SEGMENT_MODEL, { segmentId: row.entityId });
      const segment = reviveSegment(row.before);
      return addSegment(context, { ...segment, version: segment.version + 1, updatedAt: context.at });
    }
    default:
      row.action satisfies never;
      throw conflict("This version of the server cannot revert such an entry. Change it back by hand.", {
        action: row.action,
      });
  }
}

async function removeFlag(context: WriteContext, row: AuditRow): Promise<Inverse> {
  const { tx, tenant } = context;
  const flagId = row.entityId;
  const current = await storedFlag(context, flagId);
  const fields = changedParts(current, reviveFlag(row.after));
  if ((await storedRules(context, flagId)).length > 0) fields.push("rules");
  if ((await tx.count({ model: OVERRIDE_MODEL, where: where({ flagId, tenant }) })) > 0) {
    fields.push("overrides");
  }
  refuseIfAny(fields);
  return deleteFlag(context, flagId, undefined);
}

async function changeFlagBack(context: WriteContext, row: AuditRow): Promise<Inverse> {
  const current = await storedFlag(context, row.entityId);
  const flag = withFieldsBack(current, reviveFlag(row.before), reviveFlag(row.after));
  const rules = await storedRules(context, flag.id);
  return changeFlag(context, current, { ...flag, updatedAt: context.at }, rules);
}

async function changeRuleBack(context: WriteContext, row: AuditRow): Promise<Inverse> {
  const flag = await storedFlag(context, row.flagId);
  const current = await storedRule(context, row.flagId, row.entityId);
  const [before, after] = [reviveRule(row.before), reviveRule(row.after)];
  return changeRule(context, flag, current, withFieldsBack(current, before, after));
}

async function changeSegmentBack(context: WriteContext, row: AuditRow): Promise<Inverse> {
  const current = await storedSegment(context, row.entityId);
  const back = withFieldsBack(current, reviveSegment(row.before), reviveSegment(row.after));
  const change = await updateSegment(context, row.entityId, segmentPatchTo(back), undefined);
  if (change.action === null) throw nothingToRevert();
  return change;
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
