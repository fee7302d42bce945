import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isJsonValue, MAX_JSON_DEPTH } from "./json.ts";

function nested(levels: number): unknown {
  let value: unknown = "leaf";
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

describe("isJsonValue", () => {
  test("every result of JSON.parse is a JSON value", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), (text) => {
        expect(isJsonValue(JSON.parse(text))).toBe(true);
      }),
    );
  });

  test("an object made by JSON.parse with a __proto__ key is a JSON value", () => {
    expect(isJsonValue(JSON.parse('{"__proto__":{"a":1}}'))).toBe(true);
  });

  test.each([
    ["undefined", undefined],
    ["NaN", Number.NaN],
    ["Infinity", Number.POSITIVE_INFINITY],
    ["a bigint", 1n],
    ["a date", new Date(0)],
    ["a map", new Map()],
    ["a function", () => 1],
    ["a class instance", new (class Point {})()],
    ["undefined inside an object", { a: undefined }],
    ["a hole in an array", new Array(1)],
  ])("%s is not a JSON value", (_name, value) => {
    expect(isJsonValue(value)).toBe(false);
  });

  test("nesting is accepted up to the limit and rejected beyond it, including cycles", () => {
    expect(isJsonValue(nested(MAX_JSON_DEPTH))).toBe(true);
    expect(isJsonValue(nested(MAX_JSON_DEPTH + 1))).toBe(false);
    const cycle: unknown[] = [];
    cycle.push(cycle);
    expect(isJsonValue(cycle)).toBe(false);
  });
});
