/** The feature flag: its stored form, and the inputs that create and update it. */
import type { FlagType } from "../engine/definition.ts";
import type { JsonValue } from "../engine/json.ts";
import type { Entity, EntityInput, EntityPatch } from "./fields.ts";
import type { FlagSummary } from "./stats.ts";

export type { FlagVisibility } from "./fields.ts";

/** The fields of a flag. */
export const FLAG_FIELDS = {
  /** UUID v7. */
  id: { kind: "id", column: "flagId" },
  /** Unique within its organization, 1–128 characters of `A-Z a-z 0-9 _ -`. Without a `salt`, another key moves users to other buckets. */
  key: { kind: "key" },
  /** For people; evaluation does not read it. */
  name: { kind: "name" },
  /** For people; evaluation does not read it. */
  description: { kind: "text", optional: true },
  /** The type of all values of the flag. */
  type: { kind: "type" },
  /** While false, evaluation returns `offValue`, else `defaultValue`, with the reason `disabled`. Default `false`. */
  enabled: { kind: "boolean", default: false },
  /** Must fit `type`. Absent: `false`, `""`, `0` or `null`, by type. */
  defaultValue: { kind: "json", optional: true },
  /** The value while the flag is disabled; must fit `type`. Absent: `defaultValue`. */
  offValue: { kind: "json", optional: true },
  /** A whole number from 0 to 100. */
  rolloutPercentage: { kind: "wholePercentage", optional: true },
  /** The tenant when `multiTenant` is on, `""` for all organizations; only a label when it is off. */
  organizationId: { kind: "line", optional: true, set: "create" },
  /** Values that users get by chance. Their weights sum to 100. */
  variants: { kind: "variants", optional: true },
  /** Settings that replace the flag's own, by environment. A change is a JSON merge patch of them. */
  environments: { kind: "environments", optional: true },
  /** Replaces `key` in bucketing, so that a renamed flag keeps its users in their buckets. */
  salt: { kind: "name", optional: true },
  /** Whose id decides rollout and variant. Default `userId`. */
  bucketBy: { kind: "bucketBy", optional: true },
  /** Whether browsers may evaluate the flag. */
  visibility: { kind: "visibility", default: "public" },
  /**
   * With `multiTenant`, on a global flag: organizations may have a flag of their own with this key, which takes precedence
   * for them. Default `false`: the key belongs to the global flag.
   */
  tenantOverridable: { kind: "boolean", optional: true, kept: true },
  /** The version of the bucketing algorithm. */
  algo: { kind: "algo" },
  /** Free-form notes for people and tools; evaluation neither reads nor returns them. */
  metadata: { kind: "object", optional: true },
  /** Starts at 1 and increases with every change of the flag. */
  version: { kind: "version" },
  /** When the flag was created. */
  createdAt: { kind: "created" },
  /** When the flag was changed last. */
  updatedAt: { kind: "updated" },
} as const;

/** A flag as it is stored. */
export type FeatureFlag = Entity<typeof FLAG_FIELDS>;

/** A flag in a list. With `include=stats` it has `stats`, and where the list is of one tenant, `ruleCount`. */
export type ListedFeatureFlag = FeatureFlag & {
  /** The last 24 hours. */
  readonly stats?: FlagSummary;
  /** Enabled rules that count in the environment of the option `environments.default`. */
  readonly ruleCount?: number;
};

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
export type FlagDraft = EntityInput<typeof FLAG_FIELDS>;

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
export interface FeatureFlagPatch extends EntityPatch<typeof FLAG_FIELDS> {}
