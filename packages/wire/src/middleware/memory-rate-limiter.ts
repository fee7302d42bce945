/** A rate limiter with token buckets in the memory of one process. */
import {
  checkBucket,
  checkCost,
  type RateLimiter,
  type RateLimitVerdict,
  type TokenBucket,
} from "./rate-limiter.ts";

interface Bucket {
  tokens: number;
  filledAt: number;
}

/** After this many calls, full buckets are removed: they hold no information. */
const SWEEP_EVERY = 1_000;

/** Created by `memoryRateLimiter()`. */
export class MemoryRateLimiter implements RateLimiter {
  readonly capacity: number;
  readonly #tokensPerSecond: number;
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();
  #calls = 0;

  constructor(bucket: TokenBucket, now: () => number = () => performance.now()) {
    checkBucket(bucket);
    this.capacity = bucket.capacity;
    this.#tokensPerSecond = bucket.tokensPerSecond;
    this.#now = now;
  }

  consume(key: string, cost: number): RateLimitVerdict {
    checkCost(cost);
    const now = this.#now();
    if (++this.#calls % SWEEP_EVERY === 0) this.#sweep(now);
    const bucket = this.#buckets.get(key) ?? { tokens: this.capacity, filledAt: now };
    const tokens = this.#tokensAt(bucket, now);
    if (cost > this.capacity) return { allowed: false, remaining: Math.floor(tokens), retryAfterMs: null };
    if (cost > tokens) {
      return {
        allowed: false,
        remaining: Math.floor(tokens),
        retryAfterMs: this.#waitFor(bucket, cost, now, tokens),
      };
    }
    bucket.tokens = tokens - cost;
    bucket.filledAt = now;
    this.#buckets.set(key, bucket);
    return { allowed: true, remaining: Math.floor(bucket.tokens), retryAfterMs: 0 };
  }

  #tokensAt(bucket: Bucket, now: number): number {
    const filled = ((now - bucket.filledAt) * this.#tokensPerSecond) / 1_000;
    return Math.min(this.capacity, bucket.tokens + filled);
  }

  /** Whole milliseconds until the bucket holds `cost` tokens. Rounding must not make a caller wait twice. */
  #waitFor(bucket: Bucket, cost: number, now: number, tokens: number): number {
    const waitMs = Math.ceil(((cost - tokens) * 1_000) / this.#tokensPerSecond);
    return this.#tokensAt(bucket, now + waitMs) < cost ? waitMs + 1 : waitMs;
  }

  #sweep(now: number): void {
    for (const [key, bucket] of this.#buckets) {
      if (this.#tokensAt(bucket, now) >= this.capacity) this.#buckets.delete(key);
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
