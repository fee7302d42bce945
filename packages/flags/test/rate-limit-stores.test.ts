/** Checks the rate limit stores on a real Redis, with each client. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { redisRateLimitStore } from "@halyard/flags/redis";
import { bunPath, createRedisPrefix } from "@halyard/services";
import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { createSecondaryStore } from "../src/server/limits/secondary-store.ts";
import { describeRateLimitStore } from "./contract/rate-limit-store.ts";
import { connectRedis, redisStorage } from "./redis-storage.ts";

async function nodeRedis() {
  const { url, prefix } = await createRedisPrefix();
  const clients = await Promise.all([connectRedis(url), connectRedis(url)]);
  return {
    prefix,
    clients,
    close: async () => void (await Promise.all(clients.map((client) => client.close()))),
  };
}

describeRateLimitStore("in Redis by node-redis", async () => {
  const { clients, prefix, close } = await nodeRedis();
  const [one, two] = clients;
  return { stores: [redisRateLimitStore(one, { prefix }), redisRateLimitStore(two, { prefix })], close };
});

describeRateLimitStore("in Redis by ioredis", async () => {
  const { url, prefix } = await createRedisPrefix();
  const [one, two] = [new Redis(url), new Redis(url)];
  return {
    stores: [redisRateLimitStore(one, { prefix }), redisRateLimitStore(two, { prefix })],
    close: async () => void (await Promise.all([one.quit(), two.quit()])),
  };
});

describeRateLimitStore("in the secondary storage of Better Auth", async () => {
  const { clients, prefix, close } = await nodeRedis();
  const [one, two] = clients;
  return {
    stores: [
      createSecondaryStore(redisStorage(one, prefix)),
      createSecondaryStore(redisStorage(two, prefix)),
    ],
    close,
  };
});

test("Bun's Redis client is supported", async () => {
  const { url, prefix } = await createRedisPrefix();
  const program = fileURLToPath(new URL("fixtures/bun-redis.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(
    bunPath(),
    ["run", "--conditions=@halyard/source", program, url, prefix],
    { timeout: 50_000 },
  );
  expect(JSON.parse(stdout)).toEqual({ granted: 100, isReset: true });
}, 60_000);

test("an object that is not a Redis client is refused immediately", () => {
  expect(() => redisRateLimitStore({} as never)).toThrow(/not from node-redis, ioredis or Bun/);
});
