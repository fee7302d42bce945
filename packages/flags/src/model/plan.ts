/** A plan: what changes of flags would do to the application's own users, before they are made. */
import type { JsonValue } from "../engine/json.ts";
import type { AuditAction } from "./audit.ts";
import type { FeatureFlag, FeatureFlagPatch } from "./flag.ts";
import type { FlagOverrideInput } from "./override.ts";
import type { FlagRuleInput, FlagRulePatch } from "./rule.ts";
import type { FlagSegmentPatch } from "./segment.ts";
import type { WithWarnings } from "./warning.ts";

/** The rules of a flag that a plan adds, changes and deletes. */
export type PlannedRules = {
  /** New rules. Without a `salt`, each gets one when it is planned. */
  create?: readonly FlagRuleInput[] | undefined;
  /** Changes of rules, also of their order and their switches. With `version`, a rule that has another one is 409. */
  update?: readonly { id: string; version?: number | undefined; fields: FlagRulePatch }[] | undefined;
  /** Ids of rules that are deleted. */
  delete?: readonly (string | { id: string; version?: number | undefined })[] | undefined;
};

/** The overrides of a flag that a plan adds and deletes. */
export type PlannedOverrides = {
  /** New overrides, of different users. */
  create?: readonly Omit<FlagOverrideInput, "flagId">[] | undefined;
  /** Ids of overrides that are deleted. */
  delete?: readonly string[] | undefined;
};

/** The change of a flag, named by its key or its id, with its rules and its overrides. */
export type PlannedFlagChange = (
  | { /** The key of the flag. */ flagKey: string; flagId?: undefined }
  | { /** The id of the flag. */ flagId: string; flagKey?: undefined }
) & {
  /** The version of the flag that the caller has seen. Another one is 409. */
  version?: number | undefined;
  /** The fields that change, as `updateFeatureFlag` takes them. */
  fields?: FeatureFlagPatch | undefined;
  /** What happens to its rules. */
  rules?: PlannedRules | undefined;
  /** What happens to its overrides. */
  overrides?: PlannedOverrides | undefined;
};

/** The change of a segment, named by its key or its id. */
export type PlannedSegmentChange = (
  | { /** The key of the segment. */ segmentKey: string; segmentId?: undefined }
  | { /** The id of the segment. */ segmentId: string; segmentKey?: undefined }
) & {
  /** The version of the segment that the caller has seen. Another one is 409. */
  version?: number | undefined;
  /** The fields that change, as `updateFeatureFlagSegment` takes them. */
  fields: FlagSegmentPatch;
};

/** A change of one flag or one segment. */
export type PlannedChange = PlannedFlagChange | PlannedSegmentChange;

/** The input of `planFeatureFlags`. It has either `changes` or `revert`. */
export type PlanFeatureFlagsInput = {
  /** 1 to 100 changes of different flags and segments of one organization. */
  changes?: readonly PlannedChange[] | undefined;
  /** Plans the revert of one change of the audit log. Needs `audit`, and what the revert needs. */
  revert?: { changeId: string } | undefined;
  /** The environment in which users are evaluated. Default: `environments.default`. */
  environment?: string | undefined;
  /** Evaluates users in each of these environments instead, at most 10. */
  environments?: readonly string[] | undefined;
  /**
   * Stores nothing, so the result cannot be applied. One preview at a time runs for each caller: a newer one ends the
   * older with 409 and `details.superseded`.
   */
  preview?: boolean | undefined;
};

/** How many users go from one value to another. */
export type ValueMove = { readonly from: JsonValue; readonly to: JsonValue; readonly count: number };

/** A user whose value would change. */
export type MovedUser = {
  /** The id of the user. */
  readonly userId: string;
  /** Only for callers with `evaluate-as`. */
  readonly name?: string;
  /** Only for callers with `evaluate-as`. */
  readonly email?: string;
  /** The value now. */
  readonly from: JsonValue;
  /** The value after the change. */
  readonly to: JsonValue;
};

/** How many of the evaluated users one rule decides. */
export type RuleImpact = {
  /** Absent for those whom no rule, no override and no switch decides: by rollout, variants or the default. */
  readonly ruleId?: string;
  /** The place in the order after the change, from 0. */
  readonly index: number;
  /** Users whom it decides now. */
  readonly before: number;
  /** Users whom it would decide. */
  readonly after: number;
  /** Those of `after` whose value changes. */
  readonly moved: number;
};

