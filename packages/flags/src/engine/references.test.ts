import { describe, expect, test } from "vitest";
import type { RuleConditions, Segments } from "./definition.ts";
import { checkReferences, countRegex, segmentsOf } from "./references.ts";

const names = (...keys: string[]): RuleConditions => ({ conditions: keys.map((segment) => ({ segment })) });
const patterns = (count: number, pattern = "a"): RuleConditions => ({
  conditions: Array.from({ length: count }, () => ({ attribute: "x", operator: "regex", value: pattern })),
});

/** `s0` names `s1`, which names `s2`, and so on. */
function chain(length: number): Segments {
  return new Map(
    Array.from({ length }, (_, index) => [
      `s${index}`,
      index + 1 < length ? names(`s${index + 1}`) : names(),
    ]),
  );
}

describe("checkReferences", () => {
  test("finds nothing wrong with segments that exist", () => {
    const segments = new Map([
      ["a", names("b")],
      ["b", patterns(2)],
    ]);
    expect(checkReferences([names("a", "b", "a"), patterns(6)], segments)).toBeUndefined();
  });

  test("a segment that does not exist is named with the way to it", () => {
    expect(checkReferences([names("a")], new Map([["a", names("gone")]]))).toEqual({
      problem: 'there is no segment "gone"',
      path: "a.gone",
    });
  });

  test.each<[string, Segments, string]>([
    ["itself", new Map([["a", names("a")]]), "a.a"],
    [
      "another that names it",
      new Map([
        ["a", names("b")],
        ["b", { conditions: [], not: names("a") }],
      ]),
      "a.b.a",
    ],
  ])("a segment that names %s is a circle", (_name, segments, path) => {
    expect(checkReferences([names("a")], segments)).toMatchObject({ path });
  });

  test("segments may be 10 levels deep and no more", () => {
    expect(checkReferences([names("s0")], chain(10))).toBeUndefined();
    expect(checkReferences([names("s0")], chain(11))).toMatchObject({ limit: 10 });
    // Also when the deep part was seen before on a shorter way.
    expect(checkReferences([names("s1", "s0")], chain(11))).toMatchObject({ limit: 10 });
  });

  test("a flag may have 8 regex conditions, its segments' included, each segment once", () => {
    const segments = new Map([["a", patterns(4)]]);
    expect(checkReferences([patterns(4), names("a", "a")], segments)).toBeUndefined();
    expect(checkReferences([patterns(5), names("a")], segments)).toMatchObject({ limit: 8, path: "a" });
  });

  test("the patterns of a flag together may have 500 instructions", () => {
    expect(checkReferences([patterns(4, "a{110}")], new Map())).toBeUndefined();
    expect(checkReferences([patterns(5, "a{110}")], new Map())).toMatchObject({ limit: 500 });
  });

  test("a thicket of segments, each naming the next twice, is checked at once", () => {
    const thicket = new Map(
      Array.from({ length: 10 }, (_, index): [string, RuleConditions] => [
        `s${index}`,
        index < 9 ? names(...Array(100).fill(`s${index + 1}`)) : names(),
      ]),
    );
    expect(checkReferences([names("s0")], thicket)).toBeUndefined();
  });
});

describe("countRegex and segmentsOf", () => {
  const tree: RuleConditions = {
    conditions: [{ segment: "a" }, { conditions: [{ segment: "b" }, ...patterns(2).conditions] }],
    not: { conditions: [{ segment: "a" }, ...patterns(1).conditions] },
  };

  test("count in groups and in not", () => {
    expect(countRegex(tree)).toBe(3);
    expect(segmentsOf(tree)).toEqual(new Set(["a", "b"]));
  });
});

test("a flag may have 100 rules and 2,000 conditions and groups in all, those of its segments included", () => {
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
