import { expect, test } from "vitest";
import { MemoryRateLimiter, memoryRateLimiter } from "../src/memory.ts";
import { rateLimiterContract } from "./contract/rate-limiter.ts";

rateLimiterContract("memory", (bucket) => {
  let now = 0;
  const advance = (ms: number) => {
    now += ms;
  };
  return { limiter: new MemoryRateLimiter(bucket, () => now), advance };
});

test("memoryRateLimiter measures real time", async () => {
  const limiter = memoryRateLimiter({ capacity: 1, tokensPerSecond: 2 });
  expect(limiter.consume("k", 1).allowed).toBe(true);
  expect(limiter.consume("k", 1).allowed).toBe(false);
  await expect.poll(() => limiter.consume("k", 1).allowed, { interval: 5 }).toBe(true);
});

test.each([
  { capacity: 0, tokensPerSecond: 1 },
  { capacity: 1, tokensPerSecond: 0 },
  { capacity: -1, tokensPerSecond: 1 },
  { capacity: Number.NaN, tokensPerSecond: 1 },
  { capacity: 1, tokensPerSecond: Number.POSITIVE_INFINITY },
])("a bucket with capacity $capacity and rate $tokensPerSecond throws when it is created", (bucket) => {
  expect(() => memoryRateLimiter(bucket)).toThrow(TypeError);
});
