import { expect, test } from "vitest";
import type { Flag } from "../api/types.ts";
import { deliveryOf } from "./delivery.ts";

const textOf = (fields: Partial<Flag>, environment?: string): string =>
  deliveryOf({ type: "boolean", enabled: true, ...fields } as Flag, environment).text;

test.each([
  ["2 rules, then 25%", { ruleCount: 2, rolloutPercentage: 25 }],
  ["1 rule, then nobody", { ruleCount: 1, rolloutPercentage: 0 }],
  ["1 rule, then everyone", { ruleCount: 1, rolloutPercentage: 100 }],
  ["25% of people", { rolloutPercentage: 25 }],
  ["Everyone", { rolloutPercentage: 100 }],
  ["Nobody", { rolloutPercentage: 0 }],
  ["Off for everyone", { enabled: false, ruleCount: 2, rolloutPercentage: 25 }],
  ["true for everyone", { defaultValue: true }],
  ['1 rule, then "sale" for everyone', { ruleCount: 1, type: "string", defaultValue: "sale" }],
] as const)("a flag is summed up as %s", (text, fields) => {
  expect(textOf(fields)).toBe(text);
});

test("the settings of the environment that is shown decide", () => {
  const environments = { production: { rolloutPercentage: 25 }, staging: { enabled: false } };
  const flag = { rolloutPercentage: 26, environments };
  expect(textOf(flag)).toBe("26% of people");
  expect(textOf(flag, "production")).toBe("25% of people");
  expect(textOf(flag, "staging")).toBe("Off for everyone");
  expect(textOf(flag, "other")).toBe("26% of people");
});

test("variants are listed with the shares that they have of everyone", () => {
  const variants = [
    { key: "a", weight: 50, value: true },
    { key: "b", weight: 50, value: false },
  ];
  expect(textOf({ variants })).toBe("2 variants, 50 / 50");
  expect(textOf({ variants, rolloutPercentage: 50, ruleCount: 1 })).toBe("1 rule, then 2 variants, 25 / 25");
});
