/** Pauses, repeated work, and a concurrency limit. */
import { later } from "@halyard/base";

export function sleep(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

/** Lets the process handle what has arrived. A timer would wait for a whole millisecond. */
export function pause(): Promise<void> {
  return typeof setImmediate === "function" ? new Promise((resolve) => setImmediate(resolve)) : sleep(0);
}

/** Runs at most `max` at a time; the others wait in the order of their calls. */
export function createLimit(max: number): <Result>(work: () => Promise<Result>) => Promise<Result> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running < max) running += 1;
    // Finished work passes its place on to the next, so `running` does not change.
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

/** Runs `work` repeatedly, each time `intervalMs` after the previous run has ended. */
export function repeat(intervalMs: number | (() => number), work: () => Promise<void>): { stop(): void } {
  let stopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  function schedule(): void {
    if (stopped) return;
    const delayMs = typeof intervalMs === "number" ? intervalMs : intervalMs();
    timer = later(() => void work().finally(schedule), delayMs);
  }
  schedule();
  return {
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
