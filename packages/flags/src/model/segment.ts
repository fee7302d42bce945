/** The segment: conditions with a name, for any rule of the same tenant to use. */
import type { RuleConditions } from "../engine/definition.ts";

export type FlagSegment = {
  readonly id: string;
  /** Unique within its organization, 1–128 characters of `A-Z a-z 0-9 _ -`. */
  readonly key: string;
  readonly name?: string;
  readonly conditions: RuleConditions;
  readonly organizationId?: string;
  /** Counts the changes to this segment, from 1. */
  readonly version: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
};

/** What a new segment may be given. */
export type FlagSegmentInput = {
  key: string;
  name?: string | undefined;
  conditions: RuleConditions;
  /** Required where `multiTenant` is on; `""` makes a segment of the flags for all organizations. */
  organizationId?: string | undefined;
};

/** What a change of a segment may hold; an absent field stays as it is. */
export type FlagSegmentPatch = {
  name?: string | null | undefined;
  conditions?: RuleConditions | undefined;
};