/** What the changes do to the users that were evaluated, for one flag in one environment. */
export type FlagImpact = {
  /** The id of the flag. */
  readonly flagId: string;
  /** The key of the flag. */
  readonly flagKey: string;
  /** The environment in which the users were evaluated, if one is known. */
  readonly environment?: string;
  /** The version of the flag that was planned from. */
  readonly version: number;
  /** The users whose value changes, most frequent move first. At most 100 moves. */
  readonly moves: readonly ValueMove[];
  /** Users of all moves, including those beyond the first 100 moves. */
  readonly moved: number;
  /** Users who keep their value. */
  readonly unchanged: number;
  /** Users whose value depends on what they claim or on their session: attributes, device, geo, anonymous id. */
  readonly unknown: number;
  /** How many of the moved users are online now. 0 while `onlineSource` is `none`. */
  readonly online: number;
  /** At most 20 of the moved users. */
  readonly examples: readonly MovedUser[];
  /** The rules after the change, in their order, then everyone else. */
  readonly rules: readonly RuleImpact[];
  /** The flag does not exist after the change. Its users go to `null`. */
  readonly removed?: true;
  /** The flag does not exist before the change. Its users come from `null`. */
  readonly created?: true;
  /** The organization's flag is not evaluated, because a global flag has its key. No user changes. */
  readonly ignored?: true;
};

/** The users of a plan. */
export type PlannedUsers = {
  /** Users of the application, or members of the organization. */
  readonly total: number;
  /** How many of them were evaluated. */
  readonly evaluated: number;
  /** Not all were evaluated, because there are more than 100,000 or 2 s were over: the counts are of a sample. */
  readonly sampled: boolean;
};

/** What changes would do. */
export type FeatureFlagPreview = {
  /** The organization of the flags, if they have one. */
  readonly organizationId?: string;
  /** The environment in which users were evaluated, if it is only one. */
  readonly environment?: string;
  /** How many users there are, and how many were evaluated. */
  readonly users: PlannedUsers;
  /** `none`: it is unknown who is online, because nothing reports it. */
  readonly onlineSource: "live" | "none";
  /** The flags of the input in its order, then those that a segment reaches. For each, one entry per environment. */
  readonly changes: readonly FlagImpact[];
};

/** What changes would do, and the id with which they are made. */
export type FeatureFlagPlan = FeatureFlagPreview & {
  /** For `applyFeatureFlagPlan`. */
  readonly id: string;
  /** ISO 8601. A plan can be applied for 7 days. */
  readonly expiresAt: string;
};

/** A field of a plan that has another value than when it was planned. In `details.conflicts` of a 409. */
export type PlanConflict = {
  /** The key of the flag. */
  readonly flagKey?: string;
  /** The key of the segment. */
  readonly segmentKey?: string;
  /** The rule of the flag, if the field is one of a rule. */
  readonly ruleId?: string;
  /** The user whose override of the flag differs. The field is then `value`. */
  readonly userId?: string;
  /** The name of the field. Of the settings of an environment: `environments.staging.enabled`. */
  readonly field: string;
  /** The value when it was planned. `null` if there was none. */
  readonly base: JsonValue;
  /** The value now. `null` if there is none. */
  readonly theirs: JsonValue;
  /** The value of the plan. `null` if it removes it. */
  readonly yours: JsonValue;
};

/** What applying a plan did. */
export type AppliedFeatureFlagPlan = {
  /** Of the change in the audit log: the id of the plan. */
  readonly changeId: string;
  /** The flags of the plan after it, in its order. */
  readonly flags: readonly WithWarnings<FeatureFlag>[];
};

/** What reverting a change did. */
export type RevertedFeatureFlagChange = AppliedFeatureFlagPlan & {
  /** Overrides of deleted flags that the log did not keep, or that have expired since. Absent if there are none. */
  readonly missingOverrides?: number;
};

/** What a revert did. */
export type RevertedAuditEntry = {
  /** The id of the entry that was reverted. */
  readonly id: string;
  /** The action of the new entry, such as `flag.updated`. */
  readonly action: AuditAction;
  /** The id of the flag. Empty for a segment. */
  readonly flagId: string;
  /** The id of the flag, rule, override or segment that was changed back. */
  readonly entityId: string;
  /** Overrides of a deleted flag that the log did not keep, or that have expired since. Absent if there are none. */
  readonly missingOverrides?: number;
};
