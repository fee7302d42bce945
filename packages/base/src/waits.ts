/** Bounded waits: a promise of another library may never settle. */
import { type Clock, systemClock } from "./clock.ts";

/** Pause between a failure and the next attempt, where the other end usually answers again within a second. */
export const RETRY_MS: number = 250;

/** The options of `within`. */
export interface WithinOptions<Result> {
  /** Default: the clock of the platform. */
  readonly clock?: Clock;
  /** Receives a result that comes after the rejection. */
  readonly tooLate?: (result: Result) => void;
}

/** Settles like `work`, or rejects with `message` after `timeoutMs`. The work itself continues. */
export function within<Result>(
  work: Promise<Result>,
  timeoutMs: number,
  message: string,
  { clock = systemClock, tooLate }: WithinOptions<Result> = {},
): Promise<Result> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    const giveUp = (): void => {
      isOver = true;
      reject(new Error(message));
    };
    // A busy process runs overdue timers before it reads the answers that have arrived.
    const timer = clock.setTimeout(
      () => (clock.afterReads === undefined ? giveUp() : clock.afterReads(giveUp)),
      timeoutMs,
    );
    work.then(
      (result) => {
        if (isOver) return tooLate?.(result);
        clock.clearTimeout(timer);
        resolve(result);
      },
      (error: unknown) => {
        clock.clearTimeout(timer);
        reject(error);
      },
    );
  });
}

/** Waits without keeping the process alive. */
export function pause(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimeout(resolve, delayMs);
  });
}

/** For a rejection that needs no answer. */
export function ignore(): void {}
