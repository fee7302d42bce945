import { serialize } from "node:v8";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fingerprint } from "./fingerprint.ts";

const clonable = fc.anything({
  withBigInt: true,
  withDate: true,
  withMap: true,
  withSet: true,
  withTypedArray: true,
  withNullPrototype: false,
});

const failure = new Error("x");

describe("a fingerprint", () => {
  test("is the same for a clone", () => {
    fc.assert(
      fc.property(clonable, (value) => {
        expect(fingerprint(structuredClone(value))).toEqual(fingerprint(value));
      }),
    );
  });

  test("counts at least as many bytes as the clone has", () => {
    fc.assert(
      fc.property(fc.oneof(clonable, fc.string({ unit: "binary", maxLength: 500 })), (value) => {
        expect(fingerprint(value).bytes).toBeGreaterThanOrEqual(serialize(value).byteLength);
      }),
    );
  });

  test("counts the whole buffer of a view once, as the clone contains it", () => {
    const buffer = new ArrayBuffer(20_000);
    const views = { one: new Uint8Array(buffer, 0, 4), other: new Uint8Array(buffer, 8, 4) };
    expect(fingerprint(views).bytes).toBeGreaterThanOrEqual(20_000);
    expect(fingerprint(views).bytes).toBeLessThan(21_000);
  });

  test.each<[unknown, unknown]>([
    [{ a: 1 }, { a: 2 }],
    [{ a: 1 }, { a: "1" }],
    [{ a: undefined }, {}],
    [{ a: null }, { a: undefined }],
    [{ a: 0 }, { a: -0 }],
    [{ a: [1, 2] }, { a: [1, [2]] }],
    [{ a: [] }, { a: {} }],
    [new Map([["a", 1]]), { a: 1 }],
    [new Set([1]), [1]],
    [new Date(1), new Date(2)],
    [new Uint8Array([1]), new Uint8Array([2])],
    [new Uint8Array([1, 0]), new Uint16Array([1])],
    [1n, 1],
    [/a/g, /a/i],
    [Object.assign(failure, { code: 1 }), Object.assign(new Error("x"), { stack: failure.stack, code: 2 })],
  ])("differs for %o and %o", (one, other) => {
    expect(fingerprint(one).text).not.toBe(fingerprint(other).text);
  });

  test("terminates for a value that contains itself", () => {
    const ring: Record<string, unknown> = { name: "ring" };
    ring["self"] = ring;
    expect(fingerprint(ring).text).toBe(fingerprint(structuredClone(ring)).text);
  });
});
