/** Keeps one connection open: when it is lost another is opened, after a wait that grows while that fails. */
import type { Clock } from "../router/clock.ts";
import { messageOf, pause } from "./waits.ts";

const SHORTEST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 1_000;

export interface Kept {
  /** Resolves when the connection is of no more use, with the reason. */
  readonly ended: Promise<string>;
  /** Ends it without waiting for anything. */
  destroy(): void;
}

export interface KeeperEvents {
  up(): void;
  down(reason: string): void;
}

export class Keeper<C extends Kept> {
  readonly #open: () => Promise<C>;
  readonly #events: KeeperEvents;
  readonly #clock: Clock;
  readonly #waiters = new Set<(connection: C) => void>();
  #current: C | undefined;
  #isStarted = false;
  #isStopped = false;
  #hasBeenUp = false;
  #lastFailure = "it was not tried yet";

  /** `open` rejects when there is no connection to be had; it is tried again. */
  constructor(open: () => Promise<C>, events: KeeperEvents, clock: Clock) {
    this.#open = open;
    this.#events = events;
    this.#clock = clock;
  }

  get current(): C | undefined {
    return this.#current;
  }

  /** False until the first connection: before that nothing was lost. */
  get hasBeenUp(): boolean {
    return this.#hasBeenUp;
  }

  /** Opens the first connection, unless that was done before. */
  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    void this.#run();
  }

  stop(): void {
    this.#isStopped = true;
    this.#current?.destroy();
  }

  /** The connection, as soon as there is one; rejects after a while. */
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
        reject(new Error(`there is no connection: ${this.#lastFailure}`));
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
      if (!this.#isStopped) await pause(this.#clock, waitMs(failures));
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

/** Spread, so that the nodes of a cluster do not come back all at once. */
function waitMs(failures: number): number {
  const longest = Math.min(SHORTEST_WAIT_MS * 2 ** failures, LONGEST_WAIT_MS);
  return longest * (0.5 + Math.random() / 2);
}
