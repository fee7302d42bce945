/** The interface of a rate limiter: one token bucket per key. */

/** The size of each bucket, and how fast it fills. */
export interface TokenBucket {
  /** The tokens of a full bucket, which is the largest burst. */
  readonly capacity: number;
  /** How fast the bucket refills. */
  readonly tokensPerSecond: number;
}

/** The result of taking tokens. */
export interface RateLimitVerdict {
  /** Whether there were enough tokens. */
  readonly allowed: boolean;
  /** Whole tokens left in the bucket. */
  readonly remaining: number;
  /** 0 when allowed; null when the cost exceeds the capacity, so that a retry cannot succeed. */
  readonly retryAfterMs: number | null;
}

/** Counts tokens, one bucket per key. */
export interface RateLimiter {
  /** The largest number of tokens in a bucket. */
  readonly capacity: number;
  /** Takes `cost` tokens from the key's bucket, or none if there are too few. */
  consume(key: string, cost: number): RateLimitVerdict | Promise<RateLimitVerdict>;
}

export function checkBucket({ capacity, tokensPerSecond }: TokenBucket): void {
  if (
    !(capacity > 0 && Number.isFinite(capacity) && tokensPerSecond > 0 && Number.isFinite(tokensPerSecond))
  ) {
    throw new TypeError(
      `A token bucket has capacity ${capacity} and tokensPerSecond ${tokensPerSecond}. Pass finite numbers above 0.`,
    );
  }
}

export function checkCost(cost: number): void {
  if (!(cost >= 0)) throw new TypeError(`The cost of a message is ${cost}. Pass a number of 0 or more.`);
}
