/** Bounded waits: a promise of another library may never settle. */
import type { Clock } from "./clock.ts";

/** The pause before another attempt at what another process or a broker did not do. */
export const RETRY_MS = 250;

/** The promise, or a rejection after `timeoutMs` that names `what`. A value that arrives after that is passed to `tooLate`. */
export function within<T>(
  clock: Clock,
  timeoutMs: number,
  what: string,
  promise: Promise<T>,
  tooLate?: (value: T) => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    const timer = clock.setTimeout(() => {
      isOver = true;
      reject(new Error(`${what} took longer than ${timeoutMs} ms`));
    }, timeoutMs);
    promise.then(
      (value) => {
        if (isOver) return tooLate?.(value);
        clock.clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clock.clearTimeout(timer);
        reject(error);
      },
    );
  });
}

/** For a rejection that needs no answer. */
export function ignore(): void {}

export function pause(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimeout(resolve, delayMs);
  });
}
