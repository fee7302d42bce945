// Waits for a condition with a deadline, and reports the last reason why it did not hold.
import { setTimeout as delay } from "node:timers/promises";

export interface WaitOptions {
  /** The awaited condition as it appears in the error: "Redis to answer on port 6379". */
  readonly what: string;
  readonly timeoutMs: number;
  /** Called before each attempt. A string ends the wait immediately with this reason. */
  readonly hopeless?: () => string | undefined;
}

const INTERVAL_MS = 25;

/** Calls `attempt` until it resolves, and resolves to its value. */
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
      throw new Error(`Waited ${options.timeoutMs} ms for ${options.what}. Last error: ${last}`, { cause });
    }
    await delay(INTERVAL_MS);
  }
}
