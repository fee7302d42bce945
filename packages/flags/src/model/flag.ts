/** The flag as the service keeps it and returns it. */
import type { BucketBy, EnvironmentSettings, FlagType, Variant } from "../engine/definition.ts";
import type { JsonObject, JsonValue } from "../engine/json.ts";
import type { FlagSummary } from "./stats.ts";

/** Whether browsers may see a flag (`public`), or only server code and keys (`server`). */
export type FlagVisibility = "public" | "server";

export type FeatureFlag = {
  readonly id: string;
  /** Unique within its organization, 1–128 characters of `A-Z a-z 0-9 _ -`. */
  readonly key: string;
  readonly name: string;
  readonly description?: string;
  readonly type: FlagType;
  /** While false, evaluation gives `defaultValue` with reason `disabled`. */
  readonly enabled: boolean;
  /** Absent: `false`, `""`, `0` or `null`, by type. */
  readonly defaultValue?: JsonValue;
  /** A whole number from 0 to 100. */
  readonly rolloutPercentage?: number;
  /** The tenant where `multiTenant` is on, a label where it is off. */
  readonly organizationId?: string;
  readonly variants?: readonly Variant[];
  readonly environments?: Readonly<Record<string, EnvironmentSettings>>;
  /** Takes the place of `key` in bucketing, so that a renamed flag keeps its users where they are. */
  readonly salt?: string;
  readonly bucketBy?: BucketBy;
  readonly visibility: FlagVisibility;
  /** The bucketing algorithm the flag was made with. */
  readonly algo: 1;
  /** Free-form notes for people and tools; evaluation neither reads nor returns them. */
  readonly metadata?: JsonObject;
  /** Counts the changes to this flag, from 1. */
  readonly version: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
};

/** A flag of a list; `stats` where it was asked for. */
export type ListedFeatureFlag = FeatureFlag & { readonly stats?: FlagSummary };

/** The tenant of flags that belong to no organization. */
export const NO_TENANT: string = "";

export const FLAG_TYPES: readonly FlagType[] = ["boolean", "string", "number", "json"];

export function isFlagType(value: unknown): value is FlagType {
  return FLAG_TYPES.some((type) => type === value);
}

/** Whether a JSON value may be a value of a flag of this type. */
export function fitsType(type: FlagType, value: JsonValue): boolean {
  return type === "json" || typeof value === type;
}

/** What a new flag may be given. */
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
  /** Required where `multiTenant` is on; `""` makes a flag for all organizations. */
  organizationId?: string | undefined;
  /** Their weights sum to 100. */
  variants?: readonly Variant[] | undefined;
  environments?: Readonly<Record<string, EnvironmentSettings>> | undefined;
  salt?: string | undefined;
  bucketBy?: BucketBy | undefined;
  visibility?: FlagVisibility | undefined;
  metadata?: JsonObject | undefined;
};

/** What a change of a flag may hold; an absent field stays as it is, `null` clears an optional one. */
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
