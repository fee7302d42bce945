/** Token buckets in real Redis, with each client library. */
import {
  createRedisPrefix,
  type PrivateCluster,
  spawnProgram,
  startRedis,
  startRedisCluster,
} from "@halyard/services";
import { Cluster, Redis } from "ioredis";
import { createClient, createCluster } from "redis";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { TokenBucket } from "../src/middleware/index.ts";
import { RedisRateLimiter, redisRateLimiter } from "../src/redis.ts";
import { rateLimiterContract, type TestLimiter } from "./contract/rate-limiter.ts";
import { connectRemote } from "./fixtures/remote/connect.ts";

type Client = ConstructorParameters<typeof RedisRateLimiter>[0];

const RUNS = 25;
const { url, prefix } = await createRedisPrefix();
let count = 0;

/** Uses the test's clock, because real time would pass while Redis responds. */
function limiter(client: Client, bucket: TokenBucket): TestLimiter {
  let now = 1_000_000;
  const options = { prefix: `${prefix}:${++count}:` };
  return {
    limiter: new RedisRateLimiter(client, bucket, options, () => now),
    advance(ms) {
      now += ms;
    },
  };
}

const nodeRedis = await createClient({ url })
  .on("error", () => {})
  .connect();
const ioredis = new Redis(url);
let cluster: PrivateCluster;
let nodeRedisCluster: ReturnType<typeof createCluster>;
let ioredisCluster: Cluster;
beforeAll(async () => {
  cluster = await startRedisCluster({ masters: 3 });
  nodeRedisCluster = createCluster({ rootNodes: cluster.urls.map((node) => ({ url: node })) });
  await nodeRedisCluster.on("error", () => {}).connect();
  ioredisCluster = new Cluster([...cluster.urls]);
});
afterAll(async () => {
  nodeRedis.destroy();
  ioredis.disconnect();
  nodeRedisCluster.destroy();
  ioredisCluster.disconnect();
  await cluster.stop();
});

rateLimiterContract("Redis, by node-redis", (bucket) => limiter(nodeRedis, bucket), RUNS);
rateLimiterContract("Redis, by ioredis", (bucket) => limiter(ioredis, bucket), RUNS);
rateLimiterContract("a Redis Cluster, by node-redis", (bucket) => limiter(nodeRedisCluster, bucket), RUNS);
rateLimiterContract("a Redis Cluster, by ioredis", (bucket) => limiter(ioredisCluster, bucket), RUNS);

test("200 concurrent callers in each of two processes together get no more than the bucket holds", async () => {
  const env = { REDIS: url, PREFIX: `${prefix}:two:`, CAPACITY: "50", RATE: "0.001" };
  const args = ["--conditions=@halyard/source", fixture("remote/limiter.ts")];
  const programs = await Promise.all(
    [1, 2].map(() => spawnProgram({ command: process.execPath, args, env })),
  );
  const remotes = await Promise.all(programs.map(({ port }) => connectRemote(port)));
  try {
    const verdicts = await Promise.all(
      remotes.flatMap((remote) => Array.from({ length: 200 }, () => remote.consume("k", 1))),
    );
    expect(verdicts.filter(({ allowed }) => allowed)).toHaveLength(50);
  } finally {
    for (const remote of remotes) remote.hangUp();
    await Promise.all(programs.map((program) => program.kill()));
  }
});

test("a limiter that cannot reach Redis refuses with UNAVAILABLE in time and allows nothing", async () => {
  const server = await startRedis();
  const client = createClient({ url: server.url });
  client.on("error", () => undefined);
  await client.connect();
  const limited = redisRateLimiter(client, { capacity: 1, tokensPerSecond: 1 }, { replyTimeoutMs: 200 });
  server.pause();
  await expect(limited.consume("k", 1)).rejects.toMatchObject({ code: "UNAVAILABLE", retryable: true });
  server.resume();
  client.destroy();
  await server.stop();
});

test("a limiter without Redis limits its pending commands until Redis is back", async () => {
  const server = await startRedis();
  const client = createClient({ url: server.url });
  client.on("error", () => undefined);
  await client.connect();
  const limited = redisRateLimiter(client, { capacity: 1e6, tokensPerSecond: 1 }, { replyTimeoutMs: 300 });
  server.pause();
  const verdicts = await Promise.allSettled(Array.from({ length: 10_000 }, () => limited.consume("k", 1)));
  expect(verdicts.every(({ status }) => status === "rejected")).toBe(true);
  await expect(limited.consume("k", 1)).rejects.toMatchObject({
    code: "UNAVAILABLE",
    cause: { message: "Redis has not replied to 10000 commands." },
  });
  server.resume();
  await expect
    .poll(() => limited.consume("k", 1).catch(() => undefined), { timeout: 30_000 })
    .toMatchObject({
      allowed: true,
    });
  client.destroy();
  await server.stop();
});

test("an unknown client throws when the limiter is created", () => {
  for (const stranger of [{}, { eval() {} }, null])
    expect(() => redisRateLimiter(stranger as never, { capacity: 1, tokensPerSecond: 1 })).toThrow(
      "does not support this client",
    );
});

test("redisRateLimiter uses the clock of Redis", async () => {
  const real = redisRateLimiter(
    nodeRedis,
    { capacity: 1, tokensPerSecond: 50 },
    { prefix: `${prefix}:real:` },
  );
  expect((await real.consume("k", 1)).allowed).toBe(true);
  await expect.poll(async () => (await real.consume("k", 1)).allowed, { interval: 5 }).toBe(true);
});

test("a bucket expires once it would be full again", async () => {
  const options = { prefix: `${prefix}:expiry:` };
  await redisRateLimiter(nodeRedis, { capacity: 10, tokensPerSecond: 1 }, options).consume("k", 4);
  const ttl = await nodeRedis.pTTL(`${prefix}:expiry:k`);
  expect(ttl).toBeGreaterThan(60_000);
  expect(ttl).toBeLessThanOrEqual(64_000);
});

function fixture(name: string): string {
  return new URL(`fixtures/${name}`, import.meta.url).pathname;
}
