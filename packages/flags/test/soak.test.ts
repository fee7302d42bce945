/** A short soak. The suite in `long` has the full size and also checks that memory does not grow. */
import { expect, test } from "vitest";
import { runFlagSoak } from "./soak.ts";

test("under evaluations and changes, every response is whole, none goes back, and none is old without saying so", async () => {
  const result = await runFlagSoak({
    minutes: 0.1,
    evaluationsPerSecond: 50,
    writesPerSecond: 5,
    warmUp: 0.3,
    atLeast: { evaluations: 100, writes: 10 },
  });
  expect(result.problems).toEqual([]);
}, 120_000);
