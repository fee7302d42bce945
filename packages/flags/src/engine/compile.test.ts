import { describe, expect, test } from "vitest";
import { compileFlag } from "./compile.ts";
import type {
  EvaluationContext,
  FlagDefinition,
  FlagType,
  RuleConditions,
  RuleDefinition,
  Segments,
} from "./definition.ts";
import type { JsonValue } from "./json.ts";

const NO_SEGMENTS: Segments = new Map();

function flag(fields: Partial<FlagDefinition> = {}): FlagDefinition {
  return { key: "flag", type: "string", enabled: true, defaultValue: "default", rules: [], ...fields };
}

function rule(fields: Partial<RuleDefinition> = {}): RuleDefinition {
  return { id: "r", enabled: true, salt: "s", conditions: { conditions: [] }, value: "rule", ...fields };
}

const evaluate = (
  fields: Partial<FlagDefinition>,
  context: EvaluationContext = {},
  ...rest: [{ value: JsonValue; variant?: string }?]
) => compileFlag(flag(fields), NO_SEGMENTS).evaluate(context, ...rest);

function matches(conditions: RuleConditions, context: EvaluationContext, segments = NO_SEGMENTS): boolean {
  const compiled = compileFlag(flag({ rules: [rule({ conditions })] }), segments);
  return compiled.evaluate(context).reason === "rule_match";
}

const VARIANTS = [
  { key: "a", weight: 50, value: "A", metadata: { color: "red" } },
  { key: "b", weight: 50, value: "B" },
];

describe("the order of evaluation", () => {
  const all: Partial<FlagDefinition> = {
    rules: [rule({ id: "first", value: "first" }), rule({ id: "second", value: "second" })],
    rolloutPercentage: 100,
    variants: VARIANTS,
  };

  test("a disabled flag returns its default value, with or without an override", () => {
    expect(evaluate({ ...all, enabled: false }, {}, { value: "o" })).toEqual({
      value: "default",
      reason: "disabled",
    });
  });

  test("a disabled flag returns its off value, if it has one", () => {
    expect(evaluate({ ...all, enabled: false, offValue: "off" }, {}, { value: "o" })).toEqual({
      value: "off",
      reason: "disabled",
    });
    expect(evaluate({ ...all, offValue: "off" }).reason).toBe("rule_match");
  });

  test("an override takes precedence over the rules", () => {
    expect(evaluate(all, {}, { value: "o" })).toEqual({ value: "o", reason: "override" });
  });

  test("an override returns its variant with the variant's metadata", () => {
    expect(evaluate(all, {}, { value: "o", variant: "a" })).toEqual({
      value: "o",
      variant: "a",
      reason: "override",
      variantMetadata: { color: "red" },
    });
  });

  test("the first matching rule decides", () => {
    expect(evaluate(all)).toEqual({ value: "first", reason: "rule_match" });
  });

  test("a disabled rule is skipped", () => {
    const rules = [rule({ enabled: false, value: "first" }), rule({ value: "second" })];
    expect(evaluate({ rules })).toEqual({ value: "second", reason: "rule_match" });
  });

  test("without a matching rule, the rollout and its variants decide", () => {
    expect(evaluate({ ...all, rules: [] })).toEqual({
      value: expect.stringMatching(/^[AB]$/),
      variant: expect.stringMatching(/^[ab]$/),
      reason: "percentage_rollout",
      ...(evaluate({ ...all, rules: [] }).variant === "a" && { variantMetadata: { color: "red" } }),
    });
  });

  test("without rules and rollout, the default value is returned", () => {
    expect(evaluate({})).toEqual({ value: "default", reason: "default" });
  });
});

