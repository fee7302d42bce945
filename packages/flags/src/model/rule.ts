/** The targeting rule: its stored form, and the inputs that create and update it. */
import type { RuleConditions } from "../engine/definition.ts";
import type { JsonValue } from "../engine/json.ts";

export type FlagRule = {
  readonly id: string;
  readonly flagId: string;
  /** Rules are evaluated by ascending priority, then in the order of creation. */
  readonly priority: number;
  readonly name?: string;
  readonly conditions: RuleConditions;
  /** A rule has a value, one of the flag's variants, or both. */
  readonly value?: JsonValue;
  readonly variant?: string;
  /** The percentage of matching users to whom the rule applies, 0–100. */
  readonly percentage?: number;
  /** A disabled rule is skipped. */
  readonly enabled: boolean;
  /** Starts at 1 and increases with every change of the rule. */
  readonly version: number;
  readonly createdAt: Date;
};

/** The input that creates a rule. */
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

/** The input that updates a rule. An absent field keeps its value; `null` clears an optional field. */
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
