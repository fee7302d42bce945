/** The input and output of an evaluation: flag definitions, rules, conditions, segments, contexts and results. */
import type { JsonObject, JsonValue } from "./json.ts";
import type { ConditionOperator } from "./operators.ts";

export type { ConditionOperator } from "./operators.ts";

export type FlagType = "boolean" | "string" | "number" | "json";

/** Compares one attribute of the context, given by its dotted path, with an operand. */
export type SimpleCondition = {
  readonly attribute: string;
  readonly operator: ConditionOperator;
  readonly value: JsonValue;
};

/** Holds when the conditions of the tenant's segment with this key hold. */
export type SegmentCondition = { readonly segment: string };

/** A group holds when all (`AND`, the default) or any (`OR`) of its conditions hold and `not` does not. */
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
  /** Returned by an evaluation as `metadata.variant`. */
  readonly metadata?: JsonObject;
};

/** The settings of a flag that replace the flag's own in one environment. */
export type EnvironmentSettings = {
  readonly enabled?: boolean;
  readonly rolloutPercentage?: number;
  readonly defaultValue?: JsonValue;
};

/** Where the bucketing id comes from: a field of the context, or an attribute. */
export type BucketBy = "userId" | "organizationId" | "anonymousId" | `attributes.${string}`;

/** A rule, as evaluation needs it. */
export interface RuleDefinition {
  readonly id: string;
  readonly enabled: boolean;
  readonly conditions: RuleConditions;
  /** A rule has a value, a variant, or both. */
  readonly value?: JsonValue;
  readonly variant?: string;
  /** The percentage of matching users to whom the rule applies, 0–100. */
  readonly percentage?: number;
  /** Part of the hash input for `percentage`. Stored when the rule is created. */
  readonly salt: string;
}

/** A flag, as evaluation needs it. */
export interface FlagDefinition {
  readonly key: string;
  readonly type: FlagType;
  readonly enabled: boolean;
  /** When absent: `false`, `""`, `0` or `null`, by type. */
  readonly defaultValue?: JsonValue;
  readonly rolloutPercentage?: number;
  readonly variants?: readonly Variant[];
  readonly environments?: Readonly<Record<string, EnvironmentSettings>>;
  /** Replaces `key` in the hash input. */
  readonly salt?: string;
  /** Default `userId`. */
  readonly bucketBy?: BucketBy;
  /** In the order of evaluation. */
  readonly rules: readonly RuleDefinition[];
}

/** A value for one user, which takes precedence over the rules. The caller passes only overrides that have not expired. */
export interface OverrideDefinition {
  readonly value: JsonValue;
  readonly variant?: string;
}

/** The conditions of the tenant's segments, by segment key. */
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

/** The user, device and attributes that a flag is evaluated for. */
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

/** Why an evaluation returned its value. */
export type EvaluationReason =
  | "rule_match"
  | "override"
  | "percentage_rollout"
  | "default"
  | "disabled"
  | "not_found";

export interface Evaluation {
  readonly value: JsonValue;
  /** The property is absent, not undefined, when there is no variant. */
  readonly variant?: string;
  readonly reason: EvaluationReason;
  /** The chosen variant's own metadata. */
  readonly variantMetadata?: JsonObject;
}
