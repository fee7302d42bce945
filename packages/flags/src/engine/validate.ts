/** Refuses a definition that no write of ours can have made, so that a damaged one never answers anybody. */
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
  /** The rules that are enabled, in their order, with their conditions checked. */
  readonly rules: readonly ValidRule[];
  readonly reach: Reach;
}

/** Throws with the flag's key and what is wrong. */
export function validate(flag: FlagDefinition, segments: Segments): Validated {
  const demand = (holds: boolean, what: string): void => {
    if (!holds) throw new Error(`The flag "${flag.key}" is not valid: ${what}.`);
  };
  const fits = (value: JsonValue | undefined, what: string): void =>
    demand(value === undefined || fitsType(flag.type, value), `${what} does not fit the type ${flag.type}`);

  demand(typeof flag.key === "string" && flag.key !== "", "it has no key");
  demand(TYPES.has(flag.type), `its type is ${String(flag.type)}`);
  demand(typeof flag.enabled === "boolean", "enabled is not true or false");
  demand(flag.salt === undefined || typeof flag.salt === "string", "its salt is not text");
  demand(isBucketBy(flag.bucketBy), `bucketBy is ${String(flag.bucketBy)}`);
  demand(isRollout(flag.rolloutPercentage), "rolloutPercentage is not a whole number from 0 to 100");
  fits(flag.defaultValue, "defaultValue");

  const { variants = [], environments = {}, rules } = flag;
  const keys = new Set(variants.map(({ key }) => key));
  demand(keys.size === variants.length, "two variants have the same key");
  for (const { key, weight, value, metadata } of variants) {
    demand(typeof key === "string", "a variant has no key");
    demand(isShare(weight), `the weight of variant "${key}" is not a number from 0 to 100`);
    demand(value !== undefined, `variant "${key}" has no value`);
    fits(value, `the value of variant "${key}"`);
    demand(
      metadata === undefined || isPlainObject(metadata),
      `the metadata of variant "${key}" is no object`,
    );
  }
  const weight = variants.reduce((sum, variant) => sum + variant.weight, 0);
  demand(variants.length === 0 || weightsAddUp(weight), `the weights sum to ${weight}`);

  for (const [name, settings] of Object.entries(environments)) {
    demand(isPlainObject(settings), `environment "${name}" is no object`);
    const { enabled, rolloutPercentage, defaultValue } = settings;
    demand(
      enabled === undefined || typeof enabled === "boolean",
      `enabled in "${name}" is not true or false`,
    );
    demand(
      isRollout(rolloutPercentage),
      `rolloutPercentage in "${name}" is not a whole number from 0 to 100`,
    );
    fits(defaultValue, `defaultValue in "${name}"`);
  }

  const valid: ValidRule[] = [];
  for (const rule of rules) {
    const name = `rule ${rule.id}`;
    demand(typeof rule.enabled === "boolean", `enabled of ${name} is not true or false`);
    demand(typeof rule.salt === "string", `${name} has no salt`);
    demand(
      rule.percentage === undefined || isShare(rule.percentage),
      `percentage of ${name} is not 0 to 100`,
    );
    demand(rule.value !== undefined || rule.variant !== undefined, `${name} has no value and no variant`);
    demand(rule.variant === undefined || keys.has(rule.variant), `${name} names a variant there is not`);
    fits(rule.value, `the value of ${name}`);
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

function isBucketBy(value: unknown): boolean {
  if (value === undefined || BUCKET_FIELDS.has(value)) return true;
  return typeof value === "string" && value.startsWith("attributes.") && value.length > "attributes.".length;
}