describe("values", () => {
  test.each<[FlagType, JsonValue]>([
    ["boolean", false],
    ["string", ""],
    ["number", 0],
    ["json", null],
  ])("a %s flag without a default value returns %j", (type, empty) => {
    const compiled = compileFlag({ key: "k", type, enabled: true, rules: [] }, NO_SEGMENTS);
    expect(compiled.evaluate({})).toEqual({ value: empty, reason: "default" });
  });

  test.each<[FlagType, JsonValue]>([
    ["boolean", false],
    ["string", ""],
    ["number", 0],
    ["json", null],
  ])("a rule of a %s flag can return %j", (type, value) => {
    const defaultValue = type === "json" ? "d" : { boolean: true, string: "d", number: 1 }[type];
    expect(evaluate({ type, defaultValue, rules: [rule({ value })] })).toEqual({
      value,
      reason: "rule_match",
    });
  });

  test("a rule with a variant returns the variant, and its value unless the rule has its own", () => {
    const { value: _, ...bare } = rule({ variant: "a" });
    expect(evaluate({ variants: VARIANTS, rules: [bare] })).toEqual({
      value: "A",
      variant: "a",
      reason: "rule_match",
      variantMetadata: { color: "red" },
    });
    expect(evaluate({ variants: VARIANTS, rules: [rule({ variant: "b" })] })).toEqual({
      value: "rule",
      variant: "b",
      reason: "rule_match",
    });
  });

  test("users in the rollout get true for a boolean flag and the default value for other types", () => {
    expect(evaluate({ type: "boolean", defaultValue: false, rolloutPercentage: 100 })).toEqual({
      value: true,
      reason: "percentage_rollout",
    });
    expect(evaluate({ rolloutPercentage: 100 })).toEqual({ value: "default", reason: "percentage_rollout" });
  });

  test("users outside the rollout get the default value without a variant", () => {
    expect(evaluate({ rolloutPercentage: 0, variants: VARIANTS })).toEqual({
      value: "default",
      reason: "default",
    });
  });

  test("variants without a rollout apply to everyone", () => {
    expect(evaluate({ variants: VARIANTS }).reason).toBe("percentage_rollout");
  });

  test("results are frozen", () => {
    const compiled = compileFlag(flag(), NO_SEGMENTS);
    expect(Object.isFrozen(compiled.evaluate({}))).toBe(true);
  });
});

describe("environments", () => {
  const environments = {
    off: { enabled: false, defaultValue: "off" },
    all: { rolloutPercentage: 100 },
    plain: {},
  };

  test.each([
    [undefined, "default", "default"],
    ["unknown", "default", "default"],
    ["plain", "default", "default"],
    ["toString", "default", "default"],
    ["__proto__", "default", "default"],
    ["off", "off", "disabled"],
    ["all", "default", "percentage_rollout"],
  ])("the environment %s applies only its own settings", (environment, value, reason) => {
    const context = environment === undefined ? {} : { environment };
    expect(evaluate({ environments, rolloutPercentage: 0 }, context)).toEqual({ value, reason });
  });

  test("an environment's off value takes precedence over the flag's, and the flag's over an environment's default", () => {
    const flag: Partial<FlagDefinition> = {
      offValue: "off",
      environments: {
        own: { enabled: false, offValue: "own" },
        shared: { enabled: false, defaultValue: "never" },
        on: { offValue: "never" },
      },
    };
    const valueIn = (environment: string) => evaluate(flag, { environment }).value;
    expect(["own", "shared", "on", "other"].map(valueIn)).toEqual(["own", "off", "default", "default"]);
  });

  test("__proto__ is an ordinary environment name", () => {
    const withProto = JSON.parse('{"__proto__":{"defaultValue":"proto"}}');
    expect(evaluate({ environments: withProto }, { environment: "__proto__" }).value).toBe("proto");
  });

  test("an environment can enable a flag that is disabled elsewhere", () => {
    const settings = { enabled: false, environments: { beta: { enabled: true } } };
    expect(evaluate(settings, { environment: "beta" }).reason).toBe("default");
    expect(evaluate(settings, {}).reason).toBe("disabled");
  });

  test("rules take precedence over environment settings and can compare the environment", () => {
    const conditions: RuleConditions = {
      conditions: [{ attribute: "environment", operator: "equals", value: "all" }],
    };
    const fields = { environments, rules: [rule({ conditions })] };
    expect(evaluate(fields, { environment: "all" }).reason).toBe("rule_match");
    expect(evaluate(fields, { environment: "plain" }).reason).toBe("default");
  });
});

