/** The switches of a flag that change nothing: on or off, the flag answers the same. Writes warn about them. */
import { HASHES, thresholdOf } from "./bucket.ts";
import type { Evaluation, FlagDefinition, RuleDefinition } from "./definition.ts";
import { jsonEquals } from "./equality.ts";
import type { JsonValue } from "./json.ts";
import {
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
  const environments = Object.entries(flag.environments ?? {}).map(([name, { enabled }]) => {
    const settled = inEnvironment(flag, name);
    const hasOwnSwitch = enabled !== undefined;
    return { name, hasOwnSwitch, isIdle: isIdle(settled), value: disabledResult(settled).value };
  });
  const isWholeIdle =
    isIdle(flag) && environments.every((settings) => settings.hasOwnSwitch || settings.isIdle);
  const kept = environments.filter((settings) => settings.isIdle && !jsonEquals(value, settings.value));
  return [
    ...(isWholeIdle ? [{ value }] : []),
    ...kept.map((settings) => ({ environment: settings.name, value: settings.value })),
  ];
}

function isIdle(flag: FlagDefinition): boolean {
  const off = disabledResult(flag);
  for (const { value, variant } of outcomesOf(flag)) {
    if (variant !== undefined || !jsonEquals(off.value, value)) return false;
  }
  return true;
}

/** The results that an enabled flag can have for users without an override. */
function* outcomesOf(flag: FlagDefinition): Generator<Evaluation> {
  for (const rule of flag.rules) {
    if (!rule.enabled || isNone(rule.percentage)) continue;
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
