/**
 * Sends words to oneself by way of the broker: a link that died without a word is found within a second or two, though
 * both of its ends still think it stands.
 */
import type { Clock } from "../router/clock.ts";

const EVERY_MS = 400;
const TIMEOUT_MS = 1_000;
/** A timer that fires this late means that this process was busy, and the answer may be waiting behind it. */
const BUSY_MS = 100;

export class SelfPing {
  readonly #clock: Clock;
  readonly #send: (word: string) => void;
  readonly #unheard: (reason: string) => void;
  #timer: unknown;
  #count = 0;
  #dueAt = 0;
  #isRunning = false;

  /** `send` publishes to oneself; `unheard` is called once, when a word did not come back. */
  constructor(clock: Clock, send: (word: string) => void, unheard: (reason: string) => void) {
    this.#clock = clock;
    this.#send = send;
    this.#unheard = unheard;
  }

  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#ping();
  }

  stop(): void {
    this.#isRunning = false;
    this.#clock.clearTimeout(this.#timer);
  }

  heard(word: string): void {
    if (!this.#isRunning || word !== String(this.#count)) return;
    this.#set(EVERY_MS, () => this.#ping());
  }

  #ping(): void {
    this.#count++;
    this.#set(TIMEOUT_MS, () => this.#late());
    this.#send(String(this.#count));
  }

  #late(): void {
    if (this.#clock.now() - this.#dueAt > BUSY_MS) {
      this.#set(TIMEOUT_MS / 2, () => this.#late());
      return;
    }
    this.stop();
    this.#unheard(`nothing came back for ${TIMEOUT_MS} ms`);
  }

  #set(delayMs: number, callback: () => void): void {
    this.#clock.clearTimeout(this.#timer);
    this.#dueAt = this.#clock.now() + delayMs;
    this.#timer = this.#clock.setTimeout(callback, delayMs);
  }
}
