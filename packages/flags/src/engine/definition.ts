/** What evaluation knows: a flag with its rules, the segments they may name, and who is asking. */
import type { JsonObject, JsonValue } from "./json.ts";

export type FlagType = "boolean" | "string" | "number" | "json";

export type ConditionOperator =
  | "equals"
  | "not_equals"
  | "contains"
  | "not_contains"
  | "starts_with"
  | "ends_with"
  | "in"
  | "not_in"
  | "greater_than"
  | "less_than"
  | "greater_than_or_equal"
  | "less_than_or_equal"
  | "regex";

/** Compares one attribute of the context, found by its dotted path, with a value. */
export type SimpleCondition = {
  readonly attribute: string;
  readonly operator: ConditionOperator;
  readonly value: JsonValue;
};

/** Holds where the conditions of the tenant's segment with this key hold. */
export type SegmentCondition = { readonly segment: string };

/** A group: all of its conditions (`AND`, the default) or any of them (`OR`), and besides not those of `not`. */
export type RuleConditions = {
  readonly operator?: "AND" | "OR";
  readonly conditions: readonly (SimpleCondition | SegmentCondition | RuleConditions)[];
  readonly not?: RuleConditions;
};

export type Variant = {
  readonly key: string;
  /** The weights of a flag's variants sum to 100. */
  readonly weight: number;
  readonly value: JsonValue;
  /** Given back by evaluation as `metadata.variant`. */
  readonly metadata?: JsonObject;
};

/** What a flag does differently in one environment. */
export type EnvironmentSettings = {
  readonly enabled?: boolean;
  readonly rolloutPercentage?: number;
  readonly defaultValue?: JsonValue;
};

/** What the hash of an evaluation is taken of: a field of the context, or an attribute. */
export type BucketBy = "userId" | "organizationId" | "anonymousId" | `attributes.${string}`;

/** What evaluation needs to know of a rule. */
export interface RuleDefinition {
  readonly id: string;
  readonly enabled: boolean;
  readonly conditions: RuleConditions;
  /** A rule has a value, or names a variant, or both. */
  readonly value?: JsonValue;
  readonly variant?: string;
  /** The rule matches only this share, 0–100. */
  readonly percentage?: number;
  /** Part of the hash that decides `percentage`; stored when the rule is made. */
  readonly salt: string;
}

/** What evaluation needs to know of a flag. */
export interface FlagDefinition {
  readonly key: string;
  readonly type: FlagType;
  readonly enabled: boolean;
  /** Absent: the empty value of the flag's type. */
  readonly defaultValue?: JsonValue;
  readonly rolloutPercentage?: number;
  readonly variants?: readonly Variant[];
  readonly environments?: Readonly<Record<string, EnvironmentSettings>>;
  /** Takes the place of `key` in what is hashed. */
  readonly salt?: string;
  /** `userId` when absent. */
  readonly bucketBy?: BucketBy;
  /** In the order in which they are tried. */
  readonly rules: readonly RuleDefinition[];
}

/** A value set for one user, which goes before the rules. Whether it has expired is the caller's to know. */
export interface OverrideDefinition {
  readonly value: JsonValue;
  readonly variant?: string;
}

/** The conditions of the tenant's segments by their keys. */
export type Segments = ReadonlyMap<string, RuleConditions>;

export type DeviceInfo = {
  readonly type?: "desktop" | "mobile" | "tablet" | "bot" | "unknown";
  readonly os?: string;
  readonly browser?: string;
  readonly model?: string;
};

export type GeoInfo = {
  readonly country?: string;
  readonly region?: string;
  readonly city?: string;
  readonly timezone?: string;
};

/** Who or what a flag is evaluated for. */
export type EvaluationContext = {
  readonly userId?: string;
  readonly email?: string;
  readonly role?: string;
  readonly organizationId?: string;
  readonly anonymousId?: string;
  readonly environment?: string;
  readonly device?: DeviceInfo;
  readonly geo?: GeoInfo;
  readonly attributes?: JsonObject;
};

/** Why an evaluation gave the value it gave. */
export type EvaluationReason =
  | "rule_match"
  | "override"
  | "percentage_rollout"
  | "default"
  | "disabled"
  | "not_found";

export interface Evaluation {
  readonly value: JsonValue;
  /** Absent, not undefined, when there is none. */
  readonly variant?: string;
  readonly reason: EvaluationReason;
  /** The chosen variant's own metadata. */
  readonly variantMetadata?: JsonObject;
}
