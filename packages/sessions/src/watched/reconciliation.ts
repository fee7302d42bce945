/**
 * Reconciles what this process holds with the store, every few seconds, so that a change that no process announced is found
 * too. With more rows than the budget allows, the rounds take them in turn, while a bus announces every other change.
 */
import { later } from "@halyard/base";
import type { ChangeFeed } from "../changes/change-feed.ts";
import type { LiveSession } from "./live-session.ts";
import type { LiveSessions } from "./live-sessions.ts";

export interface ReconciliationOptions {
  readonly sessions: LiveSessions;
  readonly feed: Pick<ChangeFeed, "unbrokenSince">;
  readonly report: (error: unknown) => void;
  readonly intervalMs?: number | undefined;
}

/** With the time of a reading, a change is found within 5 s. */
const INTERVAL_MS = 4000;
/** The same while the store does not respond. */
const RETRY_DOWN_MS = 1000;
const LOOKUPS_PER_SECOND = 500;

export class Reconciliation {
  /** Lookups of the background, while a bus is connected. A lookup is a session with its user and membership. */
  lookupsPerSecond: number = LOOKUPS_PER_SECOND;
  readonly #sessions: LiveSessions;
  readonly #feed: Pick<ChangeFeed, "unbrokenSince">;
  readonly #report: (error: unknown) => void;
  readonly #intervalMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isRunning = false;
  #nextCompared: IterableIterator<LiveSession>;
  #nextByValue: IterableIterator<LiveSession>;
  /** Monotonic time at which the last round began that compared all. */
  #comparedAllAtMs = Number.NEGATIVE_INFINITY;

  constructor({ sessions, feed, report, intervalMs = INTERVAL_MS }: ReconciliationOptions) {
    this.#sessions = sessions;
    this.#feed = feed;
    this.#report = report;
    this.#intervalMs = intervalMs;
    this.#nextCompared = sessions.all();
    this.#nextByValue = sessions.all();
  }

  /** Starts the rounds, if they do not run. */
  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#schedule(this.#intervalMs);
  }

  /** Compares now, and resolves when the changed sessions were read. */
  async run(): Promise<void> {
    await this.#compare();
    await this.#sessions.rows.settled();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#isRunning = false;
  }

  #schedule(delayMs: number): void {
    this.#timer = later(() => void this.#round(), delayMs);
  }

  async #round(): Promise<void> {
    const startedAtMs = performance.now();
    // The next round tries again; sessions keep their last state while the store does not respond.
    await this.#compare().catch(this.#report);
    if (this.#sessions.size === 0) this.#isRunning = false;
    else {
      const waitMs = this.#sessions.rows.isDown ? RETRY_DOWN_MS : this.#intervalMs;
      this.#schedule(Math.max(0, startedAtMs + waitMs - performance.now()));
    }
  }

  /** Resolves when the changed sessions are marked. They are read later: with many of them, that may take several rounds. */
  async #compare(): Promise<void> {
    const startedAtMs = performance.now();
    const used = this.#sessions.inUse();
    const { rows } = this.#sessions;
    const { minByValue = 0, byValueMs = this.#intervalMs } = rows.comparison ?? {};
    const byValue = Math.max(minByValue, Math.ceil((used.length * this.#intervalMs) / byValueMs));
    const budget = Math.floor((this.lookupsPerSecond * this.#intervalMs) / 1000);
    if (used.length > budget && (await this.#mayTakeTurns())) {
      const share = Math.min(byValue, Math.ceil(budget / 2));
      await this.#compareRows(this.#takeTurns(budget - share, startedAtMs - this.#intervalMs), share);
    } else {
      await this.#compareRows(used, byValue);
      this.#comparedAllAtMs = startedAtMs;
    }
  }

  async #compareRows(compared: readonly LiveSession[], byValue: number): Promise<void> {
    const { rows } = this.#sessions;
    if (rows.comparison === undefined || compared.length <= rows.comparison.minByValue) rows.mark(compared);
    else {
      const marked = new Set(await rows.compare(compared));
      rows.mark(this.#takeByValue(byValue).filter((live) => !marked.has(live)));
    }
    rows.mark(this.#sessions.takeExpired(Date.now()));
  }

  /** Whether every change since a round that compared all was announced, but those made past Better Auth or without a bus. */
  async #mayTakeTurns(): Promise<boolean> {
    const unbrokenSinceMs = await this.#feed.unbrokenSince();
    return unbrokenSinceMs !== undefined && unbrokenSinceMs <= this.#comparedAllAtMs;
  }

  /** Sessions in turn, without those that were compared after this time. */
  #takeTurns(count: number, comparedAtMs: number): LiveSession[] {
    const taken: LiveSession[] = [];
    for (let passed = 0; taken.length < count && passed < this.#sessions.size; passed += 1) {
      let next = this.#nextCompared.next();
      if (next.done) {
        this.#nextCompared = this.#sessions.all();
        next = this.#nextCompared.next();
      }
      if (next.value !== undefined && next.value.comparedAtMs <= comparedAtMs) taken.push(next.value);
    }
    return taken;
  }

  /** Sessions in turn: each is taken once before one is taken again. */
  #takeByValue(count: number): LiveSession[] {
    const taken: LiveSession[] = [];
    while (taken.length < count) {
      const { value, done } = this.#nextByValue.next();
      if (done) {
        this.#nextByValue = this.#sessions.all();
        break;
      }
      taken.push(value);
    }
    return taken;
  }
}
