/** The segment: named conditions that the rules of the same tenant can refer to. */
import type { Entity, EntityInput, EntityPatch } from "./fields.ts";

/** The fields of a segment. */
export const SEGMENT_FIELDS = {
  /** UUID v7. */
  id: { kind: "id", column: "segmentId" },
  /** Unique within its organization, 1–128 characters of `A-Z a-z 0-9 _ -`. */
  key: { kind: "key", set: "create" },
  /** For people. */
  name: { kind: "name", optional: true },
  /** The users who belong to the segment. */
  conditions: { kind: "conditions" },
  /** The organization of the segment, where it has one. With `multiTenant` an input needs it; `""` is for all of them. */
  organizationId: { kind: "line", optional: true, set: "create" },
  /** Starts at 1 and increases with every change of the segment. */
  version: { kind: "version" },
  /** When the segment was created. */
  createdAt: { kind: "created" },
  /** When the segment was changed last. */
  updatedAt: { kind: "updated" },
} as const;

/** Conditions with a name, which rules of the same tenant can use. */
export type FlagSegment = Entity<typeof SEGMENT_FIELDS>;

/** The input that creates a segment. */
export type FlagSegmentInput = EntityInput<typeof SEGMENT_FIELDS>;

/** The input that updates a segment. An absent field keeps its value; `null` clears an optional field. */
export interface FlagSegmentPatch extends EntityPatch<typeof SEGMENT_FIELDS> {}
