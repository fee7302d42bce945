/** Changes of segments. */
import { segmentsOf } from "../engine/conditions.ts";
import type { RuleConditions, Segments } from "../engine/definition.ts";
import type { FlagSegment, FlagSegmentInput, FlagSegmentPatch } from "../model/segment.ts";
import type { FlagRow, RuleRow } from "../model/tables.ts";
import { requireReferences, requireUsable } from "./definition.ts";
import { conflict, requireVersion } from "./entity.ts";
import { FLAG_MODEL, toFlag } from "./flags.ts";
import { findRowsIn, scanRows } from "./rows.ts";
import { byOrder, groupByFlag, RULE_MODEL, type StoredRule, toStoredRule } from "./rules.ts";
import {
  insertSegment,
  newSegment,
  patchSegment,
  readSegment,
  readSegments,
  removeSegment,
  replaceSegment,
  requireFreeSegmentKey,
  withSegment,
} from "./segments.ts";
import type { Change, WriteContext } from "./write.ts";

export async function createSegment(
  { tx, tenant, at, newId }: WriteContext,
  input: FlagSegmentInput,
): Promise<Change<FlagSegment>> {
  const segment = newSegment(input, newId(), at);
  await requireFreeSegmentKey(tx, tenant, segment.key);
  requireReferences([segment.conditions], withSegment(await readSegments(tx, tenant), segment));
  await insertSegment(tx, tenant, segment);
  return { ...subject(segment), action: "segment.created", before: null, after: segment, result: segment };
}

export async function updateSegment(
  context: WriteContext,
  id: string,
  patch: FlagSegmentPatch,
  version: number | undefined,
): Promise<Change<FlagSegment>> {
  const { tx, tenant, at } = context;
  const before = await readSegment(tx, tenant, id);
  requireVersion("segment", before, version);
  const segment = patchSegment(before, patch, at);
  if (patch.conditions !== undefined) {
    const segments = withSegment(await readSegments(tx, tenant), segment);
    requireReferences([segment.conditions], segments);
    await requireUsersUsable(context, segment.key, segments);
  }
  await replaceSegment(tx, tenant, segment);
  return { ...subject(segment), action: "segment.updated", before, after: segment, result: segment };
}

export async function deleteSegment(
  context: WriteContext,
  id: string,
  version: number | undefined,
): Promise<Change<void>> {
  const { tx, tenant } = context;
  const before = await readSegment(tx, tenant, id);
  requireVersion("segment", before, version);
  const names = (conditions: RuleConditions) => segmentsOf(conditions).has(before.key);
  for (const [key, conditions] of await readSegments(tx, tenant)) {
    if (names(conditions)) throw stillUsed(before, `the segment "${key}"`);
  }
  for await (const { rule } of rulesWithSegments(context)) {
    if (names(rule.conditions)) throw stillUsed(before, `the rule ${rule.id} of the flag ${rule.flagId}`);
  }
  await removeSegment(tx, tenant, id);
  return { ...subject(before), action: "segment.deleted", before, after: null, result: undefined };
}

/** A segment belongs to no flag. */
const subject = ({ id }: FlagSegment) => ({ flagId: "", flagKey: "", entityId: id });

function stillUsed({ key }: FlagSegment, user: string) {
  return conflict(`The segment "${key}" is still used by ${user}. Take it out there first.`, {
    field: "key",
  });
}

async function* rulesWithSegments({ tx, tenant }: WriteContext): AsyncGenerator<StoredRule> {
  const also = [{ field: "conditions", operator: "contains" as const, value: '"segment"' }];
  for await (const row of scanRows<RuleRow>(tx, RULE_MODEL, "ruleId", { tenant }, { also })) {
    yield toStoredRule(row);
  }
}

/** A change of a segment must leave every flag that uses it, by whatever way, within the engine's limits. */
async function requireUsersUsable(context: WriteContext, key: string, segments: Segments): Promise<void> {
  const using = keysUsing(key, segments);
  const flagIds = new Set<string>();
  for await (const { rule } of rulesWithSegments(context)) {
    for (const named of segmentsOf(rule.conditions)) if (using.has(named)) flagIds.add(rule.flagId);
  }
  const { tx, tenant } = context;
  const ids = [...flagIds];
  const rules = (await findRowsIn<RuleRow>(tx, RULE_MODEL, { tenant }, "flagId", ids)).map(toStoredRule);
  const rulesOf = groupByFlag(rules.sort(byOrder));
  for (const row of await findRowsIn<FlagRow>(tx, FLAG_MODEL, { tenant }, "flagId", ids)) {
    requireUsable(toFlag(row), rulesOf.get(row.flagId) ?? [], segments);
  }
}

/** The segment itself and those that name it, directly or through others. */
function keysUsing(key: string, segments: Segments): ReadonlySet<string> {
  const using = new Set([key]);
  // A set that grows while it is walked is walked to its end.
  for (const used of using) {
    for (const [user, conditions] of segments) if (segmentsOf(conditions).has(used)) using.add(user);
  }
  return using;
}
