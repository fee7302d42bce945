/** A clock for tests: time moves only with `advance()`. */
import type { Clock } from "@halyard/base";

interface Scheduled {
  readonly at: number;
  readonly order: number;
  readonly callback: () => void;
}

/** A clock that moves only when the test says so. */
export class FakeClock implements Clock {
  #now = 0;
  #order = 0;
  readonly #epoch: number;
  readonly #scheduled = new Map<number, Scheduled>();

  /** Wall time at the start, in ms since epoch. Default: 1 January 2026, UTC. */
  constructor(epoch: number = Date.UTC(2026, 0, 1)) {
    this.#epoch = epoch;
  }

  /** Monotonic time in ms: how far the clock has advanced. */
  now(): number {
    return this.#now;
  }

  /** Wall time in ms since epoch. */
  wall(): number {
    return this.#epoch + this.#now;
  }

  /** Calls back once the clock has advanced this far, in ms. */
  setTimeout(callback: () => void, delayMs: number): number {
    const order = ++this.#order;
    this.#scheduled.set(order, { at: this.#now + Math.max(0, delayMs), order, callback });
    return order;
  }

  /** Cancels a timeout. */
  clearTimeout(handle: unknown): void {
    this.#scheduled.delete(handle as number);
  }

  /** How many timers are set. */
  get pendingTimers(): number {
    return this.#scheduled.size;
  }

  /** Moves time forward by `ms` and fires timers in order; promise callbacks run in between. */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    await settle();
    for (let next = this.#next(until); next !== undefined; next = this.#next(until)) {
      this.#scheduled.delete(next.order);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
      await settle();
    }
    this.#now = until;
    await settle();
  }

  #next(until: number): Scheduled | undefined {
    let first: Scheduled | undefined;
    for (const timer of this.#scheduled.values()) {
      if (timer.at > until) continue;
      if (first === undefined || timer.at < first.at || (timer.at === first.at && timer.order < first.order))
        first = timer;
    }
    return first;
  }
}

/** Lets promise callbacks run, and the callbacks they cause. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}