describe("bucketBy", () => {
  test.each<[NonNullable<FlagDefinition["bucketBy"]>, EvaluationContext]>([
    ["userId", { userId: "id-7" }],
    ["organizationId", { organizationId: "id-7" }],
    ["anonymousId", { anonymousId: "id-7" }],
    ["attributes.company", { attributes: { company: "id-7" } }],
    ["attributes.company.id", { attributes: { company: { id: "id-7" } } }],
  ])(
    "%s selects the bucketing id for the rollout, the variants and a rule percentage",
    (bucketBy, context) => {
      const same: EvaluationContext = { userId: "id-7" };
      for (const fields of [
        { rolloutPercentage: 50 },
        { variants: VARIANTS },
        { rules: [rule({ percentage: 50 })] },
      ] satisfies Partial<FlagDefinition>[]) {
        for (const key of ["a", "b", "c", "d", "e", "f"]) {
          expect(evaluate({ ...fields, key, bucketBy }, context)).toEqual(evaluate({ ...fields, key }, same));
        }
      }
    },
  );

  test("a number or boolean is hashed as text, any other value as an absent id", () => {
    const bucketBy = "attributes.id";
    for (const key of ["a", "b", "c", "d", "e", "f"]) {
      const of = (id: JsonValue) =>
        evaluate({ key, bucketBy, rolloutPercentage: 50 }, { attributes: { id } });
      expect(of(42)).toEqual(of("42"));
      expect(of(true)).toEqual(of("true"));
      for (const other of [null, {}, ["42"]]) expect(of(other)).toEqual(of(""));
      expect(evaluate({ key, bucketBy, rolloutPercentage: 50 })).toEqual(of(""));
    }
  });
});

describe("segments", () => {
  const beta: RuleConditions = { conditions: [{ attribute: "beta", operator: "equals", value: true }] };

  test("a segment holds when its conditions hold", () => {
    const segments = new Map([["beta", beta]]);
    const use: RuleConditions = { conditions: [{ segment: "beta" }] };
    expect(matches(use, { attributes: { beta: true } }, segments)).toBe(true);
    expect(matches(use, {}, segments)).toBe(false);
    expect(matches({ conditions: [], not: use }, {}, segments)).toBe(true);
  });

  test("segments can refer to segments", () => {
    const segments = new Map<string, RuleConditions>([
      ["outer", { conditions: [{ segment: "beta" }], not: { conditions: [{ segment: "eu" }] } }],
      ["beta", beta],
      ["eu", { conditions: [{ attribute: "geo.country", operator: "in", value: ["DE", "FR"] }] }],
    ]);
    const use: RuleConditions = { conditions: [{ segment: "outer" }] };
    expect(matches(use, { attributes: { beta: true } }, segments)).toBe(true);
    expect(matches(use, { attributes: { beta: true }, geo: { country: "DE" } }, segments)).toBe(false);
  });

  test("10 segments that each refer to the next 100 times are evaluated quickly", () => {
    const segments = new Map<string, RuleConditions>();
    for (let index = 0; index < 9; index++) {
      segments.set(`s${index}`, { conditions: Array(100).fill({ segment: `s${index + 1}` }) });
    }
    segments.set("s9", beta);
    const use: RuleConditions = { conditions: [{ segment: "s0" }] };
    expect(matches(use, { attributes: { beta: true } }, segments)).toBe(true);
    expect(matches(use, {}, segments)).toBe(false);
  });

  test("a flag compiled after a segment changed uses the changed segment", () => {
    const segments = new Map<string, RuleConditions>([["beta", beta]]);
    const use: RuleConditions = { conditions: [{ segment: "beta" }] };
    expect(matches(use, {}, segments)).toBe(false);
    segments.set("beta", { conditions: [] });
    expect(matches(use, {}, segments)).toBe(true);
  });
});
