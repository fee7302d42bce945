import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkConditions } from "./conditions.ts";
import type { RuleConditions } from "./definition.ts";

const leaf = { attribute: "x", operator: "equals", value: 1 };
const one = (operator: string, value: unknown) => ({ conditions: [{ attribute: "x", operator, value }] });

function nested(levels: number): unknown {
  let tree: unknown = { conditions: [leaf] };
  for (let level = 1; level < levels; level++) tree = { conditions: [tree] };
  return tree;
}

describe("checkConditions", () => {
  test("returns valid conditions unchanged", () => {
    const tree: RuleConditions = {
      operator: "OR",
      conditions: [
        { attribute: "attributes.plan", operator: "in", value: ["pro", null, { a: 1 }] },
        { segment: "beta" },
        { conditions: [], not: { operator: "AND", conditions: [] } },
        { attribute: "email", operator: "regex", value: "@example\\.com$" },
      ],
      not: { conditions: [{ attribute: "a.b.c", operator: "greater_than", value: "2026-01-01" }] },
    };
    expect(checkConditions(tree)).toEqual({ conditions: tree });
  });

  test.each<[string, unknown, string]>([
    ["null", null, ""],
    ["text", "x", ""],
    ["a list", [], ""],
    ["a class instance", new Map(), ""],
    ["no conditions", {}, "conditions"],
    ["conditions that are not a list", { conditions: "x" }, "conditions"],
    ["an unknown group operator", { operator: "XOR", conditions: [] }, "operator"],
    ["a group operator in lower case", { operator: "and", conditions: [] }, "operator"],
    ["an unknown key of a group", { conditions: [], nott: { conditions: [] } }, "nott"],
    ["a not that is a condition", { conditions: [], not: leaf }, "not.attribute"],
    ["a not that is null", { conditions: [], not: null }, "not"],
    [
      "a member without attribute, conditions or segment",
      { conditions: [{ operator: "equals", value: 1 }] },
      "conditions.0",
    ],
    ["a member that is null", { conditions: [leaf, null] }, "conditions.1"],
    ["a hole in a sparse array", { conditions: new Array(1) }, "conditions.0"],
    [
      "a condition that is also a segment",
      { conditions: [{ ...leaf, segment: "s" }] },
      "conditions.0.attribute",
    ],
    [
      "a condition that is also a group",
      { conditions: [{ ...leaf, conditions: [] }] },
      "conditions.0.attribute",
    ],
    ["an unknown key of a condition", { conditions: [{ ...leaf, negate: true }] }, "conditions.0.negate"],
    [
      "an attribute that is not a string",
      { conditions: [{ ...leaf, attribute: 1 }] },
      "conditions.0.attribute",
    ],
    ["an empty attribute", { conditions: [{ ...leaf, attribute: "" }] }, "conditions.0.attribute"],
    ["a segment that is not a string", { conditions: [{ segment: 1 }] }, "conditions.0.segment"],
    ["an unknown operator", one("like", "a"), "conditions.0.operator"],
    ["an inherited operator", one("constructor", "a"), "conditions.0.operator"],
    ["no operator", { conditions: [{ attribute: "x", value: 1 }] }, "conditions.0.operator"],
    ["no value", { conditions: [{ attribute: "x", operator: "equals" }] }, "conditions.0.value"],
    ["a value that is not JSON", one("equals", Number.NaN), "conditions.0.value"],
    ["in without a list", one("in", "a"), "conditions.0.value"],
    ["not_in without a list", one("not_in", { 0: "a", length: 1 }), "conditions.0.value"],
    ["a pattern that is not a string", one("regex", 5), "conditions.0.value"],
    ["a pattern that does not compile", one("regex", "("), "conditions.0.value"],
    ["a back reference", one("regex", "(a)\\1"), "conditions.0.value"],
    ["a look-ahead", one("regex", "(?=a)b"), "conditions.0.value"],
    ["a look-behind", one("regex", "(?<=a)b"), "conditions.0.value"],
  ])("rejects %s and reports its path", (_name, value, path) => {
    expect(checkConditions(value)).toEqual({ problem: expect.any(String), path });
  });

  test.each<[string, unknown, unknown, number]>([
    ["10 groups deep", nested(10), nested(11), 10],
    ["200 nodes", { conditions: Array(199).fill(leaf) }, { conditions: Array(200).fill(leaf) }, 200],
    ["lists of 1,000", one("in", Array(1_000).fill(1)), one("in", Array(1_001).fill(1)), 1_000],
    ["patterns of 256", one("regex", "a".repeat(256)), one("regex", "a".repeat(257)), 256],
    ["500 instructions", one("regex", "a{490}"), one("regex", "a{510}"), 500],
  ])("allows %s and rejects more", (_name, allowed, refused, limit) => {
    expect(checkConditions(allowed)).toHaveProperty("conditions");
    expect(checkConditions(refused)).toMatchObject({ limit });
  });

  test("a not counts towards the nesting limit like any other group", () => {
    let tree: unknown = { conditions: [] };
    for (let level = 1; level < 11; level++) tree = { conditions: [], not: tree };
    expect(checkConditions(tree)).toMatchObject({ limit: 10 });
  });

  test("reads own properties only, not inherited ones", () => {
    const inherited = Object.assign(Object.create({ conditions: [] }), {});
    expect(checkConditions(inherited)).toHaveProperty("problem");
    const poisoned = JSON.parse('{"conditions":[],"__proto__":{"operator":"OR"}}');
    expect(checkConditions(poisoned)).toMatchObject({ path: "__proto__" });
  });

  test("never throws, and accepts its own output", () => {
    const part = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.record({
        attribute: fc.string(),
        operator: fc.constantFrom("equals", "in", "regex"),
        value: fc.jsonValue(),
      }),
      fc.record({ segment: fc.string() }),
    );
    const tree = fc.record(
      { operator: fc.constantFrom("AND", "OR", 1), conditions: fc.array(part), not: part },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(tree, fc.anything()), (value) => {
        const checked = checkConditions(value);
        if ("conditions" in checked) expect(checkConditions(checked.conditions)).toEqual(checked);
        else expect(checked.problem).not.toBe("");
      }),
      { numRuns: 2_000 },
    );
  });

  test("a tree of a million members is rejected without reading all of it", () => {
    let reads = 0;
    const conditions = new Proxy(Array(1_000_000).fill(leaf), {
      get(members, key, receiver) {
        reads++;
        return Reflect.get(members, key, receiver);
      },
      ownKeys() {
        throw new Error("All members were listed.");
      },
    });
    expect(checkConditions({ conditions })).toMatchObject({ limit: 200 });
    expect(reads).toBeGreaterThan(0);
    expect(reads).toBeLessThan(1_000);
  });
});

test("the text of contains and not_contains may have at most 256 characters", () => {
  for (const operator of ["contains", "not_contains"]) {
    expect(checkConditions(one(operator, "x".repeat(256)))).toHaveProperty("conditions");
    expect(checkConditions(one(operator, "x".repeat(257)))).toMatchObject({
      limit: 256,
      path: "conditions.0.value",
    });
  }
});

test("the ninth regex condition is rejected before it is compiled", () => {
  const regex = (pattern: string) => ({ attribute: "x", operator: "regex", value: pattern });
  const eight = Array.from({ length: 8 }, () => regex("a"));
  expect(checkConditions({ conditions: eight })).toHaveProperty("conditions");
  expect(checkConditions({ conditions: [...eight, regex("(")] })).toMatchObject({
    limit: 8,
    path: "conditions.8",
  });
});
