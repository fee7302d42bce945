import { expect, test } from "vitest";
import { sanitizeDetails } from "./details.ts";

test("keeps plain JSON data as it is", () => {
  const details = { a: 1, b: [true, null, "x"], c: { d: {} } };
  expect(sanitizeDetails(details)).toEqual(details);
  expect(sanitizeDetails(undefined)).toBeUndefined();
});

test("leaves out keys that name a secret, at any depth and in any case", () => {
  const details = {
    ok: 1,
    userPassword: "x",
    nested: { ACCESS_TOKEN: "x", list: [{ apiKey: "x", fine: true }] },
  };
  expect(sanitizeDetails(details)).toEqual({ ok: 1, nested: { list: [{ fine: true }] } });
});

test("turns what JSON cannot carry into something it can, and breaks cycles", () => {
  const cyclic: Record<string, unknown> = { fn: () => 1, big: 10n, when: new Date(0), nan: Number.NaN };
  cyclic["self"] = cyclic;
  expect(sanitizeDetails(cyclic)).toEqual({ big: "10", when: "1970-01-01T00:00:00.000Z", nan: null });
});

test("says that details over 4 KiB were left out, counted in bytes, without walking all of them", () => {
  expect(sanitizeDetails({ text: "x".repeat(5000) })).toEqual({ truncated: true });
  expect(sanitizeDetails({ text: "é".repeat(2500) })).toEqual({ truncated: true });
  expect(sanitizeDetails({ list: Array.from({ length: 1_000_000 }, () => 1) })).toEqual({ truncated: true });
});

test("treats __proto__ as an ordinary key", () => {
  const clean = sanitizeDetails(JSON.parse('{"__proto__":{"polluted":1}}'));
  expect(JSON.stringify(clean)).toBe('{"__proto__":{"polluted":1}}');
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
});
