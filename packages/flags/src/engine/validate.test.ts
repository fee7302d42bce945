import { describe, expect, test } from "vitest";
import { compileFlag } from "./compile.ts";
import type { FlagDefinition, RuleConditions, RuleDefinition, Segments } from "./definition.ts";

const NO_SEGMENTS: Segments = new Map();

function flag(fields: Partial<FlagDefinition> = {}): FlagDefinition {
  return { key: "flag", type: "string", enabled: true, defaultValue: "default", rules: [], ...fields };
}

function rule(fields: Partial<RuleDefinition> = {}): RuleDefinition {
  return { id: "r", enabled: true, salt: "s", conditions: { conditions: [] }, value: "rule", ...fields };
}

describe("an invalid definition does not compile", () => {
  const variant = { key: "a", weight: 100, value: "A" };
  const unsafe = (fields: object) => fields as Partial<FlagDefinition>;
  test.each<[string, Partial<FlagDefinition>]>([
    ["an empty key", { key: "" }],
    ["an unknown type", unsafe({ type: "date" })],
    ["enabled that is a string", unsafe({ enabled: "true" })],
    ["a default value of another type", { defaultValue: 1 }],
    ["an off value of another type", { offValue: 1 }],
    ["a rollout with a fraction", { rolloutPercentage: 12.5 }],
    ["a rollout over 100", { rolloutPercentage: 101 }],
    ["a rollout that is not a number", { rolloutPercentage: Number.NaN }],
    ["an unknown bucketBy", unsafe({ bucketBy: "email" })],
    ["bucketBy without a path", unsafe({ bucketBy: "attributes." })],
    ["weights that do not sum to 100", { variants: [{ ...variant, weight: 99 }] }],
    [
      "two variants with the same key",
      {
        variants: [
          { ...variant, weight: 50 },
          { ...variant, weight: 50 },
        ],
      },
    ],
    [
      "a negative weight",
      {
        variants: [
          { ...variant, weight: 110 },
          { key: "b", weight: -10, value: "" },
        ],
      },
    ],
    ["a variant's value of another type", { variants: [{ ...variant, value: 1 }] }],
    ["a rule's value of another type", { rules: [rule({ value: true })] }],
    ["a rule that names an unknown variant", { rules: [rule({ variant: "x" })] }],
    ["a rule's percentage over 100", { rules: [rule({ percentage: 100.1 })] }],
    ["invalid conditions", { rules: [rule({ conditions: unsafe({}) as RuleConditions })] }],
    ["an unknown segment", { rules: [rule({ conditions: { conditions: [{ segment: "x" }] } })] }],
    ["an environment's default value of another type", { environments: { e: { defaultValue: 1 } } }],
    ["an environment's off value of another type", { environments: { e: { offValue: 1 } } }],
    ["an environment's rollout over 100", { environments: { e: { rolloutPercentage: 200 } } }],
  ])("%s", (_name, fields) => {
    expect(() => compileFlag(flag(fields), NO_SEGMENTS)).toThrow(/is not valid/);
  });

  test("a rule without a value or variant", () => {
    const { value: _, ...bare } = rule();
    expect(() => compileFlag(flag({ rules: [bare] }), NO_SEGMENTS)).toThrow(/no value and no variant/);
  });

  test("an invalid segment", () => {
    const segments = new Map([["s", { conditions: "x" } as unknown as RuleConditions]]);
    const rules = [rule({ conditions: { conditions: [{ segment: "s" }] } })];
    expect(() => compileFlag(flag({ rules }), segments)).toThrow();
  });

  test("weights of 33.333, 33.333 and 33.334 are accepted as 100", () => {
    const variants = [33.333, 33.333, 33.334].map((weight, index) => ({
      key: `${index}`,
      weight,
      value: "",
    }));
    expect(() => compileFlag(flag({ variants }), NO_SEGMENTS)).not.toThrow();
  });
});
