/**
 * Detects a connection that failed silently: sends a ping to this process by way of the broker, and expects it back
 * within a second.
 */
import type { Clock } from "@halyard/base";

const EVERY_MS = 400;
const TIMEOUT_MS = 1_000;
/** A timer that fires this late means that this process was busy, so the ping may have arrived but not been handled. */
const BUSY_MS = 100;

export class SelfPing {
  readonly #clock: Clock;
  readonly #send: (ping: string) => void;
  readonly #timedOut: (reason: string) => void;
  #timer: unknown;
  #count = 0;
  #dueAt = 0;
  #isRunning = false;

  /** `send` publishes to this process; `timedOut` is called once, when a ping did not come back in time. */
  constructor(clock: Clock, send: (ping: string) => void, timedOut: (reason: string) => void) {
    this.#clock = clock;
    this.#send = send;
    this.#timedOut = timedOut;
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

  received(ping: string): void {
    if (!this.#isRunning || ping !== String(this.#count)) return;
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
    this.#timedOut(`a ping to this process did not come back within ${TIMEOUT_MS} ms`);
  }

  #set(delayMs: number, callback: () => void): void {
    this.#clock.clearTimeout(this.#timer);
    this.#dueAt = this.#clock.now() + delayMs;
    this.#timer = this.#clock.setTimeout(callback, delayMs);
  }
}
