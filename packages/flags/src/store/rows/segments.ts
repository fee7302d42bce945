/** Converts segments to rows and back, and reads and writes those rows. */
import type { RuleConditions, Segments } from "../../engine/definition.ts";
import {
  type FlagSegment,
  type FlagSegmentInput,
  type FlagSegmentPatch,
  SEGMENT_FIELDS,
} from "../../model/segment.ts";
import type { SegmentRow } from "../../model/tables.ts";
import { conflict, notFound, overtaken } from "./entity.ts";
import { type Mapping, mappingOf } from "./mapping.ts";
import { type Adapter, findRow, findRows, replaceRow, where } from "./queries.ts";

export const SEGMENT_MODEL = "featureFlagSegment";

const SEGMENTS: Mapping<typeof SEGMENT_FIELDS> = mappingOf(SEGMENT_FIELDS);

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
  // An empty id means no organization.
  return SEGMENTS.create({ ...input, organizationId: input.organizationId || undefined }, at, { id });
}

export function patchSegment(segment: FlagSegment, patch: FlagSegmentPatch, at: Date): FlagSegment {
  return SEGMENTS.patch(segment, patch, at);
}

export async function insertSegment(tx: Adapter, tenant: string, segment: FlagSegment): Promise<void> {
  await tx.create<SegmentRow>({ model: SEGMENT_MODEL, data: { tenant, ...SEGMENTS.toColumns(segment) } });
}

export async function replaceSegment(tx: Adapter, tenant: string, segment: FlagSegment): Promise<void> {
  const match = { segmentId: segment.id, tenant };
  if (!(await replaceRow(tx, SEGMENT_MODEL, match, SEGMENTS.toColumns(segment)))) throw overtaken("segment");
}

export async function removeSegment(tx: Adapter, tenant: string, segmentId: string): Promise<void> {
  await tx.delete<SegmentRow>({ model: SEGMENT_MODEL, where: where({ segmentId, tenant }) });
}

/** Decodes a segment from the audit log. */
export function reviveSegment(text: string | null): FlagSegment {
  return SEGMENTS.revive(text);
}

export function toSegment(row: SegmentRow): FlagSegment {
  return SEGMENTS.toEntity(row);
}
