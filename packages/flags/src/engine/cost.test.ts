import { expect, test } from "vitest";
import { checkConditions, costOf } from "./conditions.ts";
import type { ConditionOperator, RuleConditions } from "./definition.ts";
import type { JsonValue } from "./json.ts";

const tree = (...conditions: readonly object[]): RuleConditions => {
  const checked = checkConditions({ operator: "OR", conditions });
  if ("problem" in checked) throw new Error(checked.problem);
  return checked.conditions;
};
const cost = (...conditions: readonly object[]) => costOf([tree(...conditions)], new Map());
const of = (operator: string, value: unknown) => ({ attribute: "a", operator, value });

test("searches cost more than comparisons, and large patterns more than small ones", () => {
  const equals = cost(of("equals", "x"));
  const contains = cost(of("contains", "x"));
  const regex = cost(of("regex", "x"));
  expect(contains).toBeGreaterThan(50 * equals);
  expect(regex).toBeGreaterThan(contains);
  expect(cost(of("regex", "x{1,100}"))).toBeGreaterThan(20 * regex);
  expect(cost(of("ends_with", "@example.com"))).toBeLessThan(2 * equals);
});

test("large operands and long paths cost what comparing and reading them can cost", () => {
  const list = Array.from({ length: 1000 }, (_, at) => ({ at }));
  expect(cost(of("in", list))).toBeGreaterThan(3000);
  expect(cost(of("equals", list))).toBeGreaterThan(3000);
  expect(cost(of("contains", { a: 1 }))).toBeGreaterThan(cost(of("contains", "a")));
  const deep = { attribute: Array(5000).fill("a").join("."), operator: "equals", value: 1 };
  expect(cost(deep)).toBeGreaterThan(5000);
});

test("a segment counts once for a flag, however often its rules name it", () => {
  const segments = new Map([["s", tree(of("contains", "x"))]]);
  const named = tree({ segment: "s" });
  const once = costOf([named], segments);
  expect(once).toBeGreaterThan(cost(of("contains", "x")));
  expect(costOf([named, named], segments) - once).toBeLessThan(50);
});

/** The group, the condition and one level of its path. */
const BASE = 10 + 10 + 12;

const stepsOf = (operator: ConditionOperator, value: JsonValue) => cost(of(operator, value)) - BASE;

test.each<[ConditionOperator, JsonValue, number]>([
  ["equals", 1, 3],
  ["equals", "x".repeat(100), 3 + 5],
  ["equals", { a: 1, b: [1, 2] }, 30 + 20 + 3 + 20 + 3 + 3 + 3],
  ["in", ["a", "b"], 3 + 4 + 4],
  ["starts_with", "x".repeat(20), 10 + 3 + 1],
  ["ends_with", "x".repeat(14_000), 10 + 3 + 700],
  ["greater_than", 1, 0],
  ["greater_than", "2030-01-01", 300],
  ["contains", "x", 6000],
  ["not_contains", 1, 500],
  ["contains", [1], 60_000 + 3 + 3],
  ["regex", "@example\\.com$", 4096 + 15 * 1024],
])("%s with %j costs the steps that the guide states", (operator, operand, steps) => {
  expect(stepsOf(operator, operand)).toBe(steps);
});

test("a group and each level of a path cost the steps that the guide states", () => {
  const condition = { attribute: "a.b.c", operator: "equals", value: 1 };
  expect(cost({ conditions: [condition] })).toBe(3 * 10 + 3 * 12 + 3);
});
