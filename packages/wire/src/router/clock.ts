/** Where the router takes its time from; tests bring their own. */

export interface Clock {
  /** Monotonic time in ms: for deadlines and intervals. */
  now(): number;
  /** Wall time in ms since epoch: for what is shown or sent. */
  wall(): number;
  setTimeout(callback: () => void, delayMs: number): unknown;
  clearTimeout(handle: unknown): void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  setTimeout(callback, delayMs) {
    const handle: unknown = setTimeout(callback, delayMs);
    // On Node and Bun a timer of ours must never keep the process alive.
    if (
      typeof handle === "object" &&
      handle !== null &&
      "unref" in handle &&
      typeof handle.unref === "function"
    )
      handle.unref();
    return handle;
  },
  clearTimeout: (handle) => clearTimeout(handle as ReturnType<typeof setTimeout>),
};
