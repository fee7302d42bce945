/** Channels with history while servers, connections and Redis fail, small. */
import { expect, test } from "vitest";
import { seedOf } from "./fixtures/random.ts";
import { runResumeChaos } from "./fixtures/resume-chaos/run.ts";

test.each([
  ["get every message once and in order while servers and connections fail", "steady"],
  ["get every message once and in order, or a gap, while Redis is killed and loses its data", "volatile"],
  ["get every message once and in order while a durable Redis is killed", "durable"],
] as const)(
  "members of channels with history %s",
  async (_title, redis) => {
    const figures = await runResumeChaos({
      redis,
      seed: seedOf(`resume with a ${redis} Redis`),
      crowds: 1,
      clients: 20,
      rooms: 4,
      publishesPerSecond: 40,
      faults: 2,
      faultEveryMs: 1_000,
      // It takes 5 s. `presence.test.ts` shows it.
      checksDead: false,
    });
    expect(figures["deliveries, once and in order"]).toBeGreaterThan(100);
  },
  120_000,
);
