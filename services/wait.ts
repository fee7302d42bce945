// Waiting for a condition, with a deadline and the last reason it did not hold.
import { setTimeout as delay } from "node:timers/promises";

export interface WaitOptions {
  /** What is waited for, as it reads in the error: "Redis to answer on port 6379". */
  readonly what: string;
  readonly timeoutMs: number;
  /** Checked before each attempt; a string ends the waiting at once and is the reason. */
  readonly hopeless?: () => string | undefined;
}

const INTERVAL_MS = 25;

/** Calls `attempt` until it resolves, and resolves with its value. */
export async function waitFor<T>(attempt: () => Promise<T>, options: WaitOptions): Promise<T> {
  const deadline = performance.now() + options.timeoutMs;
  let cause: unknown;
  for (;;) {
    const reason = options.hopeless?.();
    if (reason !== undefined) throw new Error(`Waited for ${options.what}: ${reason}`, { cause });
    try {
      return await attempt();
    } catch (error) {
      cause = error;
    }
    if (performance.now() >= deadline) {
      const last = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`Waited ${options.timeoutMs} ms for ${options.what}, in vain: ${last}`, { cause });
    }
    await delay(INTERVAL_MS);
  }
}
