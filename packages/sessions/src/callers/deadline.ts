/** Timers that do not keep the process alive, and deadlines based on them. */

/** Pause between a failure and the next attempt, where the other end usually answers again within a second. */
export const RETRY_MS = 250;

/** Settles like `work`, or rejects after `timeoutMs`. The work itself continues. */
export function within<Result>(work: Promise<Result>, timeoutMs: number, message: string): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = later(() => reject(new Error(message)), timeoutMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

export function later(work: () => void, delayMs: number): ReturnType<typeof setTimeout> {
  const timer = setTimeout(work, delayMs);
  // Only Node and Bun return an object, and only there does a timer keep the process alive.
  if (typeof timer === "object") timer.unref();
  return timer;
}
