/** The interface of the store in which several processes count together. */

/** The limit of a bucket. */
export type RateLimitWindow = {
  /** Tokens per window. */
  readonly max: number;
  /** Length of the window, in seconds. It starts with the first token taken. */
  readonly windowSeconds: number;
  /** `tokens` is a multiple of this, or `max`. */
  readonly blockSize: number;
};

/** The tokens that a store granted. */
export type RateLimitGrant = {
  /** The requested number of tokens, or fewer if the window has no more. */
  readonly granted: number;
  /** Remaining time of the window, in ms, at most. Undefined if unknown; unused tokens are then discarded. */
  readonly resetMs: number | undefined;
};

/** Counts requests for several processes. `redisRateLimitStore()` of `@halyard/flags/redis` creates one. */
export interface RateLimitStore {
  /** Takes tokens from a bucket, atomically: all processes together never get more than `max` in a window. */
  take(bucket: string, tokens: number, window: RateLimitWindow): Promise<RateLimitGrant>;
}
