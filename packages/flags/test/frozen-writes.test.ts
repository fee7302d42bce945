import { expect, test } from "vitest";
import { seedOfRun } from "./engine/random.ts";
import { runFreezes, WHOLE } from "./frozen-writes.ts";

test("a process that is stopped or cut off inside a write holds up other switches for seconds only, and goes on afterwards", {
  timeout: 120_000,
}, async () => {
  const seed = seedOfRun();
  const result = await runFreezes({ freezes: 6, seed });
  console.log(`HALYARD_SEED=${seed}`, result);
  expect(result).toMatchObject(WHOLE);
  expect(result.frozenInside.stop + result.frozenInside.network).toBeGreaterThan(0);
  expect(result.longestMs.sameTenant).toBeLessThanOrEqual(10_000);
  expect(result.longestMs.sameCounter).toBeLessThanOrEqual(5000);
  expect(result.longestMs.otherCounter).toBeLessThanOrEqual(5000);
});
