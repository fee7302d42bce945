import { expect, test } from "vitest";
import { uuidv7 } from "./uuid.ts";

test("ids are unique UUIDs of version 7 that sort by time", () => {
  const ids = Array.from({ length: 1000 }, (_, i) => uuidv7(1_700_000_000_000 + i));
  for (const id of ids)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect([...ids].sort()).toEqual(ids);
  expect(new Set(ids).size).toBe(1000);
  expect(Number.parseInt(uuidv7(1_700_000_000_123).replaceAll("-", "").slice(0, 12), 16)).toBe(
    1_700_000_000_123,
  );
});
