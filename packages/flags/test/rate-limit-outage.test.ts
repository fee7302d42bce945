/** Checks the rate limits while the shared Redis is frozen or down, and after it recovers. */
import { redisRateLimitStore } from "@halyard/flags/redis";
import { type PrivateServer, startRedis } from "@halyard/services";
import { afterAll, beforeAll, expect, test } from "vitest";
import { memoryHost } from "./memory-host.ts";
import { connectRedis } from "./redis-storage.ts";

let redis: PrivateServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

const outages = {
  "does not respond": { begin: async () => redis.pause(), end: async () => redis.resume() },
  "has died": { begin: () => redis.kill(), end: () => redis.restart() },
};

test.each(Object.entries(outages))(
  "while Redis %s, the process counts alone, and afterwards limits are shared again",
  async (name, { begin, end }) => {
    const prefix = `${name}:`;
    const client = await connectRedis(redis.url);
    const messages: string[] = [];
    const host = await memoryHost({
      rateLimit: { enabled: true },
      log: (message) => messages.push(message),
      flags: { rateLimit: { store: redisRateLimitStore(client, { prefix }) } },
    });
    const warnings = () =>
      messages.filter((message) => /The rate limit store does not respond/.test(message));
    const evaluate = async (address: string) =>
      (await host.request("/feature-flags/evaluate", { flagKey: "k" }, { "x-forwarded-for": address }))
        .status;
    const isDown = async () =>
      /^halyard_flags_rate_limit_store_down 1$/m.test(String(await host.auth.api.getFeatureFlagsMetrics()));

    expect(await evaluate("192.0.2.1")).toBe(200);
    expect(Number(await client.get(`${prefix}evaluate:address:192.0.2.1`))).toBe(10);
    expect([warnings(), await isDown()]).toEqual([[], false]);

    await begin();
    const statuses = await Promise.all(Array.from({ length: 130 }, () => evaluate("192.0.2.2")));
    expect(statuses.filter((status) => status === 200)).toHaveLength(100);
    expect(statuses.filter((status) => status === 429)).toHaveLength(30);
    expect(await evaluate("192.0.2.3")).toBe(200);
    expect([warnings().length, await isDown()]).toEqual([1, true]);

    await end();
    await expect
      .poll(() => evaluate("192.0.2.4").then(isDown), { timeout: 30_000, interval: 200 })
      .toBe(false);
    expect(await evaluate("192.0.2.5")).toBe(200);
    expect(Number(await client.get(`${prefix}evaluate:address:192.0.2.5`))).toBe(10);
    expect(warnings()).toHaveLength(1);
    client.destroy();
  },
  60_000,
);
