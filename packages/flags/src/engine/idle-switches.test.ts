import { describe, expect, test } from "vitest";
import type { FlagDefinition, RuleDefinition } from "./definition.ts";
import { idleSwitches } from "./idle-switches.ts";

type Fields = Partial<FlagDefinition>;

const idle = (fields: Fields = {}) =>
  idleSwitches({ key: "k", type: "boolean", enabled: true, rules: [], ...fields });

const rule = (fields: Partial<RuleDefinition> = {}): RuleDefinition => ({
  id: "r",
  enabled: true,
  salt: "s",
  conditions: { conditions: [{ attribute: "plan", operator: "equals", value: "pro" }] },
  value: true,
  ...fields,
});
const everyone = { conditions: [] };
const variants = [{ key: "a", weight: 100, value: false }];

describe("the switch of a flag changes nothing", () => {
  test.each<[string, Fields, unknown]>([
    ["a default value alone", { defaultValue: true }, true],
    ["no value at all", {}, false],
    ["an off value that equals the default value", { defaultValue: true, offValue: true }, true],
    [
      "an equal object",
      { type: "json", defaultValue: { a: 1, b: [2] }, offValue: { b: [2], a: 1 } },
      { b: [2], a: 1 },
    ],
    ["a rollout to 0 %", { rolloutPercentage: 0 }, false],
    ["variants that a rollout to 0 % excludes", { rolloutPercentage: 0, variants }, false],
    [
      "a rollout of a string flag without variants",
      { type: "string", defaultValue: "x", rolloutPercentage: 50 },
      "x",
    ],
    ["a rule that gives the same value", { defaultValue: true, rules: [rule()] }, true],
    [
      "rules for environments that give the same value there",
      { rules: [rule({ value: false, environments: ["prod", "stage"] })] },
      false,
    ],
    [
      "a rule that an environment with its own switch has alone",
      { rules: [rule({ environments: ["prod"] })], environments: { prod: { enabled: true } } },
      false,
    ],
    ["a disabled rule", { rules: [rule({ enabled: false })] }, false],
    ["a rule for 0 %", { rules: [rule({ percentage: 0 })] }, false],
    [
      "a rule for everyone before all else",
      { rules: [rule({ conditions: everyone, value: false }), rule()], rolloutPercentage: 50 },
      false,
    ],
    ["an environment in which it is the same", { environments: { prod: { rolloutPercentage: 0 } } }, false],
    [
      "an environment that has its own switch",
      { environments: { prod: { enabled: true, rolloutPercentage: 9 } } },
      false,
    ],
  ])("with %s", (_name, fields, value) => {
    expect(idle(fields)).toEqual([{ value }]);
  });

  test("in an environment that keeps a value of its own, and the others are not named", () => {
    const environments = {
      prod: { defaultValue: true, rolloutPercentage: 100 },
      dark: { rolloutPercentage: 0 },
    };
    expect(idle({ rolloutPercentage: 50, environments })).toEqual([{ environment: "prod", value: true }]);
    expect(idle({ environments: { __proto__x: { defaultValue: true } } })).toEqual([
      { value: false },
      { environment: "__proto__x", value: true },
    ]);
  });
});

describe("the switch of a flag changes something", () => {
  test.each<[string, Fields]>([
    ["an off value other than the default value", { defaultValue: true, offValue: false }],
    ["a rollout of a boolean flag", { rolloutPercentage: 1 }],
    ["variants, even with the same value", { variants }],
    ["a rule that gives another value", { rules: [rule()] }],
    [
      "a rule that gives a variant",
      { variants, rolloutPercentage: 0, rules: [rule({ value: false, variant: "a" })] },
    ],
    ["a rule for everyone that gives another value", { rules: [rule({ conditions: everyone })] }],
    [
      "a rule for some of everyone",
      { rules: [rule({ conditions: everyone, value: false, percentage: 50 })], rolloutPercentage: 50 },
    ],
    [
      "a rule for everyone except some",
      { rules: [rule({ conditions: { ...everyone, not: everyone }, value: false }), rule()] },
    ],
    ["an environment with a rollout", { environments: { prod: { rolloutPercentage: 5 } } }],
    [
      "an environment with an off value",
      { defaultValue: true, offValue: false, environments: { prod: { offValue: false } } },
    ],
  ])("with %s", (_name, fields) => {
    expect(idle(fields)).toEqual([]);
  });
});
