/**
 * The reference implementation of evaluation: simple, slow, and without any code of the engine. The engine must return
 * the same results.
 */
import type {
  Evaluation,
  EvaluationContext,
  FlagDefinition,
  OverrideDefinition,
  RuleConditions,
  Segments,
  SimpleCondition,
} from "@halyard/flags/engine";

type Json = unknown;

export function referenceEvaluate(
  flag: FlagDefinition,
  segments: Segments,
  context: EvaluationContext,
  override?: OverrideDefinition,
): Evaluation {
  const name = context.environment;
  const settings =
    name !== undefined && flag.environments !== undefined && Object.hasOwn(flag.environments, name)
      ? (flag.environments[name] ?? {})
      : {};
  const enabled = settings.enabled ?? flag.enabled;
  const rollout = settings.rolloutPercentage ?? flag.rolloutPercentage;
  const empty = { boolean: false, string: "", number: 0, json: null }[flag.type];
  const fallback = [settings.defaultValue, flag.defaultValue, empty].find((value) => value !== undefined);
  const defaultValue = fallback === undefined ? null : fallback;
  const key = flag.salt ?? flag.key;
  const id = idOf(flag, context);
  const variants = flag.variants ?? [];
  const give = (value: Json, reason: string, variantKey?: string): Evaluation => {
    const variant = variants.find((candidate) => candidate.key === variantKey);
    const result: Record<string, Json> = { value, reason };
    if (variantKey !== undefined) result["variant"] = variantKey;
    if (variant?.metadata !== undefined) result["variantMetadata"] = variant.metadata;
    return result as unknown as Evaluation;
  };

  const off = [settings.offValue, flag.offValue, defaultValue].find((value) => value !== undefined);
  if (!enabled) return give(off, "disabled");
  if (override !== undefined) return give(override.value, "override", override.variant);
  for (const rule of flag.rules) {
    const isElsewhere = rule.environments !== undefined && !rule.environments.some((one) => one === name);
    if (!rule.enabled || isElsewhere || !holds(rule.conditions, segments, context)) continue;
    if (rule.percentage !== undefined && !included(`${id}:${key}:rule:${rule.salt}`, rule.percentage))
      continue;
    const variant = variants.find((candidate) => candidate.key === rule.variant);
    return give(rule.value !== undefined ? rule.value : variant?.value, "rule_match", rule.variant);
  }
  if (rollout !== undefined && !included(`${id}:${key}`, rollout)) return give(defaultValue, "default");
  if (variants.length > 0) {
    const hash = referenceHash(`${id}:${key}:variant`);
    let sum = 0;
    for (const variant of variants) {
      sum += variant.weight;
      if (variant !== variants.at(-1) && hash >= Math.floor((sum / 100) * 2 ** 32)) continue;
      return give(variant.value, "percentage_rollout", variant.key);
    }
  }
  if (rollout === undefined) return give(defaultValue, "default");
  return give(flag.type === "boolean" ? true : defaultValue, "percentage_rollout");
}

function included(text: string, percentage: number): boolean {
  return referenceHash(text) < Math.floor((percentage / 100) * 2 ** 32);
}

function idOf(flag: FlagDefinition, context: EvaluationContext): string {
  const value = lookUp(context, flag.bucketBy ?? "userId");
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" ? value : "";
}

function holds(group: RuleConditions, segments: Segments, context: EvaluationContext): boolean {
  const answers = group.conditions.map((member) => {
    if ("conditions" in member) return holds(member, segments, context);
    if ("attribute" in member) return holdsSimple(member, context);
    const segment = segments.get(member.segment);
    if (segment === undefined) throw new Error(member.segment);
    return holds(segment, segments, context);
  });
  const together =
    answers.length === 0 || (group.operator === "OR" ? answers.includes(true) : !answers.includes(false));
  return together && !(group.not !== undefined && holds(group.not, segments, context));
}

function holdsSimple(
  { attribute, operator, value: operand }: SimpleCondition,
  context: EvaluationContext,
): boolean {
  const actual = lookUp(context, attribute);
  if (operator.startsWith("not_")) {
    const positive = operator.slice("not_".length) as "equals" | "contains" | "in";
    return !holdsSimple({ attribute, operator: positive, value: operand }, context);
  }
  if (actual === undefined) return false;
  const both = typeof actual === "string" && typeof operand === "string";
  switch (operator) {
    case "equals":
      return same(actual, operand);
    case "in":
      return (operand as readonly Json[]).some((item) => same(item, actual));
    case "contains":
      return Array.isArray(actual)
        ? actual.slice(0, 1024).some((item) => same(item, operand))
        : both && actual.slice(0, 4096).includes(operand);
    case "starts_with":
      return both && actual.startsWith(operand);
    case "ends_with":
      return both && actual.endsWith(operand);
    case "regex":
      // The generated patterns have the same meaning in JavaScript and RE2.
      return both && actual.length <= 256 && new RegExp(operand, "u").test(actual);
    default: {
      const [left, right] = both ? [instant(actual), instant(operand)] : [actual, operand];
      if (typeof left !== "number" || typeof right !== "number") return false;
      if (operator === "greater_than") return left > right;
      if (operator === "less_than") return left < right;
      return operator === "greater_than_or_equal" ? left >= right : left <= right;
    }
  }
}

/** The generated dates are whole ISO date-times with an offset, or dates; `Date` reads these as UTC. */
function instant(text: string): number | undefined {
  const iso = /^\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d{3})?(Z|[+-]\d\d:\d\d))?$/;
  const parsed = iso.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(parsed) ? undefined : parsed;
}

function lookUp(context: EvaluationContext, path: string): Json {
  const roots = ["userId", "email", "role", "organizationId", "anonymousId", "environment"];
  if (roots.includes(path)) return (context as Record<string, Json>)[path];
  const full = /^(device|geo|attributes)\./.test(path) ? path : `attributes.${path}`;
  let value: Json = context;
  for (const step of full.split(".")) {
    const plain = typeof value === "object" && value !== null && !Array.isArray(value);
    if (!plain || !Object.hasOwn(value as object, step)) return undefined;
    value = (value as Record<string, Json>)[step];
  }
  return value;
}

function same(a: Json, b: Json): boolean {
  return canonical(a) === canonical(b);
}

function canonical(value: Json): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value === 0 ? 0 : value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const entries = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`);
  return `{${entries.sort().join(",")}}`;
}

/** MurmurHash3 x86 32 as published by its author. */
export function referenceHash(text: string): number {
  const bytes = new TextEncoder().encode(text);
  const rotate = (value: number, bits: number): number => (value << bits) | (value >>> (32 - bits));
  const scramble = (word: number): number => Math.imul(rotate(Math.imul(word, 0xcc9e2d51), 15), 0x1b873593);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let hash = 0;
  let at = 0;
  for (; at + 4 <= bytes.length; at += 4) {
    hash = (Math.imul(rotate(hash ^ scramble(view.getInt32(at, true)), 13), 5) + 0xe6546b64) | 0;
  }
  let rest = 0;
  for (let index = bytes.length - 1; index >= at; index--) rest = (rest << 8) | view.getUint8(index);
  if (at < bytes.length) hash ^= scramble(rest);
  hash ^= bytes.length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
