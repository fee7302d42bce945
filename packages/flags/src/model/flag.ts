/** The feature flag: its stored form, and the inputs that create and update it. */
import type { BucketBy, EnvironmentSettings, FlagType, Variant } from "../engine/definition.ts";
import type { JsonObject, JsonValue } from "../engine/json.ts";
import type { FlagSummary } from "./stats.ts";

/** `public`: browsers may evaluate the flag. `server`: only server code and API keys may. */
export type FlagVisibility = "public" | "server";

export type FeatureFlag = {
  readonly id: string;
  /** Unique within its organization, 1–128 characters of `A-Z a-z 0-9 _ -`. */
  readonly key: string;
  readonly name: string;
  readonly description?: string;
  readonly type: FlagType;
  /** While false, evaluation returns `defaultValue` with the reason `disabled`. */
  readonly enabled: boolean;
  /** Absent: `false`, `""`, `0` or `null`, by type. */
  readonly defaultValue?: JsonValue;
  /** A whole number from 0 to 100. */
  readonly rolloutPercentage?: number;
  /** The tenant when `multiTenant` is on; only a label when it is off. */
  readonly organizationId?: string;
  readonly variants?: readonly Variant[];
  readonly environments?: Readonly<Record<string, EnvironmentSettings>>;
  /** Replaces `key` in bucketing, so that a renamed flag keeps its users in their buckets. */
  readonly salt?: string;
  readonly bucketBy?: BucketBy;
  readonly visibility: FlagVisibility;
  /** The version of the bucketing algorithm. */
  readonly algo: 1;
  /** Free-form notes for people and tools; evaluation neither reads nor returns them. */
  readonly metadata?: JsonObject;
  /** Starts at 1 and increases with every change of the flag. */
  readonly version: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
};

/** A flag in a list, with `stats` when requested. */
export type ListedFeatureFlag = FeatureFlag & { readonly stats?: FlagSummary };

/** The tenant of flags without an organization. */
export const NO_TENANT: string = "";

export const FLAG_TYPES: readonly FlagType[] = ["boolean", "string", "number", "json"];

export function isFlagType(value: unknown): value is FlagType {
  return FLAG_TYPES.some((type) => type === value);
}

/** Whether a flag of this type may have the value. */
export function fitsType(type: FlagType, value: JsonValue): boolean {
  return type === "json" || typeof value === type;
}

/** The input that creates a flag. */
export type CreateFeatureFlagInput = {
  /** 1–128 characters of `A-Z a-z 0-9 _ -`. */
  key: string;
  name: string;
  description?: string | undefined;
  type: FlagType;
  /** Defaults to `false`. */
  enabled?: boolean | undefined;
  /** Must fit `type`. Absent: `false`, `""`, `0` or `null`, by type. */
  defaultValue?: JsonValue | undefined;
  /** A whole number from 0 to 100. */
  rolloutPercentage?: number | undefined;
  /** Required when `multiTenant` is on; `""` creates a flag for all organizations. */
  organizationId?: string | undefined;
  /** Their weights sum to 100. */
  variants?: readonly Variant[] | undefined;
  environments?: Readonly<Record<string, EnvironmentSettings>> | undefined;
  salt?: string | undefined;
  bucketBy?: BucketBy | undefined;
  visibility?: FlagVisibility | undefined;
  metadata?: JsonObject | undefined;
};

/** The input that updates a flag. An absent field keeps its value; `null` clears an optional field. */
export type FeatureFlagPatch = {
  key?: string | undefined;
  name?: string | undefined;
  description?: string | null | undefined;
  type?: FlagType | undefined;
  enabled?: boolean | undefined;
  /** Where `type` is `json`, `null` is a value like any other. */
  defaultValue?: JsonValue | undefined;
  rolloutPercentage?: number | null | undefined;
  variants?: readonly Variant[] | null | undefined;
  environments?: Readonly<Record<string, EnvironmentSettings>> | null | undefined;
  salt?: string | null | undefined;
  bucketBy?: BucketBy | null | undefined;
  visibility?: FlagVisibility | undefined;
  metadata?: JsonObject | null | undefined;
};
