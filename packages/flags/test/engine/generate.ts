/** Random flags, segments and contexts from a small vocabulary, so that conditions often match. */
import type {
  ConditionOperator,
  EvaluationContext,
  FlagDefinition,
  FlagType,
  JsonObject,
  JsonValue,
  OverrideDefinition,
  RuleConditions,
  RuleDefinition,
  Segments,
  SimpleCondition,
  Variant,
} from "@halyard/flags/engine";
import type { Random } from "./random.ts";

export const GENERATED_OPERATORS: readonly ConditionOperator[] = [
  "equals",
  "not_equals",
  "contains",
  "not_contains",
  "starts_with",
  "ends_with",
  "in",
  "not_in",
  "greater_than",
  "less_than",
  "greater_than_or_equal",
  "less_than_or_equal",
  "regex",
];
const PATHS = [
  ...["userId", "email", "role", "organizationId", "anonymousId", "environment"],
  ...["device.type", "device.os", "device", "geo.country", "geo.city", "geo", "attributes"],
  ...["attributes.a", "a", "b", "c.d", "attributes.c.d", "c.d.e", "c", "list", "list.0", "a.length"],
  ...["constructor", "__proto__", "toString", "userId.x", "missing", "attributes.missing", ""],
].filter((path) => path !== "");
const PATTERNS = [
  "",
  "^a",
  "b$",
  "a.c",
  "\\d+",
  "^[a-z]+@x\\.com$",
  "é",
  "(a|b)+c?$",
  "^$",
  "[^a]",
  "^.{3}$",
];
const SCALARS: readonly JsonValue[] = [
  ...["", "a", "b", "abc", "ab", "a@x.com", "é", "😀", "12", "pro", "u1", "u2", "DE", "x".repeat(257)],
  ...["2026-01-01", "2026-01-01T00:00:00Z", "2026-01-01T05:00:00+05:00", "2025-12-31T23:59:59.999Z"],
  ...[0, 1, 2, -1, 0.5, 1e300, 2026, true, false, null],
];
const IDS = ["", "u1", "u2", "user-12345", "ü-ßer", "😀", "a\ud800", "x".repeat(300)];
const ENVIRONMENTS = ["prod", "staging", "toString", "__proto__"];
const SEGMENT_KEYS = ["s0", "s1", "s2", "s3"];
const MAX_REGEX = 8;

export interface Generated {
  readonly flag: FlagDefinition;
  readonly segments: Segments;
}

