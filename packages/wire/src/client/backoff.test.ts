import fc from "fast-check";
import { expect, test } from "vitest";
import { backoffMs } from "./backoff.ts";

test("the delay doubles from initialDelayMs and stops growing at maxDelayMs", () => {
  const waits = [0, 1, 2, 3, 4, 5, 6, 50].map((attempt) => backoffMs({ jitter: "none" }, attempt, 0));
  expect(waits).toEqual([300, 600, 1_200, 2_400, 4_800, 9_600, 10_000, 10_000]);
});

test("a first delay of 0 stays 0 after any number of failures", () => {
  expect(backoffMs({ initialDelayMs: 0, jitter: "none" }, 5_000, 0)).toBe(0);
});

test("full jitter waits a random part of the delay and never more", () => {
  expect(backoffMs({}, 2, 0)).toBe(0);
  expect(backoffMs({}, 2, 0.5)).toBe(600);
  fc.assert(
    fc.property(
      fc.record({ initialDelayMs: fc.nat(), maxDelayMs: fc.nat() }),
      fc.nat(2_000),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (options, attempt, chance) => {
        const wait = backoffMs({ ...options, jitter: "full" }, attempt, chance);
        expect(wait).toBeGreaterThanOrEqual(0);
        expect(wait).toBeLessThanOrEqual(options.maxDelayMs);
      },
    ),
  );
});
