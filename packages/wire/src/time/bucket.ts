/** The arithmetic of a token bucket. */

export interface Bucket {
  /** At `filledAt`; below 0 while tokens are reserved. */
  tokens: number;
  /** Monotonic time in ms. */
  filledAt: number;
}

export interface BucketSize {
  readonly capacity: number;
  readonly tokensPerSecond: number;
}

export function tokensAt(bucket: Bucket, { capacity, tokensPerSecond }: BucketSize, now: number): number {
  return Math.min(capacity, bucket.tokens + ((now - bucket.filledAt) * tokensPerSecond) / 1_000);
}

/** The bucket at this time; a full one when there is none yet. */
export function bucketAt(bucket: Bucket | undefined, size: BucketSize, now: number): Bucket {
  return { tokens: bucket ? tokensAt(bucket, size, now) : size.capacity, filledAt: now };
}

/** Whole milliseconds until the bucket holds `cost` tokens. Rounding must not make a caller wait twice. */
export function waitFor(bucket: Bucket, size: BucketSize, cost: number, now: number): number {
  const waitMs = Math.ceil(((cost - tokensAt(bucket, size, now)) * 1_000) / size.tokensPerSecond);
  return tokensAt(bucket, size, now + waitMs) < cost ? waitMs + 1 : waitMs;
}
