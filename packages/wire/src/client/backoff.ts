/** How long to wait before an attempt: doubling, bounded, and spread by chance. */
import { DEFAULT_MAX_DELAY_MS } from "./bounds.ts";
import type { ReconnectOptions } from "./options.ts";

/** The wait before retry number `attempt`, counted from 0. `chance` is a number from 0 up to 1. */
export function backoffMs(
  { initialDelayMs = 300, maxDelayMs = DEFAULT_MAX_DELAY_MS, jitter = "full" }: ReconnectOptions,
  attempt: number,
  chance: number,
): number {
  // Past 2^99 the exponent stops: 2^1024 is Infinity, and 0 × Infinity would be no wait but NaN.
  return Math.min(maxDelayMs, initialDelayMs * 2 ** Math.min(attempt, 99)) * (jitter === "full" ? chance : 1);
}
