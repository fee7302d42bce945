/** Waiting, but not for ever, and without keeping a process alive. */

/** Settles as `work` does, or rejects after `timeoutMs`; the work itself goes on. */
export function within<Result>(work: Promise<Result>, timeoutMs: number, message: string): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = later(() => reject(new Error(message)), timeoutMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

export function sleep(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

/** Runs `work` again and again, each time this long after the last has ended. */
export function repeat(intervalMs: number, work: () => Promise<void>): { stop(): void } {
  let stopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  function schedule(): void {
    if (stopped) return;
    timer = later(() => void work().finally(schedule), intervalMs);
  }
  schedule();
  return {
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

function later(work: () => void, delayMs: number): ReturnType<typeof setTimeout> {
  const timer = setTimeout(work, delayMs);
  // Only Node and Bun have it, and only there does a timer keep the process alive.
  if (typeof timer === "object") timer.unref();
  return timer;
}