export class Generator {
  readonly #random: Random;
  /** The number of regex conditions that the flag may still have. */
  #patternsLeft = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  flag(): Generated {
    const random = this.#random;
    this.#patternsLeft = MAX_REGEX;
    // A segment refers only to later ones, so that there is no circular reference.
    const segments = new Map(
      SEGMENT_KEYS.map((key, index) => [key, this.#group(2, SEGMENT_KEYS.slice(index + 1))]),
    );
    const type = random.pick<FlagType>(["boolean", "string", "number", "json"]);
    const variants = random.chance(0.4) ? this.#variants(type) : undefined;
    const flag: FlagDefinition = {
      key: random.pick(["k", "flag-1", "feature_flag", "A"]),
      type,
      enabled: random.chance(0.9),
      rules: random.list(random.below(4), () => this.#rule(type, variants)),
      ...(random.chance(0.7) && { defaultValue: this.#value(type) }),
      ...(random.chance(0.3) && { offValue: this.#value(type) }),
      ...(random.chance(0.5) && { rolloutPercentage: random.pick([0, 1, 10, 50, 99, 100]) }),
      ...(variants !== undefined && { variants }),
      ...(random.chance(0.3) && { environments: this.#environments(type) }),
      ...(random.chance(0.2) && { salt: random.pick(["", "s", "salt", "ümlaut"]) }),
      ...(random.chance(0.3) && {
        bucketBy: random.pick(["userId", "organizationId", "anonymousId", "attributes.a", "attributes.c.d"]),
      }),
    };
    return { flag, segments };
  }

  context(): EvaluationContext {
    const random = this.#random;
    return {
      ...(random.chance(0.8) && { userId: random.pick(IDS) }),
      ...(random.chance(0.5) && { email: random.pick(["a@x.com", "b@y.org"]) }),
      ...(random.chance(0.5) && { role: random.pick(["a", "admin"]) }),
      ...(random.chance(0.5) && { organizationId: random.pick(IDS) }),
      ...(random.chance(0.3) && { anonymousId: random.pick(IDS) }),
      ...(random.chance(0.4) && { environment: random.pick([...ENVIRONMENTS, "a"]) }),
      ...(random.chance(0.4) && { device: { type: random.pick(["mobile", "desktop"]), os: "abc" } }),
      ...(random.chance(0.4) && { geo: { country: random.pick(["DE", "a"]) } }),
      ...(random.chance(0.9) && { attributes: this.#attributes() }),
    };
  }

  override(): OverrideDefinition | undefined {
    const random = this.#random;
    if (!random.chance(0.1)) return undefined;
    return { value: this.#json(), ...(random.chance(0.5) && { variant: random.pick(["v0", "v1", "gone"]) }) };
  }

  #attributes(): JsonObject {
    const random = this.#random;
    const attributes: Record<string, JsonValue> = {};
    if (random.chance(0.8)) attributes["a"] = this.#json();
    if (random.chance(0.6)) attributes["b"] = random.pick(SCALARS);
    if (random.chance(0.6)) attributes["c"] = random.chance(0.8) ? { d: this.#json() } : this.#json();
    if (random.chance(0.5)) attributes["list"] = random.list(random.below(4), () => this.#json());
    if (random.chance(0.1)) attributes["constructor"] = random.pick(SCALARS);
    if (random.chance(0.2)) attributes["device"] = random.pick(SCALARS);
    return attributes;
  }

  #json(): JsonValue {
    const random = this.#random;
    if (random.chance(0.8)) return random.pick(SCALARS);
    if (random.chance(0.5)) return random.list(random.below(3), () => random.pick(SCALARS));
    const value = random.pick(SCALARS);
    return random.chance(0.5) ? { d: value, e: 1 } : { e: 1, d: value };
  }

  #value(type: FlagType): JsonValue {
    const random = this.#random;
    if (type === "json") return this.#json();
    const values = { boolean: [true, false], string: ["", "a", "long"], number: [0, -1.5, 7] } as const;
    return random.pick<JsonValue>(values[type]);
  }

  #variants(type: FlagType): Variant[] {
    const random = this.#random;
    const weights = random.pick([[100], [50, 50], [20, 30.5, 49.5], [0, 100], [33.333, 33.333, 33.334]]);
    return weights.map((weight, index) => ({
      key: `v${index}`,
      weight,
      value: this.#value(type),
      ...(random.chance(0.3) && { metadata: { n: index } }),
    }));
  }

  #environments(type: FlagType): NonNullable<FlagDefinition["environments"]> {
    const random = this.#random;
    const entries = ENVIRONMENTS.filter(() => random.chance(0.5)).map((name) => [
      name,
      {
        ...(random.chance(0.3) && { enabled: random.chance(0.5) }),
        ...(random.chance(0.5) && { rolloutPercentage: random.pick([0, 50, 100]) }),
        ...(random.chance(0.5) && { defaultValue: this.#value(type) }),
        ...(random.chance(0.3) && { offValue: this.#value(type) }),
      },
    ]);
    return Object.fromEntries(entries);
  }

  #rule(type: FlagType, variants: readonly Variant[] | undefined): RuleDefinition {
    const random = this.#random;
    const variant = variants !== undefined && random.chance(0.4) ? random.pick(variants).key : undefined;
    const number = random.below(1_000);
    // Made of the number, so that the other choices of a seed stay the same.
    const environments = ENVIRONMENTS.filter((_, at) => (number >> at) % 2 === 1);
    return {
      id: `r${number}`,
      enabled: random.chance(0.9),
      conditions: this.#group(3, SEGMENT_KEYS),
      salt: random.pick(["", "a", "0190-salt"]),
      ...((variant === undefined || random.chance(0.5)) && { value: this.#value(type) }),
      ...(variant !== undefined && { variant }),
      ...(random.chance(0.3) && { percentage: random.pick([0, 0.5, 10, 33.3, 50, 100]) }),
      ...(number % 5 === 0 && environments.length > 0 && { environments }),
    };
  }

  #group(depth: number, segments: readonly string[]): RuleConditions {
    const random = this.#random;
    return {
      ...(random.chance(0.6) && { operator: random.pick(["AND", "OR"]) }),
      conditions: random.list(random.below(4), () => this.#member(depth, segments)),
      ...(depth > 0 && random.chance(0.2) && { not: this.#group(depth - 1, segments) }),
    };
  }

  #member(depth: number, segments: readonly string[]): RuleConditions["conditions"][number] {
    const random = this.#random;
    if (depth > 0 && random.chance(0.25)) return this.#group(depth - 1, segments);
    if (segments.length > 0 && random.chance(0.15)) return { segment: random.pick(segments) };
    return this.#condition();
  }

  #condition(): SimpleCondition {
    const random = this.#random;
    const attribute = random.pick(PATHS);
    const operator = random.pick(GENERATED_OPERATORS);
    if (operator === "in" || operator === "not_in") {
      return { attribute, operator, value: random.list(random.below(12), () => this.#json()) };
    }
    if (operator !== "regex") {
      const value = this.#json();
      // The longest text that contains accepts.
      const isPart = operator.endsWith("contains") && typeof value === "string";
      return { attribute, operator, value: isPart ? value.slice(0, 256) : value };
    }
    if (this.#patternsLeft === 0) return { attribute, operator: "equals", value: "a" };
    this.#patternsLeft -= 1;
    return { attribute, operator, value: random.pick(PATTERNS) };
  }
}
