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

/** Runs so many at a time; the others wait for their turn, first come, first served. */
export function createLimit(max: number): <Result>(work: () => Promise<Result>) => Promise<Result> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running < max) running += 1;
    // Whoever ends hands its place on, so the number stays as it is.
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
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

/** Runs `work` once, and keeps no process alive for it. */
export function later(work: () => void, delayMs: number): ReturnType<typeof setTimeout> {
  const timer = setTimeout(work, delayMs);
  // Only Node and Bun have it, and only there does a timer keep the process alive.
  if (typeof timer === "object") timer.unref();
  return timer;
}
