/** The targeting rule: its stored form, and the inputs that create and update it. */
import type { Entity, EntityInput, EntityPatch } from "./fields.ts";

/** The fields of a rule. */
export const RULE_FIELDS = {
  /** UUID v7. */
  id: { kind: "id", column: "ruleId" },
  /** The flag of the rule. */
  flagId: { kind: "reference", set: "server" },
  /** Rules are evaluated by ascending priority, then by ascending position. */
  priority: { kind: "number" },
  /** For people. */
  name: { kind: "name", optional: true },
  /** The users to whom the rule applies. `{ conditions: [] }` is everyone. */
  conditions: { kind: "conditions" },
  /** Must fit the type of the flag. A rule has a value, one of the flag's variants, or both. */
  value: { kind: "json", optional: true },
  /** One of the flag's variants. */
  variant: { kind: "name", optional: true },
  /** The percentage of matching users to whom the rule applies, 0–100. Fractions are allowed. */
  percentage: { kind: "percentage", optional: true },
  /** The environments in which the rule counts, 1–20 names. Absent: all, and evaluations without an environment. */
  environments: { kind: "names", optional: true },
  /** A disabled rule is skipped. Default `true`. */
  enabled: { kind: "boolean", default: true },
  /**
   * Decides, with the salt or the key of the flag, whom `percentage` includes: a copy of the rule with the same salt
   * includes the same users. Default: the id of the rule.
   */
  salt: { kind: "salt", derived: true },
  /** Orders rules of the same priority. Default: after the other rules of the flag. */
  position: { kind: "position", derived: true },
  /** Starts at 1 and increases with every change of the rule. */
  version: { kind: "version" },
  /** When the rule was created. */
  createdAt: { kind: "created" },
} as const;

/** A targeting rule as it is stored. */
export type FlagRule = Entity<typeof RULE_FIELDS>;

/** The input that creates a rule. */
export type FlagRuleInput = EntityInput<typeof RULE_FIELDS>;

/** The input that updates a rule. An absent field keeps its value; `null` clears an optional field. */
export interface FlagRulePatch extends EntityPatch<typeof RULE_FIELDS> {}
