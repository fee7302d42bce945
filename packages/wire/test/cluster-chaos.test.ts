import { expect, test } from "vitest";
import { runClusterChaos } from "./fixtures/cluster/chaos.ts";
import { BROKERS } from "./fixtures/cluster/cluster.ts";
import { seedOf } from "./fixtures/random.ts";

test.each(BROKERS)(
  "three servers over $name keep the order, announce every gap and settle every request while the broker, servers and connections fail",
  async (broker) => {
    const figures = await runClusterChaos({
      broker,
      seed: seedOf(`cluster over ${broker.name}`),
      crowds: 2,
      clients: 60,
      topics: 6,
      publishesPerSecond: 40,
      brokerKills: 2,
      serverKills: 1,
      cuts: 1,
      revocations: 4,
      faultEveryMs: 2_000,
      calmMs: 1_000,
      patienceMs: 3_000,
    });
    expect(figures["deliveries, in order"]).toBeGreaterThan(1_000);
  },
  180_000,
);
