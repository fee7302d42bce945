/** The segment: named conditions that the rules of the same tenant can refer to. */
import type { RuleConditions } from "../engine/definition.ts";

/** Conditions with a name, which rules of the same tenant can use. */
export type FlagSegment = {
  /** UUID v7. */
  readonly id: string;
  /** Unique within its organization, 1–128 characters of `A-Z a-z 0-9 _ -`. */
  readonly key: string;
  /** For people. */
  readonly name?: string;
  /** The users who belong to the segment. */
  readonly conditions: RuleConditions;
  /** The organization of the segment, where it has one. */
  readonly organizationId?: string;
  /** Starts at 1 and increases with every change of the segment. */
  readonly version: number;
  /** When the segment was created. */
  readonly createdAt: Date;
  /** When the segment was changed last. */
  readonly updatedAt: Date;
};

/** The input that creates a segment. */
export type FlagSegmentInput = {
  /** 1–128 characters of `A-Z a-z 0-9 _ -`. */
  key: string;
  /** For people. */
  name?: string | undefined;
  /** The users who belong to the segment. */
  conditions: RuleConditions;
  /** Required when `multiTenant` is on; `""` creates a segment for the flags of all organizations. */
  organizationId?: string | undefined;
};

/** The input that updates a segment. An absent field keeps its value. */
export type FlagSegmentPatch = {
  /** For people; `null` clears it. */
  name?: string | null | undefined;
  /** The users who belong to the segment. */
  conditions?: RuleConditions | undefined;
};
