/** The delay before a reconnection attempt: exponential, limited, with random jitter. */
import { DEFAULT_MAX_DELAY_MS } from "./bounds.ts";
import type { ReconnectOptions } from "./options.ts";

/** The delay before retry number `attempt`, counted from 0, in ms. `random` is a number from 0 up to 1. */
export function backoffMs(
  { initialDelayMs = 300, maxDelayMs = DEFAULT_MAX_DELAY_MS, jitter = "full" }: ReconnectOptions,
  attempt: number,
  random: number,
): number {
  // The exponent is limited: 2^1024 is Infinity, and 0 × Infinity is NaN.
  const delayMs = Math.min(maxDelayMs, initialDelayMs * 2 ** Math.min(attempt, 99));
  return Math.round(delayMs * (jitter === "full" ? random : 1));
}
