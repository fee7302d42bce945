/** Validation of a flag definition before it is compiled, so that damaged data is never evaluated. */
import { weightsAddUp } from "./bucket.ts";
import { checkConditions } from "./conditions.ts";
import type { FlagDefinition, FlagType, RuleConditions, RuleDefinition, Segments } from "./definition.ts";
import { isJsonValue, isPlainObject, type JsonValue } from "./json.ts";
import { follow, type Reach } from "./references.ts";

const TYPES: ReadonlySet<unknown> = new Set<FlagType>(["boolean", "string", "number", "json"]);
const BUCKET_FIELDS: ReadonlySet<unknown> = new Set(["userId", "organizationId", "anonymousId"]);

export interface ValidRule {
  readonly rule: RuleDefinition;
  readonly conditions: RuleConditions;
}

export interface Validated {
  /** The enabled rules in order, with validated conditions. */
  readonly rules: readonly ValidRule[];
  readonly reach: Reach;
}

/** Throws an error with the flag's key and the problem. */
export function validate(flag: FlagDefinition, segments: Segments): Validated {
  const demand = (holds: boolean, problem: string): void => {
    if (!holds) throw new Error(`The flag "${flag.key}" is not valid: ${problem}.`);
  };
  const fits = (value: JsonValue | undefined, what: string): void =>
    demand(
      value === undefined || fitsType(flag.type, value),
      `${what} must be a value of the type ${flag.type}`,
    );

  demand(typeof flag.key === "string" && flag.key !== "", "key must be a string that is not empty");
  demand(TYPES.has(flag.type), `type must be boolean, string, number or json, not ${String(flag.type)}`);
  demand(typeof flag.enabled === "boolean", "enabled must be true or false");
  demand(flag.salt === undefined || typeof flag.salt === "string", "salt must be a string");
  demand(
    isBucketBy(flag.bucketBy),
    `bucketBy must be userId, organizationId, anonymousId or attributes.<path>, not ${String(flag.bucketBy)}`,
  );
  demand(isRollout(flag.rolloutPercentage), "rolloutPercentage must be a whole number from 0 to 100");
  fits(flag.defaultValue, "defaultValue");
  fits(flag.offValue, "offValue");

  const { variants = [], environments = {}, rules } = flag;
  const keys = new Set(variants.map(({ key }) => key));
  demand(keys.size === variants.length, "each variant must have a different key");
  for (const { key, weight, value, metadata } of variants) {
    demand(typeof key === "string", "the key of a variant must be a string");
    demand(isShare(weight), `the weight of variant "${key}" must be a number from 0 to 100`);
    demand(value !== undefined, `variant "${key}" has no value`);
    fits(value, `the value of variant "${key}"`);
    demand(
      metadata === undefined || isPlainObject(metadata),
      `the metadata of variant "${key}" must be an object`,
    );
  }
  const weight = variants.reduce((sum, variant) => sum + variant.weight, 0);
  demand(
    variants.length === 0 || weightsAddUp(weight),
    `the weights of the variants must sum to 100; they sum to ${weight}`,
  );

  for (const [name, settings] of Object.entries(environments)) {
    demand(isPlainObject(settings), `the settings of environment "${name}" must be an object`);
    const { enabled, rolloutPercentage, defaultValue, offValue } = settings;
    demand(
      enabled === undefined || typeof enabled === "boolean",
      `enabled of environment "${name}" must be true or false`,
    );
    demand(
      isRollout(rolloutPercentage),
      `rolloutPercentage of environment "${name}" must be a whole number from 0 to 100`,
    );
    fits(defaultValue, `defaultValue of environment "${name}"`);
    fits(offValue, `offValue of environment "${name}"`);
  }

  const valid: ValidRule[] = [];
  for (const rule of rules) {
    const name = `rule ${rule.id}`;
    demand(typeof rule.enabled === "boolean", `enabled of ${name} must be true or false`);
    demand(typeof rule.salt === "string", `the salt of ${name} must be a string`);
    demand(
      rule.percentage === undefined || isShare(rule.percentage),
      `percentage of ${name} must be a number from 0 to 100`,
    );
    demand(rule.value !== undefined || rule.variant !== undefined, `${name} has no value and no variant`);
    demand(
      rule.variant === undefined || keys.has(rule.variant),
      `${name} refers to a variant that the flag does not have: "${rule.variant}"`,
    );
    fits(rule.value, `the value of ${name}`);
    demand(isNames(rule.environments), `environments of ${name} must be a list of names that is not empty`);
    const checked = checkConditions(rule.conditions);
    if ("problem" in checked) {
      throw new Error(`The flag "${flag.key}" is not valid: ${name}: ${checked.path} ${checked.problem}.`);
    }
    if (rule.enabled) valid.push({ rule, conditions: checked.conditions });
  }
  const reach = follow(
    valid.map(({ conditions }) => conditions),
    segments,
  );
  if ("problem" in reach) throw new Error(`The flag "${flag.key}" is not valid: ${reach.problem}.`);
  return { rules: valid, reach };
}

function fitsType(type: FlagType, value: JsonValue): boolean {
  return type === "json" ? isJsonValue(value) : typeof value === type;
}

function isShare(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= 100;
}

function isRollout(value: unknown): boolean {
  return value === undefined || (isShare(value) && Number.isInteger(value));
}

function isNames(value: unknown): boolean {
  if (value === undefined) return true;
  return Array.isArray(value) && value.length > 0 && value.every((name) => typeof name === "string");
}

function isBucketBy(value: unknown): boolean {
  if (value === undefined || BUCKET_FIELDS.has(value)) return true;
  return typeof value === "string" && value.startsWith("attributes.") && value.length > "attributes.".length;
}
