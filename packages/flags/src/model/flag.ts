/** The feature flag: its stored form, and the inputs that create and update it. */
import type { BucketBy, EnvironmentSettings, FlagType, Variant } from "../engine/definition.ts";
import type { JsonObject, JsonValue } from "../engine/json.ts";
import type { FlagSummary } from "./stats.ts";

/** `public`: browsers may evaluate the flag. `server`: only server code and API keys may. */
export type FlagVisibility = "public" | "server";

/** A flag as it is stored. */
export type FeatureFlag = {
  /** UUID v7. */
  readonly id: string;
  /** Unique within its organization, 1–128 characters of `A-Z a-z 0-9 _ -`. */
  readonly key: string;
  /** For people; evaluation does not read it. */
  readonly name: string;
  /** For people; evaluation does not read it. */
  readonly description?: string;
  /** The type of all values of the flag. */
  readonly type: FlagType;
  /** While false, evaluation returns `offValue`, else `defaultValue`, with the reason `disabled`. */
  readonly enabled: boolean;
  /** Absent: `false`, `""`, `0` or `null`, by type. */
  readonly defaultValue?: JsonValue;
  /** The value while the flag is disabled. Absent: `defaultValue`. */
  readonly offValue?: JsonValue;
  /** A whole number from 0 to 100. */
  readonly rolloutPercentage?: number;
  /** The tenant when `multiTenant` is on; only a label when it is off. */
  readonly organizationId?: string;
  /** Values that users get by chance. Their weights sum to 100. */
  readonly variants?: readonly Variant[];
  /** Settings that replace the flag's own, by environment. */
  readonly environments?: Readonly<Record<string, EnvironmentSettings>>;
  /** Replaces `key` in bucketing, so that a renamed flag keeps its users in their buckets. */
  readonly salt?: string;
  /** Whose id decides rollout and variant. Default `userId`. */
  readonly bucketBy?: BucketBy;
  /** Whether browsers may evaluate the flag. */
  readonly visibility: FlagVisibility;
  /**
   * With `multiTenant`, on a global flag: organizations may have a flag of their own with this key, which takes precedence
   * for them. Default `false`: the key belongs to the global flag.
   */
  readonly tenantOverridable?: boolean;
  /** The version of the bucketing algorithm. */
  readonly algo: 1;
  /** Free-form notes for people and tools; evaluation neither reads nor returns them. */
  readonly metadata?: JsonObject;
  /** Starts at 1 and increases with every change of the flag. */
  readonly version: number;
  /** When the flag was created. */
  readonly createdAt: Date;
  /** When the flag was changed last. */
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

/** Whether organizations may replace this global flag with one of their own. */
export function isReplaceable({ visibility, tenantOverridable }: ReplaceableFields): boolean {
  return tenantOverridable === true && visibility === "public";
}

/** Of a flag or of its row. */
type ReplaceableFields = {
  readonly visibility: string;
  readonly tenantOverridable?: boolean | null;
};

/** The fields of a new flag, before its values are known to fit its type. */
export type FlagDraft = {
  /** 1–128 characters of `A-Z a-z 0-9 _ -`. */
  key: string;
  name: string;
  description?: string | undefined;
  type: FlagType;
  /** Defaults to `false`. */
  enabled?: boolean | undefined;
  /** Must fit `type`. Absent: `false`, `""`, `0` or `null`, by type. */
  defaultValue?: JsonValue | undefined;
  /** The value while the flag is disabled; must fit `type`. Absent: `defaultValue`. */
  offValue?: JsonValue | undefined;
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
  /** With `multiTenant`, for global flags: organizations may replace the flag by one of their own. Default `false`. */
  tenantOverridable?: boolean | undefined;
  metadata?: JsonObject | undefined;
};

/** The values of each type of flag. */
type ValueOfType = { boolean: boolean; string: string; number: number; json: JsonValue };

/** The input that creates a flag. `defaultValue` and `offValue` must fit `type`. */
export type CreateFeatureFlagInput = {
  [Type in FlagType]: Omit<FlagDraft, "type" | "defaultValue" | "offValue"> & {
    /** The type of all values of the flag. */
    type: Type;
    /** Absent: `false`, `""`, `0` or `null`, by type. */
    defaultValue?: ValueOfType[Type] | undefined;
    /** The value while the flag is disabled. Absent: `defaultValue`. */
    offValue?: ValueOfType[Type] | undefined;
  };
}[FlagType];

/** The input that updates a flag. An absent field keeps its value; `null` clears an optional field. */
export type FeatureFlagPatch = {
  /** 1–128 characters of `A-Z a-z 0-9 _ -`. Without a `salt`, another key moves users to other buckets. */
  key?: string | undefined;
  /** For people; evaluation does not read it. */
  name?: string | undefined;
  /** For people; evaluation does not read it. */
  description?: string | null | undefined;
  /** Refused unless every stored value fits it. */
  type?: FlagType | undefined;
  /** Whether the flag is on. */
  enabled?: boolean | undefined;
  /** Where `type` is `json`, `null` is a value like any other. */
  defaultValue?: JsonValue | undefined;
  /** As `defaultValue`: `null` clears it, except where `type` is `json`. */
  offValue?: JsonValue | undefined;
  /** A whole number from 0 to 100. */
  rolloutPercentage?: number | null | undefined;
  /** Their weights sum to 100. */
  variants?: readonly Variant[] | null | undefined;
  /** All settings by environment; a name that is not given is removed. */
  environments?: Readonly<Record<string, EnvironmentSettings>> | null | undefined;
  /** Replaces `key` in bucketing. */
  salt?: string | null | undefined;
  /** Whose id decides rollout and variant. */
  bucketBy?: BucketBy | null | undefined;
  /** Whether browsers may evaluate the flag. */
  visibility?: FlagVisibility | undefined;
  /** Only for global flags, with `multiTenant`. */
  tenantOverridable?: boolean | undefined;
  /** Free-form notes for people and tools. */
  metadata?: JsonObject | null | undefined;
};
