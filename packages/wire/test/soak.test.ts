import { expect, test } from "vitest";
import { runSoak } from "./fixtures/long/soak.ts";

test("two servers over Redis have no more connections, timers and handles after a load with churn than before it", async () => {
  const figures = await runSoak({
    ...{ connections: 100, topics: 20, perSecond: 200, minutes: 0.1, churn: 5, warmUp: 0.2 },
  });
  expect(figures["connections replaced"]).toBeGreaterThan(10);
}, 120_000);
