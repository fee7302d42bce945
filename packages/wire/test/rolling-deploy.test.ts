import { expect, test } from "vitest";
import { BROKERS } from "./fixtures/cluster/cluster.ts";
import { runRollingDeploy } from "./fixtures/cluster/rolling.ts";
import { seedOf } from "./fixtures/random.ts";

test.each(BROKERS)(
  "a rolling replacement of three servers over $name fails no request and no publish",
  async (broker) => {
    const figures = await runRollingDeploy({
      broker,
      seed: seedOf(`rolling deploy over ${broker.name}`),
      crowds: 2,
      clients: 60,
      topics: 6,
      publishesPerSecond: 40,
      rounds: 1,
      patienceMs: 3_000,
    });
    expect(figures["requests, all answered"]).toBeGreaterThan(200);
  },
  180_000,
);
