/** Converts segments to rows and back, and reads and writes those rows. */
import type { RuleConditions, Segments } from "../../engine/definition.ts";
import type { JsonValue } from "../../engine/json.ts";
import type { FlagSegment, FlagSegmentInput, FlagSegmentPatch } from "../../model/segment.ts";
import type { SegmentRow } from "../../model/tables.ts";
import { decodeJson, encodeJson, reviveEntity } from "./codec.ts";
import { conflict, notFound, overtaken } from "./entity.ts";
import { type Adapter, findRow, findRows, replaceRow, where } from "./queries.ts";
import { patched } from "./values.ts";

export const SEGMENT_MODEL = "featureFlagSegment";

export async function readSegment(adapter: Adapter, tenant: string, segmentId: string): Promise<FlagSegment> {
  const row = await findRow<SegmentRow>(adapter, SEGMENT_MODEL, { segmentId, tenant });
  if (row === undefined) throw notFound("segment");
  return toSegment(row);
}

/** The conditions of all segments of a tenant, by key. */
export async function readSegments(adapter: Adapter, tenant: string): Promise<Map<string, RuleConditions>> {
  const rows = await findRows<SegmentRow>(adapter, SEGMENT_MODEL, { tenant });
  return new Map(rows.map(toSegment).map(({ key, conditions }) => [key, conditions]));
}

/** The segments with this one changed or added. */
export function withSegment(segments: Segments, { key, conditions }: FlagSegment): Segments {
  return new Map(segments).set(key, conditions);
}

export async function requireFreeSegmentKey(adapter: Adapter, tenant: string, key: string): Promise<void> {
  const row = await adapter.findOne<SegmentRow>({ model: SEGMENT_MODEL, where: where({ tenant, key }) });
  if (row === null) return;
  throw conflict(`A segment with the key "${row.key}" already exists. Choose another key.`, {
    field: "key",
  });
}

export function newSegment(input: FlagSegmentInput, id: string, at: Date): FlagSegment {
  return {
    id,
    key: input.key,
    ...(input.name !== undefined && { name: input.name }),
    conditions: input.conditions,
    // An empty id means no organization.
    ...(input.organizationId && { organizationId: input.organizationId }),
    version: 1,
    createdAt: at,
    updatedAt: at,
  };
}

export function patchSegment(segment: FlagSegment, patch: FlagSegmentPatch, at: Date): FlagSegment {
  const name = patched(segment.name, patch.name);
  return {
    id: segment.id,
    key: segment.key,
    ...(name !== undefined && { name }),
    conditions: patch.conditions ?? segment.conditions,
    ...(segment.organizationId !== undefined && { organizationId: segment.organizationId }),
    version: segment.version + 1,
    createdAt: segment.createdAt,
    updatedAt: at,
  };
}

export async function insertSegment(tx: Adapter, tenant: string, segment: FlagSegment): Promise<void> {
  await tx.create<SegmentRow>({ model: SEGMENT_MODEL, data: { tenant, ...toColumns(segment) } });
}

export async function replaceSegment(tx: Adapter, tenant: string, segment: FlagSegment): Promise<void> {
  const match = { segmentId: segment.id, tenant };
  if (!(await replaceRow(tx, SEGMENT_MODEL, match, toColumns(segment)))) throw overtaken("segment");
}

export async function removeSegment(tx: Adapter, tenant: string, segmentId: string): Promise<void> {
  await tx.delete<SegmentRow>({ model: SEGMENT_MODEL, where: where({ segmentId, tenant }) });
}

function toColumns(segment: FlagSegment): Omit<SegmentRow, "id" | "tenant"> {
  return {
    segmentId: segment.id,
    organizationId: segment.organizationId ?? null,
    key: segment.key,
    name: segment.name ?? null,
    conditions: encodeJson(segment.conditions as JsonValue),
    version: segment.version,
    createdAt: segment.createdAt,
    updatedAt: segment.updatedAt,
  };
}

/** Decodes a segment from the audit log. */
export function reviveSegment(text: string | null): FlagSegment {
  return reviveEntity<FlagSegment>(text, ["createdAt", "updatedAt"]);
}

export function toSegment(row: SegmentRow): FlagSegment {
  return {
    id: row.segmentId,
    key: row.key,
    ...(row.name !== null && { name: row.name }),
    conditions: decodeJson(row.conditions) as RuleConditions,
    ...(row.organizationId !== null && { organizationId: row.organizationId }),
    version: row.version,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}
