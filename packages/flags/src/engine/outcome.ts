/** What an evaluation can give: the results of a flag, the same on the quick way to them and on the explained one. */
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

/** The flag as it is in an environment, whose settings go before the flag's own. */
export function inEnvironment(flag: FlagDefinition, environment: unknown): FlagDefinition {
  const { environments } = flag;
  if (typeof environment !== "string" || environments === undefined) return flag;
  if (!Object.hasOwn(environments, environment)) return flag;
  const { enabled, rolloutPercentage, defaultValue } = environments[environment] ?? {};
  return {
    ...flag,
    ...(enabled !== undefined && { enabled }),
    ...(rolloutPercentage !== undefined && { rolloutPercentage }),
    ...(defaultValue !== undefined && { defaultValue }),
  };
}

export function defaultResult(flag: FlagDefinition, reason: EvaluationReason): Evaluation {
  return resultOf(flag.defaultValue === undefined ? EMPTY_VALUES[flag.type] : flag.defaultValue, reason);
}

/** For those in the rollout of a flag without variants. */
export function rolloutResult(flag: FlagDefinition): Evaluation {
  if (flag.type === "boolean") return resultOf(true, "percentage_rollout");
  return defaultResult(flag, "percentage_rollout");
}

export function variantResult(variant: Variant): Evaluation {
  return resultOf(variant.value, "percentage_rollout", variant.key, variant);
}

/** A rule's own value goes before its variant's. */
export function ruleResult(flag: FlagDefinition, rule: RuleDefinition): Evaluation {
  const variant = variantNamed(flag, rule.variant);
  const value = rule.value === undefined ? variant?.value : rule.value;
  if (value === undefined) throw new Error(`The rule ${rule.id} has neither a value nor a variant.`);
  return resultOf(value, "rule_match", rule.variant, variant);
}

export function overrideResult(flag: FlagDefinition, { value, variant }: OverrideDefinition): Evaluation {
  return resultOf(value, "override", variant, variantNamed(flag, variant));
}

function variantNamed({ variants }: FlagDefinition, key: string | undefined): Variant | undefined {
  return key === undefined ? undefined : variants?.find((variant) => variant.key === key);
}

/** Frozen, because one object answers many evaluations. */
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
