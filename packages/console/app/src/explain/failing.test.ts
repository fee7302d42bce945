import { expect, test } from "vitest";
import { failingOf } from "./failing.ts";

const condition = (attribute: string, holds: boolean) =>
  ({ attribute, operator: "equals", expected: "pro", actual: "free", holds }) as const;
const attributesOf = (group: Parameters<typeof failingOf>[0]): string[] =>
  failingOf(group).map(({ trace, isExcluded }) => (isExcluded ? `not ${trace.attribute}` : trace.attribute));

test("only the conditions that do not hold explain why a rule did not match", () => {
  const conditions = [condition("plan", false), condition("email", true)];
  expect(attributesOf({ operator: "AND", holds: false, conditions })).toEqual(["plan"]);
});

test("conditions of segments and of groups count, and those that must not hold", () => {
  const inSegment = { operator: "AND", holds: false, conditions: [condition("country", false)] } as const;
  expect(
    attributesOf({
      operator: "AND",
      holds: false,
      conditions: [{ segment: "nordics", holds: false, conditions: inSegment }],
      not: { operator: "OR", holds: true, conditions: [condition("role", true), condition("tier", false)] },
    }),
  ).toEqual(["country", "not role"]);
});
