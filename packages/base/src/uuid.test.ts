import { expect, test } from "vitest";
import { uuidv7 } from "./uuid.ts";

const MS = Date.parse("2026-03-04T05:06:07.089Z");
const makeMany = () => Array.from({ length: 2_000 }, () => uuidv7(MS));

test("a UUID has its time, its version and its variant in their places", () => {
  const time = MS.toString(16).padStart(12, "0");
  const start = `${time.slice(0, 8)}-${time.slice(8)}-7`;
  for (const uuid of makeMany()) {
    expect(uuid.startsWith(start)).toBe(true);
    expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
});

test("no two UUIDs of the same time are the same, however many are made", () => {
  expect(new Set(makeMany()).size).toBe(2_000);
});

test("every random digit takes every value it may, and no UUID ends in zeros only", () => {
  const tails = makeMany().map((uuid) => uuid.slice(15).replaceAll("-", ""));
  for (let at = 0; at < 19; at++) {
    const seen = new Set(tails.map((tail) => tail[at]));
    expect(seen.size).toBe(at === 3 ? 4 : 16);
  }
  expect(tails.filter((tail) => tail.endsWith("0".repeat(12)))).toEqual([]);
});

test("a later UUID sorts after an earlier one", () => {
  expect(uuidv7(MS) < uuidv7(MS + 1)).toBe(true);
});

test("UUIDs of one millisecond with a sequence sort by it, and are random besides", () => {
  const ids = Array.from({ length: 4096 }, (_, sequence) => uuidv7(MS, sequence));
  expect([...ids].sort()).toEqual(ids);
  expect(uuidv7(MS, 1)).not.toBe(uuidv7(MS, 1));
  for (const id of ids) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
});
