/** A rate limiter with token buckets in the memory of one process. */
import { type Bucket, tokensAt, waitFor } from "../time/bucket.ts";
import {
  checkBucket,
  checkCost,
  type RateLimiter,
  type RateLimitVerdict,
  type TokenBucket,
} from "./rate-limiter.ts";

/** After this many calls, full buckets are removed: they hold no information. */
const SWEEP_EVERY = 1_000;

/** Created by `memoryRateLimiter()`. */
export class MemoryRateLimiter implements RateLimiter {
  readonly capacity: number;
  readonly #size: TokenBucket;
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();
  #calls = 0;

  constructor(bucket: TokenBucket, now: () => number = () => performance.now()) {
    checkBucket(bucket);
    this.capacity = bucket.capacity;
    this.#size = bucket;
    this.#now = now;
  }

  consume(key: string, cost: number): RateLimitVerdict {
    checkCost(cost);
    const now = this.#now();
    if (++this.#calls % SWEEP_EVERY === 0) this.#sweep(now);
    const bucket = this.#buckets.get(key) ?? { tokens: this.capacity, filledAt: now };
    const tokens = tokensAt(bucket, this.#size, now);
    if (cost > tokens) {
      const retryAfterMs = cost > this.capacity ? null : waitFor(bucket, this.#size, cost, now);
      return { allowed: false, remaining: Math.floor(tokens), retryAfterMs };
    }
    bucket.tokens = tokens - cost;
    bucket.filledAt = now;
    this.#buckets.set(key, bucket);
    return { allowed: true, remaining: Math.floor(bucket.tokens), retryAfterMs: 0 };
  }

  #sweep(now: number): void {
    for (const [key, bucket] of this.#buckets) {
      if (tokensAt(bucket, this.#size, now) >= this.capacity) this.#buckets.delete(key);
    }
  }
}

/**
 * Creates a rate limiter for one process, for the option `limiter` of `rateLimit()`.
 *
 * @example
 * ```ts
 * import { memoryRateLimiter } from "@halyard/wire/memory";
 *
 * const limiter = memoryRateLimiter({ capacity: 20, tokensPerSecond: 5 });
 * ```
 */
export function memoryRateLimiter(bucket: TokenBucket): MemoryRateLimiter {
  return new MemoryRateLimiter(bucket);
}
