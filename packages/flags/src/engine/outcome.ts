/** The possible results of a flag, shared by the decision graph and the tracing evaluator. */
import type {
  Evaluation,
  EvaluationReason,
  FlagDefinition,
  FlagType,
  OverrideDefinition,
  RuleDefinition,
  Variant,
} from "./definition.ts";
import type { JsonValue } from "./json.ts";

const EMPTY_VALUES: Readonly<Record<FlagType, JsonValue>> = {
  boolean: false,
  string: "",
  number: 0,
  json: null,
};

/** The flag with the settings of the environment applied. */
export function inEnvironment(flag: FlagDefinition, environment: unknown): FlagDefinition {
  const { environments } = flag;
  if (typeof environment !== "string" || environments === undefined) return flag;
  if (!Object.hasOwn(environments, environment)) return flag;
  const { enabled, rolloutPercentage, defaultValue, offValue } = environments[environment] ?? {};
  return {
    ...flag,
    ...(enabled !== undefined && { enabled }),
    ...(rolloutPercentage !== undefined && { rolloutPercentage }),
    ...(defaultValue !== undefined && { defaultValue }),
    ...(offValue !== undefined && { offValue }),
  };
}

/** Whether the rule counts in the environment; undefined for an evaluation without one. */
export function countsIn({ environments }: RuleDefinition, environment: string | undefined): boolean {
  return environments === undefined || (environment !== undefined && environments.includes(environment));
}

export function disabledResult(flag: FlagDefinition): Evaluation {
  return flag.offValue === undefined ? defaultResult(flag, "disabled") : resultOf(flag.offValue, "disabled");
}

export function defaultResult(flag: FlagDefinition, reason: EvaluationReason): Evaluation {
  return resultOf(flag.defaultValue === undefined ? EMPTY_VALUES[flag.type] : flag.defaultValue, reason);
}

/** The result for users in the rollout of a flag without variants. */
export function rolloutResult(flag: FlagDefinition): Evaluation {
  if (flag.type === "boolean") return resultOf(true, "percentage_rollout");
  return defaultResult(flag, "percentage_rollout");
}

export function variantResult(variant: Variant): Evaluation {
  return resultOf(variant.value, "percentage_rollout", variant.key, variant);
}

/** A rule's own value takes precedence over the value of its variant. */
export function ruleResult(flag: FlagDefinition, rule: RuleDefinition): Evaluation {
  const variant = variantNamed(flag, rule.variant);
  const value = rule.value === undefined ? variant?.value : rule.value;
  if (value === undefined)
    throw new Error(`Rule ${rule.id} has no value and no variant. Give it one of them.`);
  return resultOf(value, "rule_match", rule.variant, variant);
}

export function overrideResult(flag: FlagDefinition, { value, variant }: OverrideDefinition): Evaluation {
  return resultOf(value, "override", variant, variantNamed(flag, variant));
}

function variantNamed({ variants }: FlagDefinition, key: string | undefined): Variant | undefined {
  return key === undefined ? undefined : variants?.find((variant) => variant.key === key);
}

/** Frozen, because many evaluations return the same object. */
function resultOf(
  value: JsonValue,
  reason: EvaluationReason,
  variant?: string,
  { metadata }: Pick<Variant, "metadata"> = {},
): Evaluation {
  return Object.freeze({
    value,
    ...(variant !== undefined && { variant }),
    reason,
    ...(metadata !== undefined && { variantMetadata: metadata }),
  });
}
