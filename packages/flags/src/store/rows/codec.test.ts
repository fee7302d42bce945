import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isJsonValue } from "../../engine/json.ts";
import { decodeJson, encodeJson, reviveEntity } from "./codec.ts";

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

describe("an entity from the audit log", () => {
  type Entity = { name: string; at: Date; endsAt?: Date };
  const revive = (text: string | null) => reviveEntity<Entity>(text, ["at", "endsAt"]);

  test("has dates in its times, only where it has times, and texts that look like dates elsewhere", () => {
    const time = "2026-01-02T03:04:05.000Z";
    expect(revive(JSON.stringify({ name: time, at: time }))).toStrictEqual({
      name: time,
      at: new Date(time),
    });
  });

  test.each([null, "null", "[]", '"flag"', "1"])("is refused if its text is %j", (text) => {
    expect(() => revive(text)).toThrow("An audit entry holds no entity after its change.");
  });

  test("is refused with the field whose time is invalid", () => {
    const text = JSON.stringify({ name: "N", at: "2026-01-02T03:04:05.000Z", endsAt: "soon" });
    expect(() => revive(text)).toThrow('An audit entry has an invalid time in the field "endsAt".');
  });
});
