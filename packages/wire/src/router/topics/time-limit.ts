/** A time limit for functions of the application. */
import { WsError } from "../../protocol/error.ts";
import { Timeout, type Timers } from "../../time/timers.ts";

/** How long a subscription or a membership may continue while it is being authorized again. */
export const RECHECK_TIMEOUT_MS = 1_000;

/** The same result; rejects with `DEADLINE_EXCEEDED` and this message when it takes longer. */
export function inTime<T>(pending: Promise<T>, timers: Timers, limitMs: number, message: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const timeout = new Timeout(() => reject(new WsError("DEADLINE_EXCEEDED", message)));
    timers.add(timeout, limitMs);
    pending.then(resolve, reject).finally(() => timers.remove(timeout));
  });
}
