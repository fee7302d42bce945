/** Decides whether the credentials of a request are looked up, which costs a query. */
export interface LookupGuard {
  /**
   * Seconds until the lookup may be made; undefined if it may be made now. `cacheKey` is undefined for credentials that
   * only Better Auth can read.
   */
  secondsToWait(cacheKey: string | undefined): Promise<number | undefined>;
  /** Called after a lookup that found the caller, or found none. */
  report(cacheKey: string | undefined, isValid: boolean): Promise<void>;
}
