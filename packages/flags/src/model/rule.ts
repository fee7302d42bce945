/** The targeting rule as the service keeps it and returns it. */
import type { RuleConditions } from "../engine/definition.ts";
import type { JsonValue } from "../engine/json.ts";

export type FlagRule = {
  readonly id: string;
  readonly flagId: string;
  /** Rules are tried by ascending priority, then in the order they were made. */
  readonly priority: number;
  readonly name?: string;
  readonly conditions: RuleConditions;
  /** A rule has a value, or names one of the flag's variants, or both. */
  readonly value?: JsonValue;
  readonly variant?: string;
  /** The rule matches only this share of those its conditions match, 0–100. */
  readonly percentage?: number;
  /** A disabled rule is skipped. */
  readonly enabled: boolean;
  /** Counts the changes to this rule, from 1. */
  readonly version: number;
  readonly createdAt: Date;
};

/** What a new rule may be given. */
export type FlagRuleInput = {
  priority: number;
  name?: string | undefined;
  conditions: RuleConditions;
  value?: JsonValue | undefined;
  variant?: string | undefined;
  percentage?: number | undefined;
  /** Defaults to `true`. */
  enabled?: boolean | undefined;
};

/** What a change of a rule may hold; an absent field stays as it is, `null` clears an optional one. */
export type FlagRulePatch = {
  priority?: number | undefined;
  name?: string | null | undefined;
  conditions?: RuleConditions | undefined;
  /** On a flag of type `json`, `null` is a value like any other. */
  value?: JsonValue | undefined;
  variant?: string | null | undefined;
  percentage?: number | null | undefined;
  enabled?: boolean | undefined;
};
