/** Builds the conditions of rules and segments: a misspelt attribute, operator or operand does not compile. */
import type {
  ConditionOperator,
  DeviceInfo,
  GeoInfo,
  RuleConditions,
  SegmentCondition,
  SimpleCondition,
} from "../engine/definition.ts";
import type { JsonValue } from "../engine/json.ts";
import type { ContextField } from "../engine/path.ts";
import type { TrustedOptions, TrustedPath } from "./trusted.ts";

/** The paths that every context has. `attributes.<name>` is what the caller sends. */
export type ContextPath =
  | ContextField
  | `device.${keyof DeviceInfo}`
  | `geo.${keyof GeoInfo}`
  | `attributes.${string}`;

/** What an operator compares with. Dates are ISO dates. */
export type ConditionOperand<Operator extends ConditionOperator> = Operator extends "in" | "not_in"
  ? readonly JsonValue[]
  : Operator extends "starts_with" | "ends_with" | "regex"
    ? string
    : Operator extends `${"greater" | "less"}_than${string}`
      ? number | string
      : JsonValue;

/** A condition, a segment or a group. */
export type ConditionMember = RuleConditions["conditions"][number];

/** Without members, a group holds for everyone. */
type AtLeastOne = readonly [ConditionMember, ...ConditionMember[]];

/** Builders of conditions. */
export type FlagConditions<Trusted extends TrustedOptions = TrustedOptions> = {
  /** A condition on one attribute. */
  when<Operator extends ConditionOperator>(
    attribute: ContextPath | TrustedPath<Trusted>,
    operator: Operator,
    value: ConditionOperand<Operator>,
  ): SimpleCondition;
  /** Holds for the users of a segment. */
  inSegment(key: string): SegmentCondition;
  /** Holds when all members hold. Without members: for everyone. */
  all(...members: readonly ConditionMember[]): RuleConditions;
  /** Holds when at least one member holds. */
  any(...members: AtLeastOne): RuleConditions;
  /** Holds when no member holds. */
  none(...members: AtLeastOne): RuleConditions;
};

/**
 * Builders of conditions that accept only attributes that exist: those of every context, and the trusted ones.
 *
 * ```ts
 * import { defineTrusted, flagConditions } from "@halyard/flags";
 *
 * const trusted = defineTrusted({ user: ["plan"] });
 * const { all, none, when } = flagConditions(trusted);
 * const conditions = all(when("user.plan", "equals", "pro"), none(when("geo.country", "in", ["NO", "SE"])));
 * ```
 */
export function flagConditions<const Trusted extends TrustedOptions = Record<never, never>>(
  _trusted?: Trusted,
): FlagConditions<Trusted> {
  return {
    when: (attribute, operator, value) => ({ attribute, operator, value }),
    inSegment: (segment) => ({ segment }),
    all: (...conditions) => ({ conditions }),
    any: (...conditions) => ({ operator: "OR", conditions }),
    none: (...conditions) => ({ conditions: [], not: { operator: "OR", conditions } }),
  };
}
