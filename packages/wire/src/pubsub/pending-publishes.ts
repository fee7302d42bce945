/** Publishes that the broker has not confirmed yet: limited in bytes, each with a timeout, all on one timer. */
import type { Clock } from "@halyard/base";

const CHECK_EVERY_MS = 100;

interface PendingPublish {
  readonly bytes: number;
  readonly dueAt: number;
  timeOut(): void;
}

export class PendingPublishes {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #maxBytes: number;
  /** In the order of arrival, which is also the order of their deadlines. */
  readonly #pending = new Set<PendingPublish>();
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

  /** Resolves with the confirmation; rejects when it takes too long. */
  wait<Reply>(confirmation: Promise<Reply>, bytes: number): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const publish: PendingPublish = {
        bytes,
        dueAt: this.#clock.now() + this.#timeoutMs,
        timeOut: () =>
          reject(new Error(`the broker did not confirm the message within ${this.#timeoutMs} ms`)),
      };
      this.#pending.add(publish);
      this.#bytes += bytes;
      if (!this.#isWatching) this.#watch();
      confirmation.then(
        (reply) => {
          this.#remove(publish);
          resolve(reply);
        },
        (error: unknown) => {
          this.#remove(publish);
          reject(error);
        },
      );
    });
  }

  #remove(publish: PendingPublish): void {
    if (this.#pending.delete(publish)) this.#bytes -= publish.bytes;
  }

  #watch(): void {
    this.#isWatching = true;
    this.#clock.setTimeout(() => this.#check(), CHECK_EVERY_MS);
  }

  #check(): void {
    const now = this.#clock.now();
    for (const publish of this.#pending) {
      if (publish.dueAt > now) break;
      this.#remove(publish);
      publish.timeOut();
    }
    this.#isWatching = false;
    if (this.#pending.size > 0) this.#watch();
  }
}
