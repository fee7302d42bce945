/**
 * Whether a durable call that is read here still runs in another process. First the process has to answer that it runs
 * the call; then its signs of life count.
 */

/** A process that does not answer for this long does not run the call. Shorter: the reader may have lost time by reconnecting. */
const UNANSWERED_MS = 2_000;
/** The same after messages were missed: the process may be connected later than this one. */
const DOUBTED_MS = 3_500;
const ASK_EVERY_MS = 500;

export class FollowedCall {
  /** The process that runs the call. */
  readonly process: string;
  readonly #ask: () => void;
  readonly #died: () => void;
  #state: "alive" | "suspect" | "dead" = "alive";
  #isConfirmed = false;
  #limitMs = UNANSWERED_MS;
  /** Monotonic time in ms of the first question that has no answer. */
  #askedSince: number;
  #askedAt: number = Number.NEGATIVE_INFINITY;

  /** `ask` asks whether the process runs the call; `died` is called when it does not. */
  constructor(process: string, ask: () => void, died: () => void, now: number) {
    this.process = process;
    this.#ask = ask;
    this.#died = died;
    this.#askedSince = now;
    this.#askAgain(now);
  }

  /** Whether the process does not run the call any more. */
  get isDead(): boolean {
    return this.#state === "dead";
  }

  /** The process has shown that it runs the call. */
  confirm(): void {
    this.#isConfirmed = true;
  }

  /** Messages of the broker may be missing: the process is asked again. */
  doubt(now: number): void {
    this.#isConfirmed = false;
    this.#limitMs = DOUBTED_MS;
    this.#askedAt = Number.NEGATIVE_INFINITY;
    this.restart(now);
  }

  /** Time without a broker is no silence. */
  restart(now: number): void {
    this.#askedSince = now;
    if (!this.isDead) this.#state = "alive";
  }

  /** Who does not answer is dead in two checks: after a pause of this process, messages are read between the two. */
  check(now: number): void {
    if (this.isDead || this.#isConfirmed) return;
    this.#askAgain(now);
    if (now - this.#askedSince <= this.#limitMs) return;
    if (this.#state === "suspect") this.gone();
    else this.#state = "suspect";
  }

  /** The process is dead. */
  gone(): void {
    if (this.isDead) return;
    this.#state = "dead";
    this.#died();
  }

  #askAgain(now: number): void {
    if (now - this.#askedAt < ASK_EVERY_MS) return;
    this.#askedAt = now;
    this.#ask();
  }
}
