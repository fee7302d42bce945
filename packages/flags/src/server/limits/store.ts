/** The seam to where several processes count together. */

/** What a bucket of the store allows. */
export type RateLimitWindow = {
  readonly max: number;
  /** How long the window lasts; it starts with the first token taken. */
  readonly windowSeconds: number;
  /** `tokens` is a multiple of this, except where it is `max`. */
  readonly blockSize: number;
};

export type RateLimitGrant = {
  /** As many tokens as were asked for or, when they are the last of the window, fewer. */
  readonly granted: number;
  /** How long the window still lasts, at most. Undefined where it is not known; what is left over is then not kept. */
  readonly resetMs: number | undefined;
};

/** Counts for several processes. `redisRateLimitStore` of `@halyard/flags/redis` is one. */
export interface RateLimitStore {
  /** Takes tokens from a bucket: in one step, so that all takers together never get more than `max` in a window. */
  take(bucket: string, tokens: number, window: RateLimitWindow): Promise<RateLimitGrant>;
}
