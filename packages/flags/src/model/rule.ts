/** The targeting rule: its stored form, and the inputs that create and update it. */
import type { RuleConditions } from "../engine/definition.ts";
import type { JsonValue } from "../engine/json.ts";

/** A targeting rule as it is stored. */
export type FlagRule = {
  /** UUID v7. */
  readonly id: string;
  /** The flag of the rule. */
  readonly flagId: string;
  /** Rules are evaluated by ascending priority, then in the order of creation. */
  readonly priority: number;
  /** For people. */
  readonly name?: string;
  /** The users to whom the rule applies. */
  readonly conditions: RuleConditions;
  /** A rule has a value, one of the flag's variants, or both. */
  readonly value?: JsonValue;
  /** One of the flag's variants. */
  readonly variant?: string;
  /** The percentage of matching users to whom the rule applies, 0–100. */
  readonly percentage?: number;
  /** A disabled rule is skipped. */
  readonly enabled: boolean;
  /** Starts at 1 and increases with every change of the rule. */
  readonly version: number;
  /** When the rule was created. */
  readonly createdAt: Date;
};

/** The input that creates a rule. */
export type FlagRuleInput = {
  /** Rules are evaluated by ascending priority. */
  priority: number;
  /** For people. */
  name?: string | undefined;
  /** The users to whom the rule applies. `{ conditions: [] }` is everyone. */
  conditions: RuleConditions;
  /** Must fit the type of the flag. Required without a `variant`. */
  value?: JsonValue | undefined;
  /** One of the flag's variants. */
  variant?: string | undefined;
  /** The percentage of matching users to whom the rule applies, 0–100. Fractions are allowed. */
  percentage?: number | undefined;
  /** Defaults to `true`. */
  enabled?: boolean | undefined;
};

/** The input that updates a rule. An absent field keeps its value; `null` clears an optional field. */
export type FlagRulePatch = {
  /** Rules are evaluated by ascending priority. */
  priority?: number | undefined;
  /** For people. */
  name?: string | null | undefined;
  /** The users to whom the rule applies. */
  conditions?: RuleConditions | undefined;
  /** On a flag of type `json`, `null` is a value like any other. */
  value?: JsonValue | undefined;
  /** One of the flag's variants. */
  variant?: string | null | undefined;
  /** The percentage of matching users to whom the rule applies, 0–100. Fractions are allowed. */
  percentage?: number | null | undefined;
  /** A disabled rule is skipped. */
  enabled?: boolean | undefined;
};
