/** The seam between the rate-limit middleware and whatever counts: a token bucket per key. */

export interface TokenBucket {
  /** How many tokens a full bucket holds: the burst. */
  readonly capacity: number;
  /** How fast it fills again. */
  readonly tokensPerSecond: number;
}

export interface RateLimitVerdict {
  readonly allowed: boolean;
  /** Whole tokens left. */
  readonly remaining: number;
  /** 0 when allowed; null when the cost exceeds the capacity, so that waiting does not help. */
  readonly retryAfterMs: number | null;
}

export interface RateLimiter {
  readonly capacity: number;
  /** Takes `cost` tokens from the key's bucket, or none of them. */
  consume(key: string, cost: number): RateLimitVerdict | Promise<RateLimitVerdict>;
}

export function checkBucket({ capacity, tokensPerSecond }: TokenBucket): void {
  if (
    !(capacity > 0 && Number.isFinite(capacity) && tokensPerSecond > 0 && Number.isFinite(tokensPerSecond))
  ) {
    throw new TypeError(
      `A token bucket needs a capacity and tokensPerSecond above 0, not ${capacity} and ${tokensPerSecond}.`,
    );
  }
}

export function checkCost(cost: number): void {
  if (!(cost >= 0)) throw new TypeError(`The cost of a message is ${cost}; it takes a number of 0 or more.`);
}
