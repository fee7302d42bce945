/** The contract of every rate limiter: a token bucket, at any time and with any number of callers. */
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import type { RateLimiter, TokenBucket } from "../../src/middleware/index.ts";

/** A limiter whose clock the test controls. */
export interface TestLimiter {
  readonly limiter: RateLimiter;
  advance(ms: number): void | Promise<void>;
  stop?(): void | Promise<void>;
}

/** Tolerated rounding difference in tokens. */
const EPSILON = 1e-6;

export function rateLimiterContract(
  name: string,
  start: (bucket: TokenBucket) => TestLimiter | Promise<TestLimiter>,
  /** Fewer for a limiter behind a network. */
  runs = 1_000,
): void {
  describe(`the rate limiter in ${name}`, () => {
    const running: TestLimiter[] = [];
    const open = async (capacity: number, tokensPerSecond: number): Promise<TestLimiter> => {
      const limiter = await start({ capacity, tokensPerSecond });
      running.push(limiter);
      return limiter;
    };
    afterEach(async () => {
      for (const { stop } of running.splice(0)) await stop?.();
    });

    test("reports its capacity and allows a burst of exactly that size", async () => {
      const { limiter } = await open(3, 1);
      expect(limiter.capacity).toBe(3);
      for (const remaining of [2, 1, 0])
        expect(await limiter.consume("k", 1)).toEqual({ allowed: true, remaining, retryAfterMs: 0 });
      expect(await limiter.consume("k", 1)).toEqual({ allowed: false, remaining: 0, retryAfterMs: 1_000 });
    });

    test("refills at its rate and never above its capacity", async () => {
      const { limiter, advance } = await open(10, 5);
      await limiter.consume("k", 10);
      await advance(1_000);
      expect(await limiter.consume("k", 6)).toEqual({ allowed: false, remaining: 5, retryAfterMs: 200 });
      expect(await limiter.consume("k", 5)).toMatchObject({ allowed: true, remaining: 0 });
      await advance(3_600_000);
      expect(await limiter.consume("k", 10)).toMatchObject({ allowed: true, remaining: 0 });
      expect(await limiter.consume("k", 1)).toMatchObject({ allowed: false });
    });

    test("takes the whole cost or nothing", async () => {
      const { limiter } = await open(5, 1);
      await limiter.consume("k", 3);
      expect(await limiter.consume("k", 3)).toMatchObject({ allowed: false, remaining: 2 });
      expect(await limiter.consume("k", 2)).toMatchObject({ allowed: true, remaining: 0 });
    });

    test("never allows a cost above the capacity and returns no retryAfterMs for it", async () => {
      const { limiter, advance } = await open(5, 1);
      expect(await limiter.consume("k", 6)).toEqual({ allowed: false, remaining: 5, retryAfterMs: null });
      await advance(60_000);
      expect(await limiter.consume("k", 6)).toMatchObject({ allowed: false, retryAfterMs: null });
      expect(await limiter.consume("k", 5)).toMatchObject({ allowed: true });
    });

    test("always allows a cost of 0 and takes nothing", async () => {
      const { limiter } = await open(1, 1);
      await limiter.consume("k", 1);
      expect(await limiter.consume("k", 0)).toEqual({ allowed: true, remaining: 0, retryAfterMs: 0 });
    });

    test("keeps keys apart, whatever their names", async () => {
      const { limiter } = await open(1, 1);
      for (const key of ["a", "b", "A", "a:b", "", "__proto__", "constructor", "é", "a b", "{a}", "*"]) {
        expect(await limiter.consume(key, 1)).toMatchObject({ allowed: true });
        expect(await limiter.consume(key, 1)).toMatchObject({ allowed: false });
      }
    });

    test("throws for an invalid cost and takes nothing", async () => {
      const { limiter } = await open(2, 1);
      for (const cost of [-1, Number.NaN])
        await expect((async () => limiter.consume("k", cost))()).rejects.toThrow(TypeError);
      expect(await limiter.consume("k", 2)).toMatchObject({ allowed: true });
    });

    test("never gives 200 concurrent callers more than the bucket holds", async () => {
      const { limiter } = await open(50, 1);
      const verdicts = await Promise.all(Array.from({ length: 200 }, async () => limiter.consume("k", 1)));
      expect(verdicts.filter(({ allowed }) => allowed)).toHaveLength(50);
    });

    test("rounds a wait up to whole milliseconds", async () => {
      const { limiter, advance } = await open(27, 9);
      await limiter.consume("k", 27);
      expect(await limiter.consume("k", 27)).toMatchObject({ retryAfterMs: 3_000 });
      await advance(3_000);
      expect(await limiter.consume("k", 27)).toMatchObject({ allowed: true });
    });

    test("allows a single caller that waits for retryAfterMs", async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 1_000 }),
          fc.oneof(fc.integer({ min: 1, max: 100 }), fc.double({ min: 0.01, max: 10_000, noNaN: true })),
          fc.array(fc.integer({ min: 1, max: 1_000 }), { minLength: 1, maxLength: 20 }),
          async (capacity, tokensPerSecond, costs) => {
            const { limiter, advance } = await open(capacity, tokensPerSecond);
            for (const cost of costs) {
              const verdict = await limiter.consume("k", cost);
              if (cost > capacity) expect(verdict.retryAfterMs).toBe(null);
              if (verdict.allowed || verdict.retryAfterMs === null) continue;
              expect(Number.isInteger(verdict.retryAfterMs)).toBe(true);
              await advance(verdict.retryAfterMs);
              expect(await limiter.consume("k", cost)).toMatchObject({ allowed: true });
            }
          },
        ),
        { numRuns: runs },
      );
    });

    test("never gives any sequence of calls more than the capacity plus the refill", async () => {
      const step = fc.oneof(
        fc.record({ cost: fc.integer({ min: 0, max: 30 }) }),
        fc.record({ waitMs: fc.integer({ min: 0, max: 5_000 }) }),
      );
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 20 }),
          fc.integer({ min: 1, max: 50 }),
          fc.array(step, { maxLength: 100 }),
          async (capacity, tokensPerSecond, steps) => {
            const { limiter, advance } = await open(capacity, tokensPerSecond);
            // The model: the tokens of an ideal bucket.
            let tokens = capacity;
            for (const action of steps) {
              if ("waitMs" in action) {
                await advance(action.waitMs);
                tokens = Math.min(capacity, tokens + (action.waitMs * tokensPerSecond) / 1_000);
                continue;
              }
              const { cost } = action;
              const { allowed, remaining } = await limiter.consume("k", cost);
              if (Math.abs(tokens - cost) > EPSILON) expect(allowed).toBe(cost <= tokens);
              if (allowed) tokens -= cost;
              expect(remaining).toBeLessThanOrEqual(tokens + EPSILON);
              expect(remaining).toBeGreaterThan(tokens - 1 - EPSILON);
            }
          },
        ),
        { numRuns: runs },
      );
    });
  });
}
