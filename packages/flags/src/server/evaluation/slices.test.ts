import { describe, expect, test } from "vitest";
import { Slices } from "./slices.ts";

const CHEAP = 300;
const EXPENSIVE = 300_000;

describe("a request with many flags", () => {
  test("evaluates 100 cheap flags without a pause, and pauses before many more", async () => {
    const slices = new Slices();
    const taken = Array.from({ length: 1_000 }, () => slices.take(CHEAP)).filter(Boolean).length;
    expect(taken).toBeGreaterThanOrEqual(100);
    expect(taken).toBeLessThan(200);
    await slices.pause();
    expect(slices.take(CHEAP)).toBe(true);
  });

  test("evaluates an expensive flag in a turn of its own", async () => {
    const slices = new Slices();
    expect(slices.take(CHEAP)).toBe(true);
    expect(slices.take(EXPENSIVE)).toBe(false);
    await slices.takeAfterPause(EXPENSIVE);
    expect(slices.take(CHEAP)).toBe(false);
  });
});
