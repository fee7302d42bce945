/** Time and timers. */

/** The source of time and timers; tests provide their own. */
export interface Clock {
  /** Monotonic time in ms, for deadlines and intervals. */
  now(): number;
  /** Wall time in ms since epoch, for values that are shown or sent. */
  wall(): number;
  /** Calls back once, after this many ms. */
  setTimeout(callback: () => void, delayMs: number): unknown;
  /** Cancels a timeout. */
  clearTimeout(handle: unknown): void;
  /** Calls back after the event loop has read what waits in the sockets. Default: a timer of 0 ms. */
  afterReads?(callback: () => void): void;
}

/** Node and Bun: runs callbacks after the next poll for I/O, whereas a timer may run before it. */
const { setImmediate: afterPoll } = globalThis as { setImmediate?: (callback: () => void) => unknown };

/** The clock of the platform. */
export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  setTimeout: later,
  clearTimeout: (handle) => clearTimeout(handle as ReturnType<typeof setTimeout>),
  ...(afterPoll && { afterReads: (callback) => void afterPoll(callback) }),
};

/** Calls back once, after this many ms, without keeping the process alive for it. */
export function later(callback: () => void, delayMs: number): ReturnType<typeof setTimeout> {
  const timer = setTimeout(callback, delayMs);
  // Only Node and Bun return an object, and only there does a timer keep the process alive.
  (timer as { unref?: () => void }).unref?.();
  return timer;
}
