/** A plan: what changes of flags would do to the application's own users, before they are made. */
import type { JsonValue } from "../engine/json.ts";
import type { AuditAction } from "./audit.ts";
import type { FeatureFlag, FeatureFlagPatch } from "./flag.ts";
import type { WithWarnings } from "./warning.ts";

/** One change: the flag by its key or its id, and the fields as `updateFeatureFlag` takes them. */
export type PlannedChange = (
  | { /** The key of the flag. */ flagKey: string; flagId?: undefined }
  | { /** The id of the flag. */ flagId: string; flagKey?: undefined }
) & {
  /** The fields that change. */
  fields: FeatureFlagPatch;
};

/** The input of `planFeatureFlags`. */
export type PlanFeatureFlagsInput = {
  /** 1 to 20 changes of different flags of one organization. */
  changes: readonly PlannedChange[];
  /** The environment in which users are evaluated. Default: `environments.default`. */
  environment?: string | undefined;
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

/** What one change does to the users that were evaluated. */
export type FlagImpact = {
  /** The id of the flag. */
  readonly flagId: string;
  /** The key of the flag. */
  readonly flagKey: string;
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

/** What changes would do, and the id with which they are made. */
export type FeatureFlagPlan = {
  /** For `applyFeatureFlagPlan`. */
  readonly id: string;
  /** ISO 8601. A plan can be applied for one hour. */
  readonly expiresAt: string;
  /** The organization of the flags, if they have one. */
  readonly organizationId?: string;
  /** The environment in which users were evaluated. */
  readonly environment?: string;
  /** How many users there are, and how many were evaluated. */
  readonly users: PlannedUsers;
  /** `none`: it is unknown who is online, because nothing reports it. */
  readonly onlineSource: "live" | "none";
  /** In the order of the input. */
  readonly changes: readonly FlagImpact[];
};

/** The flags after a plan was applied, in its order. */
export type AppliedFeatureFlagPlan = { readonly flags: readonly WithWarnings<FeatureFlag>[] };

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
