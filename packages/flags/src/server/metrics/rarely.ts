/** Log entries about failures that concern many requests or connections at once. */

/** Minimum interval between two log entries with the same message. */
export const WARNING_INTERVAL_MS: number = 60_000;

type Warn = (message: string, error: unknown) => void;

/** Passes each message on at most once a minute. */
export function rarely(warn: Warn): Warn {
  const warnedAtMs = new Map<string, number>();
  return (message, error) => {
    const nowMs = performance.now();
    if (nowMs - (warnedAtMs.get(message) ?? Number.NEGATIVE_INFINITY) < WARNING_INTERVAL_MS) return;
    warnedAtMs.set(message, nowMs);
    warn(message, error);
  };
}
