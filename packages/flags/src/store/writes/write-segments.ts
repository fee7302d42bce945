/** Creates, updates and deletes segments. */
import { segmentsOf } from "../../engine/conditions.ts";
import type { RuleConditions, Segments } from "../../engine/definition.ts";
import type { FlagRule } from "../../model/rule.ts";
import type { FlagSegment, FlagSegmentInput, FlagSegmentPatch } from "../../model/segment.ts";
import type { FlagRow, RuleRow } from "../../model/tables.ts";
import { requireAffordable, requireReferences, requireUsable } from "../rows/definition.ts";
import { conflict, isSame, requireVersion } from "../rows/entity.ts";
import { FLAG_MODEL, toFlag } from "../rows/flags.ts";
import { findRowsIn, scanRows } from "../rows/queries.ts";
import { byOrder, groupByFlag, RULE_MODEL, toRule } from "../rows/rules.ts";
import {
  insertSegment,
  newSegment,
  patchSegment,
  removeSegment,
  replaceSegment,
  requireFreeSegmentKey,
  withSegment,
} from "../rows/segments.ts";
import { pause } from "../wait.ts";
import { storedSegment, storedSegments } from "./stored.ts";
import type { Change, Unchanged, WriteContext } from "./write.ts";

export async function createSegment(
  context: WriteContext,
  input: FlagSegmentInput,
): Promise<Change<FlagSegment>> {
  return addSegment(context, newSegment(input, context.newId(), context.at));
}

/** Adds a segment. */
export async function addSegment(context: WriteContext, segment: FlagSegment): Promise<Change<FlagSegment>> {
  const { tx, tenant } = context;
  await requireFreeSegmentKey(tx, tenant, segment.key);
  const segments = withSegment(await storedSegments(context), segment);
  requireReferences([segment.conditions], segments);
  requireAffordable({ trees: [segment.conditions], segments });
  const rows = () => insertSegment(tx, tenant, segment);
  return {
    ...subject(segment),
    action: "segment.created",
    before: null,
    after: segment,
    rows,
    result: segment,
  };
}

export async function updateSegment(
  context: WriteContext,
  id: string,
  patch: FlagSegmentPatch,
  version: number | undefined,
): Promise<Change<FlagSegment> | Unchanged<FlagSegment>> {
  const before = await storedSegment(context, id);
  requireVersion("segment", before, version);
  const segment = patchSegment(before, patch, context.at);
  if (isSame(before, segment, patch)) return { action: null, result: before };
  return changeSegment(context, before, segment);
}

/** Replaces a stored segment with one that has the next version. */
export async function changeSegment(
  context: WriteContext,
  before: FlagSegment,
  segment: FlagSegment,
): Promise<Change<FlagSegment>> {
  if (segment.conditions !== before.conditions) {
    const segmentsBefore = await storedSegments(context);
    const segments = withSegment(segmentsBefore, segment);
    requireReferences([segment.conditions], segments);
    requireAffordable(
      { trees: [segment.conditions], segments },
      { trees: [before.conditions], segments: segmentsBefore },
    );
    await requireUsersUsable(context, segment.key, segments, segmentsBefore);
  }
  const rows = () => replaceSegment(context.tx, context.tenant, segment);
  return { ...subject(segment), action: "segment.updated", before, after: segment, rows, result: segment };
}

export async function deleteSegment(
  context: WriteContext,
  id: string,
  version: number | undefined,
): Promise<Change<void>> {
  const before = await storedSegment(context, id);
  requireVersion("segment", before, version);
  const isUsedIn = (conditions: RuleConditions) => segmentsOf(conditions).has(before.key);
  const users: string[] = [];
  for (const [key, conditions] of await storedSegments(context)) {
    if (isUsedIn(conditions)) users.push(`the segment "${key}"`);
  }
  const flagIds = new Set<string>();
  for await (const rule of rulesWithSegments(context)) {
    if (isUsedIn(rule.conditions)) flagIds.add(rule.flagId);
  }
  const { tx, tenant } = context;
  for (const row of await findRowsIn<FlagRow>(tx, FLAG_MODEL, { tenant }, "flagId", [...flagIds])) {
    users.push(`the flag "${toFlag(row).key}"`);
  }
  if (users.length > 0) throw stillUsed(before, users);
  const rows = () => removeSegment(context.tx, context.tenant, id);
  return { ...subject(before), action: "segment.deleted", before, after: null, rows, result: undefined };
}

/** A segment belongs to no flag. */
const subject = ({ id }: FlagSegment) => ({ flagId: "", flagKey: "", entityId: id });

/** Segments and flags that a message names. */
const MAX_NAMED = 5;

function stillUsed({ key }: FlagSegment, users: readonly string[]) {
  const rest = users.length > MAX_NAMED ? ` and ${users.length - MAX_NAMED} more` : "";
  const named = `${users.slice(0, MAX_NAMED).join(", ")}${rest}`;
  return conflict(`The segment "${key}" is still used by ${named}. Remove it there first.`, {
    field: "key",
  });
}

async function* rulesWithSegments({ tx, tenant }: WriteContext): AsyncGenerator<FlagRule> {
  const also = [{ field: "conditions", operator: "contains" as const, value: '"segment"' }];
  for await (const row of scanRows<RuleRow>(tx, RULE_MODEL, "ruleId", { tenant }, { also })) {
    yield toRule(row);
  }
}

/** Flags that are checked before the event loop gets a turn: a few milliseconds. */
const CHECK_SLICE = 100;

/** Throws if a flag that uses the segment, directly or through others, would exceed the engine's limits. */
async function requireUsersUsable(
  context: WriteContext,
  key: string,
  segments: Segments,
  segmentsBefore: Segments,
): Promise<void> {
  const using = keysUsing(key, segments);
  const flagIds = new Set<string>();
  for await (const rule of rulesWithSegments(context)) {
    for (const named of segmentsOf(rule.conditions)) if (using.has(named)) flagIds.add(rule.flagId);
  }
  const { tx, tenant } = context;
  const ids = [...flagIds];
  await pause();
  const rules = (await findRowsIn<RuleRow>(tx, RULE_MODEL, { tenant }, "flagId", ids)).map(toRule);
  const rulesOf = groupByFlag(rules.sort(byOrder));
  let checked = 0;
  for (const row of await findRowsIn<FlagRow>(tx, FLAG_MODEL, { tenant }, "flagId", ids)) {
    checked += 1;
    if (checked % CHECK_SLICE === 0) await pause();
    const using = rulesOf.get(row.flagId) ?? [];
    requireUsable(toFlag(row), using, segments);
    const trees = using.map(({ conditions }) => conditions);
    requireAffordable({ trees, segments }, { trees, segments: segmentsBefore });
  }
}

/** The segment and all segments that use it, directly or through others. */
export function keysUsing(key: string, segments: Segments): ReadonlySet<string> {
  const using = new Set([key]);
  // The loop also visits keys that are added during it.
  for (const used of using) {
    for (const [user, conditions] of segments) if (segmentsOf(conditions).has(used)) using.add(user);
  }
  return using;
}
