/**
 * Announces the gaps of many topics, or to many connections, spread over time: the receivers reload then, and they must
 * neither do that at the same moment nor wait for thousands of announcements in one turn of the event loop.
 */
import type { Clock } from "@halyard/base";

const SPREAD_MS = 1_500;
const STEP_MS = 50;
const STEPS = SPREAD_MS / STEP_MS;

export class GapAnnouncements<T> {
  readonly #clock: Clock;
  readonly #announce: (receiver: T) => void;
  readonly #minPerStep: number;
  /** In the order in which they are announced. */
  readonly #pending = new Set<T>();
  #perStep = 0;
  #isRunning = false;

  constructor(clock: Clock, announce: (receiver: T) => void, minPerStep: number = 1) {
    this.#clock = clock;
    this.#announce = announce;
    this.#minPerStep = minPerStep;
  }

  /** The first are announced immediately, the last after 1.5 s. */
  add(receivers: Iterable<T>): void {
    for (const each of receivers) this.#pending.add(each);
    this.#perStep = Math.max(this.#perStep, this.#minPerStep, Math.ceil(this.#pending.size / STEPS));
    if (!this.#isRunning) this.#step();
  }

  get isEmpty(): boolean {
    return this.#pending.size === 0;
  }

  /** Announces a pending gap now: a message that follows it has arrived. */
  flush(receiver: T): void {
    if (this.#pending.size > 0 && this.#pending.delete(receiver)) this.#announce(receiver);
  }

  /** The gap was announced otherwise, or no subscriber is left. */
  remove(receiver: T): void {
    if (this.#pending.size > 0) this.#pending.delete(receiver);
  }

  clear(): void {
    this.#pending.clear();
  }

  #step(): void {
    let count = 0;
    for (const each of this.#pending) {
      this.#pending.delete(each);
      this.#announce(each);
      if (++count === this.#perStep) break;
    }
    this.#isRunning = this.#pending.size > 0;
    if (this.#isRunning) this.#clock.setTimeout(() => this.#step(), STEP_MS);
    else this.#perStep = 0;
  }
}
