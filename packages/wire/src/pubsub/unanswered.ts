/** Publishes that the broker has not answered: bounded, and each given up after a while, with one timer for all. */
import type { Clock } from "../router/clock.ts";

const LOOK_EVERY_MS = 100;

interface Waiting {
  readonly bytes: number;
  readonly dueAt: number;
  giveUp(): void;
}

export class Unanswered {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #maxBytes: number;
  /** In the order of their deadlines, which is the order they came in. */
  readonly #waiting = new Set<Waiting>();
  #bytes = 0;
  #isWatching = false;

  constructor(clock: Clock, timeoutMs: number, maxBytes: number) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#maxBytes = maxBytes;
  }

  get isFull(): boolean {
    return this.#bytes >= this.#maxBytes;
  }

  /** Rejects when the answer takes too long. */
  wait(answer: Promise<unknown>, bytes: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        bytes,
        dueAt: this.#clock.now() + this.#timeoutMs,
        giveUp: () => reject(new Error(`the broker did not answer within ${this.#timeoutMs} ms`)),
      };
      this.#waiting.add(waiting);
      this.#bytes += bytes;
      if (!this.#isWatching) this.#watch();
      answer.then(
        () => {
          this.#forget(waiting);
          resolve();
        },
        (error: unknown) => {
          this.#forget(waiting);
          reject(error);
        },
      );
    });
  }

  #forget(waiting: Waiting): void {
    if (this.#waiting.delete(waiting)) this.#bytes -= waiting.bytes;
  }

  #watch(): void {
    this.#isWatching = true;
    this.#clock.setTimeout(() => this.#look(), LOOK_EVERY_MS);
  }

  #look(): void {
    const now = this.#clock.now();
    for (const waiting of this.#waiting) {
      if (waiting.dueAt > now) break;
      this.#forget(waiting);
      waiting.giveUp();
    }
    this.#isWatching = false;
    if (this.#waiting.size > 0) this.#watch();
  }
}
