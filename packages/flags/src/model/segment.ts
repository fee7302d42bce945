/** The segment: named conditions that the rules of the same tenant can refer to. */
import type { RuleConditions } from "../engine/definition.ts";

export type FlagSegment = {
  readonly id: string;
  /** Unique within its organization, 1–128 characters of `A-Z a-z 0-9 _ -`. */
  readonly key: string;
  readonly name?: string;
  readonly conditions: RuleConditions;
  readonly organizationId?: string;
  /** Starts at 1 and increases with every change of the segment. */
  readonly version: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
};

/** The input that creates a segment. */
export type FlagSegmentInput = {
  key: string;
  name?: string | undefined;
  conditions: RuleConditions;
  /** Required when `multiTenant` is on; `""` creates a segment for the flags of all organizations. */
  organizationId?: string | undefined;
};

/** The input that updates a segment. An absent field keeps its value. */
export type FlagSegmentPatch = {
  name?: string | null | undefined;
  conditions?: RuleConditions | undefined;
};
