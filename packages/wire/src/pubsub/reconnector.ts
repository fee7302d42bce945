/** Keeps one connection to a broker open: replaces a lost connection, with a backoff that grows while attempts fail. */
import { type Clock, pause } from "@halyard/base";
import { messageOf } from "../protocol/error.ts";

const MIN_BACKOFF_MS = 50;
const MAX_BACKOFF_MS = 1_000;

export interface ReconnectableConnection {
  /** Resolves with the reason when the connection can no longer be used. */
  readonly ended: Promise<string>;
  /** Closes the connection immediately. */
  destroy(): void;
}

export interface ReconnectorEvents {
  up(): void;
  down(reason: string): void;
}

export class Reconnector<C extends ReconnectableConnection> {
  readonly #open: () => Promise<C>;
  readonly #events: ReconnectorEvents;
  readonly #clock: Clock;
  readonly #waiters = new Set<(connection: C) => void>();
  #current: C | undefined;
  #isStarted = false;
  #isStopped = false;
  #hasBeenUp = false;
  #lastFailure = "no attempt has been made yet";

  /** When `open` rejects, it is called again after a backoff. */
  constructor(open: () => Promise<C>, events: ReconnectorEvents, clock: Clock) {
    this.#open = open;
    this.#events = events;
    this.#clock = clock;
  }

  get current(): C | undefined {
    return this.#current;
  }

  /** False until the first connection is open. */
  get hasBeenUp(): boolean {
    return this.#hasBeenUp;
  }

  /** Opens the first connection; does nothing when called again. */
  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    void this.#run();
  }

  stop(): void {
    this.#isStopped = true;
    this.#current?.destroy();
  }

  /** Resolves to the connection once it is open; rejects after `timeoutMs`. */
  whenUp(timeoutMs: number): Promise<C> {
    this.start();
    if (this.#current !== undefined) return Promise.resolve(this.#current);
    return new Promise((resolve, reject) => {
      const waiter = (connection: C): void => {
        this.#clock.clearTimeout(timer);
        resolve(connection);
      };
      const timer = this.#clock.setTimeout(() => {
        this.#waiters.delete(waiter);
        reject(new Error(`no connection within ${timeoutMs} ms: ${this.#lastFailure}`));
      }, timeoutMs);
      this.#waiters.add(waiter);
    });
  }

  async #run(): Promise<void> {
    for (let failures = 0; !this.#isStopped; ) {
      const connection = await this.#attempt();
      if (connection === undefined) failures++;
      else {
        failures = 0;
        await this.#use(connection);
      }
      if (!this.#isStopped) await pause(this.#clock, backoffMs(failures));
    }
  }

  async #attempt(): Promise<C | undefined> {
    try {
      const connection = await this.#open();
      if (!this.#isStopped) return connection;
      connection.destroy();
    } catch (error) {
      this.#lastFailure = messageOf(error);
    }
    return undefined;
  }

  async #use(connection: C): Promise<void> {
    this.#current = connection;
    this.#hasBeenUp = true;
    this.#events.up();
    for (const waiter of this.#waiters) waiter(connection);
    this.#waiters.clear();
    this.#lastFailure = await connection.ended;
    this.#current = undefined;
    connection.destroy();
    if (!this.#isStopped) this.#events.down(this.#lastFailure);
  }
}

/** Random, so that the processes of a cluster do not reconnect at the same time. */
function backoffMs(failures: number): number {
  const longest = Math.min(MIN_BACKOFF_MS * 2 ** failures, MAX_BACKOFF_MS);
  return longest * (0.5 + Math.random() / 2);
}
