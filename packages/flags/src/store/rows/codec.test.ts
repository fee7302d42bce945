import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isJsonValue } from "../../engine/json.ts";
import { decodeJson, encodeJson } from "./codec.ts";

describe("the text codec", () => {
  test("returns every JSON value unchanged", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4, stringUnit: "binary" }), (value) => {
        if (!isJsonValue(value)) return;
        expect(JSON.stringify(decodeJson(encodeJson(value)))).toBe(JSON.stringify(value));
      }),
    );
  });

  test.each(["true", "12", "null", "hello", "", "2026-01-02T03:04:05.000Z"])(
    "the string %j stays a string",
    (value) => {
      expect(decodeJson(encodeJson(value))).toBe(value);
    },
  );

  test("returns frozen values", () => {
    const value = decodeJson('{"list":[{"a":1}]}');
    expect(() => Object.assign(value as object, { extra: 1 })).toThrow(TypeError);
    expect(value).toEqual({ list: [{ a: 1 }] });
    expect(Object.isFrozen((value as { list: unknown[] }).list[0])).toBe(true);
  });
});
