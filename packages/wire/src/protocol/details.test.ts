import { expect, test } from "vitest";
import { sanitizeDetails } from "./details.ts";

test("sanitised details keep plain JSON data", () => {
  const details = { a: 1, b: [true, null, "x"], c: { d: {} } };
  expect(sanitizeDetails(details)).toEqual(details);
  expect(sanitizeDetails(undefined)).toBeUndefined();
});

test("sanitised details have no keys that name a secret, at any depth and in any case", () => {
  const details = {
    ok: 1,
    userPassword: "x",
    nested: { ACCESS_TOKEN: "x", list: [{ apiKey: "x", fine: true }] },
  };
  expect(sanitizeDetails(details)).toEqual({ ok: 1, nested: { list: [{ fine: true }] } });
});

test("sanitised details convert values that JSON cannot represent, and break cycles", () => {
  const cyclic: Record<string, unknown> = { fn: () => 1, big: 10n, when: new Date(0), nan: Number.NaN };
  cyclic["self"] = cyclic;
  expect(sanitizeDetails(cyclic)).toEqual({ big: "10", when: "1970-01-01T00:00:00.000Z", nan: null });
});

test("sanitised details over 4 KiB are replaced by a marker, counted in bytes without a full traversal", () => {
  expect(sanitizeDetails({ text: "x".repeat(5000) })).toEqual({ truncated: true });
  expect(sanitizeDetails({ text: "é".repeat(2500) })).toEqual({ truncated: true });
  expect(sanitizeDetails({ list: Array.from({ length: 1_000_000 }, () => 1) })).toEqual({ truncated: true });
});

test("sanitised details treat __proto__ as an ordinary key", () => {
  const clean = sanitizeDetails(JSON.parse('{"__proto__":{"polluted":1}}'));
  expect(JSON.stringify(clean)).toBe('{"__proto__":{"polluted":1}}');
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
});
