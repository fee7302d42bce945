/** The switches of a flag that change nothing: on or off, the flag answers the same. Writes warn about them. */
import { HASHES, thresholdOf } from "./bucket.ts";
import type { Evaluation, FlagDefinition, RuleDefinition } from "./definition.ts";
import { jsonEquals } from "./equality.ts";
import type { JsonValue } from "./json.ts";
import {
  countsIn,
  defaultResult,
  disabledResult,
  inEnvironment,
  rolloutResult,
  ruleResult,
  variantResult,
} from "./outcome.ts";

/** A switch that changes nothing. */
export interface IdleSwitch {
  /** The environment that keeps its value. Absent for the switch of the whole flag. */
  readonly environment?: string;
  /** The value, on and off. */
  readonly value: JsonValue;
}

/**
 * The switch of the flag, if it changes nothing in any environment that it controls, and every environment that keeps
 * another value than the one a disabled flag has elsewhere. Overrides do not count, because they concern single users.
 * Rules with conditions count as rules that match for some users.
 */
export function idleSwitches(flag: FlagDefinition): IdleSwitch[] {
  const { value } = disabledResult(flag);
  const settings = new Map(Object.entries(flag.environments ?? {}));
  const names = new Set([...settings.keys(), ...flag.rules.flatMap((rule) => rule.environments ?? [])]);
  const environments = [...names].map((name) => {
    const settled = inEnvironment(flag, name);
    const hasOwnSwitch = settings.get(name)?.enabled !== undefined;
    return { name, hasOwnSwitch, isIdle: isIdle(settled, name), value: disabledResult(settled).value };
  });
  const isWholeIdle = isIdle(flag) && environments.every((one) => one.hasOwnSwitch || one.isIdle);
  const kept = environments.filter((one) => one.isIdle && !jsonEquals(value, one.value));
  return [
    ...(isWholeIdle ? [{ value }] : []),
    ...kept.map((one) => ({ environment: one.name, value: one.value })),
  ];
}

function isIdle(flag: FlagDefinition, environment?: string): boolean {
  const off = disabledResult(flag);
  for (const { value, variant } of outcomesOf(flag, environment)) {
    if (variant !== undefined || !jsonEquals(off.value, value)) return false;
  }
  return true;
}

/** The results that an enabled flag can have in the environment for users without an override. */
function* outcomesOf(flag: FlagDefinition, environment: string | undefined): Generator<Evaluation> {
  for (const rule of flag.rules) {
    if (!rule.enabled || isNone(rule.percentage) || !countsIn(rule, environment)) continue;
    yield ruleResult(flag, rule);
    if (matchesAll(rule)) return;
  }
  const { rolloutPercentage, variants = [] } = flag;
  if (!isNone(rolloutPercentage)) {
    if (variants.length > 0) yield* variants.map(variantResult);
    else if (rolloutPercentage !== undefined) yield rolloutResult(flag);
  }
  const includesAll = rolloutPercentage === undefined ? variants.length > 0 : rolloutPercentage >= 100;
  if (!includesAll) yield defaultResult(flag, "default");
}

function isNone(percentage: number | undefined): boolean {
  return percentage !== undefined && thresholdOf(percentage) <= 0;
}

function matchesAll({ conditions, percentage }: RuleDefinition): boolean {
  if (percentage !== undefined && thresholdOf(percentage) < HASHES) return false;
  return conditions.conditions.length === 0 && conditions.not === undefined;
}
