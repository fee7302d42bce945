/**
 * Announces the gaps of many topics spread over time: the subscribers reload then, and they must neither do that at the
 * same moment nor wait for an announcement of thousands of topics in one turn of the event loop.
 */
import type { Clock } from "@halyard/base";

const SPREAD_MS = 1_500;
const STEP_MS = 50;
const STEPS = SPREAD_MS / STEP_MS;

export class GapAnnouncements<T> {
  readonly #clock: Clock;
  readonly #announce: (topic: T) => void;
  /** In the order in which they are announced. */
  readonly #pending = new Set<T>();
  #perStep = 0;
  #isRunning = false;

  constructor(clock: Clock, announce: (topic: T) => void) {
    this.#clock = clock;
    this.#announce = announce;
  }

  /** The first are announced immediately, the last after 1.5 s. */
  add(topics: Iterable<T>): void {
    for (const topic of topics) this.#pending.add(topic);
    this.#perStep = Math.max(this.#perStep, Math.ceil(this.#pending.size / STEPS));
    if (!this.#isRunning) this.#step();
  }

  /** Announces a pending gap of the topic now: a message that follows the gap has arrived. */
  flush(topic: T): void {
    if (this.#pending.size > 0 && this.#pending.delete(topic)) this.#announce(topic);
  }

  /** The gap was announced otherwise, or the topic has no subscribers any more. */
  remove(topic: T): void {
    if (this.#pending.size > 0) this.#pending.delete(topic);
  }

  clear(): void {
    this.#pending.clear();
  }

  #step(): void {
    let count = 0;
    for (const topic of this.#pending) {
      this.#pending.delete(topic);
      this.#announce(topic);
      if (++count === this.#perStep) break;
    }
    this.#isRunning = this.#pending.size > 0;
    if (this.#isRunning) this.#clock.setTimeout(() => this.#step(), STEP_MS);
    else this.#perStep = 0;
  }
}
