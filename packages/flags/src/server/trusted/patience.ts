/** How long trusted attributes wait for the database or `compute`, and how long their last values outlive it. */

/** How long a request waits for values. */
export const VALUES_TIMEOUT_MS: number = 1000;
/** Minimum interval between two attempts while they fail. */
export const VALUES_RETRY_MS: number = 1000;
/** How long the last values are used, after their time, while attempts fail. */
export const VALUES_STALE_MS: number = 10 * 60_000;
