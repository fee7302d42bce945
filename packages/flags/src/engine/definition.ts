/** The input and output of an evaluation: flag definitions, rules, conditions, segments, contexts and results. */
import type { JsonObject, JsonValue } from "./json.ts";
import type { ConditionOperator } from "./operators.ts";

export type { ConditionOperator } from "./operators.ts";

/** The type of all values of a flag. */
export type FlagType = "boolean" | "string" | "number" | "json";

/** Compares one attribute of the context, given by its dotted path, with an operand. */
export type SimpleCondition = {
  /** The dotted path of the attribute, such as `email` or `attributes.plan`. */
  readonly attribute: string;
  /** How the attribute is compared. */
  readonly operator: ConditionOperator;
  /** The operand. */
  readonly value: JsonValue;
};

/** Holds when the conditions of the tenant's segment with this key hold. */
export type SegmentCondition = { readonly segment: string };

/** A group holds when all (`AND`, the default) or any (`OR`) of its conditions hold and `not` does not. */
export type RuleConditions = {
  /** Default `AND`. */
  readonly operator?: "AND" | "OR";
  /** Conditions, segments and nested groups. */
  readonly conditions: readonly (SimpleCondition | SegmentCondition | RuleConditions)[];
  /** A group that must not hold. */
  readonly not?: RuleConditions;
};

/** One of several values that users of a flag get by chance. */
export type Variant = {
  /** Returned by an evaluation as `variant`. */
  readonly key: string;
  /** The weights of a flag's variants sum to 100. */
  readonly weight: number;
  /** Must fit the type of the flag. */
  readonly value: JsonValue;
  /** Returned by an evaluation as `metadata.variant`. */
  readonly metadata?: JsonObject;
};

/** The settings of a flag that replace the flag's own in one environment. */
export type EnvironmentSettings = {
  /** Whether the flag is on in this environment. */
  readonly enabled?: boolean;
  /** A whole number from 0 to 100. */
  readonly rolloutPercentage?: number;
  /** Must fit the type of the flag. */
  readonly defaultValue?: JsonValue;
  /** The value while the flag is disabled in this environment. */
  readonly offValue?: JsonValue;
};

/** Where the bucketing id comes from: a field of the context, or an attribute. */
export type BucketBy = "userId" | "organizationId" | "anonymousId" | `attributes.${string}`;

/** A rule, as evaluation needs it. */
export interface RuleDefinition {
  /** Names the rule in explanations. */
  readonly id: string;
  /** A disabled rule is skipped. */
  readonly enabled: boolean;
  /** The users to whom the rule applies. */
  readonly conditions: RuleConditions;
  /** A rule has a value, a variant, or both. */
  readonly value?: JsonValue;
  /** One of the flag's variants. */
  readonly variant?: string;
  /** The percentage of matching users to whom the rule applies, 0–100. */
  readonly percentage?: number;
  /** The environments in which the rule counts. Absent: all, and evaluations without an environment. */
  readonly environments?: readonly string[];
  /** Part of the hash input for `percentage`. Stored when the rule is created. */
  readonly salt: string;
}

/** A flag, as evaluation needs it. */
export interface FlagDefinition {
  /** Part of the hash input, unless there is a `salt`. */
  readonly key: string;
  /** The type of all values. */
  readonly type: FlagType;
  /** A disabled flag evaluates no rules. */
  readonly enabled: boolean;
  /** When absent: `false`, `""`, `0` or `null`, by type. */
  readonly defaultValue?: JsonValue;
  /** The value while the flag is disabled. When absent: the default value. */
  readonly offValue?: JsonValue;
  /** A whole number from 0 to 100. */
  readonly rolloutPercentage?: number;
  /** Their weights sum to 100. */
  readonly variants?: readonly Variant[];
  /** Settings by environment. */
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
  /** The value for the user. */
  readonly value: JsonValue;
  /** One of the flag's variants. */
  readonly variant?: string;
}

/** The conditions of the tenant's segments, by segment key. */
export type Segments = ReadonlyMap<string, RuleConditions>;

/** The device of the user. */
export type DeviceInfo = {
  /** The kind of device. */
  readonly type?: "desktop" | "mobile" | "tablet" | "bot" | "unknown";
  /** The operating system. */
  readonly os?: string;
  /** The name of the browser. */
  readonly browser?: string;
  /** The model of the device. */
  readonly model?: string;
};

/** The place of the user. */
export type GeoInfo = {
  /** The country, such as `DE`. */
  readonly country?: string;
  /** The region within the country. */
  readonly region?: string;
  /** The city. */
  readonly city?: string;
  /** The time zone, such as `Europe/Berlin`. */
  readonly timezone?: string;
};

/** The user, device and attributes that a flag is evaluated for. */
export type EvaluationContext = {
  /** The id of the user. */
  readonly userId?: string;
  /** The user's email. */
  readonly email?: string;
  /** The user's role in the application. */
  readonly role?: string;
  /** The organization of the user. */
  readonly organizationId?: string;
  /** The id of an anonymous visitor. */
  readonly anonymousId?: string;
  /** The environment to evaluate in. */
  readonly environment?: string;
  /** The device of the user. */
  readonly device?: DeviceInfo;
  /** The place of the user. */
  readonly geo?: GeoInfo;
  /** Free attributes for rules. */
  readonly attributes?: JsonObject;
  /** Fields of the user's row. */
  readonly user?: JsonObject;
  /** Fields of the session's row. */
  readonly session?: JsonObject;
  /** Fields of the organization's row. */
  readonly organization?: JsonObject;
  /** What the application computed. */
  readonly trusted?: JsonObject;
  /** Roots whose values could not be read. The rules that read them are skipped. */
  readonly unreadable?: readonly TrustedRoot[];
};

/** The roots whose values come from the application, never from a caller without a permission. */
export type TrustedRoot = "user" | "session" | "organization" | "trusted";

/** Why an evaluation returned its value. */
export type EvaluationReason =
  | "rule_match"
  | "override"
  | "percentage_rollout"
  | "default"
  | "disabled"
  | "not_found";

/** The result of an evaluation. */
export interface Evaluation {
  /** The value for the user. */
  readonly value: JsonValue;
  /** The property is absent, not undefined, when there is no variant. */
  readonly variant?: string;
  /** Why this value. */
  readonly reason: EvaluationReason;
  /** The chosen variant's own metadata. */
  readonly variantMetadata?: JsonObject;
}
