/** Waiting with an end: brokers' clients may wait for ever on a link that died without a word. */
import type { Clock } from "../router/clock.ts";

/** The promise, or a rejection when it takes longer. What comes too late is handed to `tooLate`. */
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

export function pause(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimeout(resolve, delayMs);
  });
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
