import { describe, expect, test } from "vitest";
import type { RuleConditions, Segments } from "./definition.ts";
import { checkReferences, countRegex, segmentsOf } from "./references.ts";

const names = (...keys: string[]): RuleConditions => ({ conditions: keys.map((segment) => ({ segment })) });
const patterns = (count: number, pattern = "a"): RuleConditions => ({
  conditions: Array.from({ length: count }, () => ({ attribute: "x", operator: "regex", value: pattern })),
});

/** `s0` refers to `s1`, which refers to `s2`, and so on. */
function chain(length: number): Segments {
  return new Map(
    Array.from({ length }, (_, index) => [
      `s${index}`,
      index + 1 < length ? names(`s${index + 1}`) : names(),
    ]),
  );
}

describe("checkReferences", () => {
  test("accepts segments that exist", () => {
    const segments = new Map([
      ["a", names("b")],
      ["b", patterns(2)],
    ]);
    expect(checkReferences([names("a", "b", "a"), patterns(6)], segments)).toBeUndefined();
  });

  test("reports a missing segment with the chain of segments that leads to it", () => {
    expect(checkReferences([names("a")], new Map([["a", names("gone")]]))).toEqual({
      problem: 'the segment "gone" does not exist',
      path: "a.gone",
    });
  });

  test.each<[string, Segments, string]>([
    ["itself", new Map([["a", names("a")]]), "a.a"],
    [
      "another segment that refers back to it",
      new Map([
        ["a", names("b")],
        ["b", { conditions: [], not: names("a") }],
      ]),
      "a.b.a",
    ],
  ])("a segment that refers to %s is rejected as a circular reference", (_name, segments, path) => {
    expect(checkReferences([names("a")], segments)).toMatchObject({ path });
  });

  test("segments may be nested at most 10 levels deep", () => {
    expect(checkReferences([names("s0")], chain(10))).toBeUndefined();
    expect(checkReferences([names("s0")], chain(11))).toMatchObject({ limit: 10 });
    // Also when a shorter path has reached the deep segments before.
    expect(checkReferences([names("s1", "s0")], chain(11))).toMatchObject({ limit: 10 });
  });

  test("a flag may have 8 regex conditions, including those of its segments, counted once per segment", () => {
    const segments = new Map([["a", patterns(4)]]);
    expect(checkReferences([patterns(4), names("a", "a")], segments)).toBeUndefined();
    expect(checkReferences([patterns(5), names("a")], segments)).toMatchObject({ limit: 8, path: "a" });
  });

  test("the patterns of a flag may compile to at most 500 instructions in total", () => {
    expect(checkReferences([patterns(4, "a{110}")], new Map())).toBeUndefined();
    expect(checkReferences([patterns(5, "a{110}")], new Map())).toMatchObject({ limit: 500 });
  });

  test("10 segments that each refer to the next 100 times are checked quickly", () => {
    const segments = new Map(
      Array.from({ length: 10 }, (_, index): [string, RuleConditions] => [
        `s${index}`,
        index < 9 ? names(...Array(100).fill(`s${index + 1}`)) : names(),
      ]),
    );
    expect(checkReferences([names("s0")], segments)).toBeUndefined();
  });
});

describe("countRegex and segmentsOf", () => {
  const tree: RuleConditions = {
    conditions: [{ segment: "a" }, { conditions: [{ segment: "b" }, ...patterns(2).conditions] }],
    not: { conditions: [{ segment: "a" }, ...patterns(1).conditions] },
  };

  test("include nested groups and not", () => {
    expect(countRegex(tree)).toBe(3);
    expect(segmentsOf(tree)).toEqual(new Set(["a", "b"]));
  });
});

test("a flag may have 100 rules, and 2,000 conditions and groups including those of its segments", () => {
  const wide = (count: number): RuleConditions => ({
    conditions: Array.from({ length: count - 1 }, () => ({ attribute: "x", operator: "equals", value: 1 })),
  });
  const none = new Map<string, RuleConditions>();
  expect(checkReferences(Array(100).fill(wide(20)), none)).toBeUndefined();
  expect(checkReferences(Array(101).fill(wide(1)), none)).toMatchObject({ limit: 100 });
  expect(checkReferences([...Array(10).fill(wide(200)), wide(1)], none)).toMatchObject({ limit: 2_000 });
  const big = new Map([["big", wide(200)]]);
  expect(checkReferences([...Array(9).fill(wide(200)), names("big")], big)).toMatchObject({ limit: 2_000 });
});
