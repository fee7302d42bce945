/**
 * Reconciles what this process holds with the store, every few seconds, so that a change that no process announced is found
 * too. With more rows than the budget allows, the rounds take them in turn, while a bus announces every other change.
 */
import { later } from "@halyard/base";
import type { ChangeFeed } from "../changes/change-feed.ts";
import type { WatchedRow, WatchedRows } from "./watched-rows.ts";

/** The rows of one kind. */
export interface ReconciledRows<Row extends WatchedRow> {
  readonly rows: Pick<WatchedRows<Row, unknown>, "mark" | "compare" | "comparison" | "isDown" | "settled">;
  readonly size: number;
  /** Rows that are added later come last, also in an iteration that has begun. */
  all(): IterableIterator<Row>;
  /** The rows to compare in the background. May drop the others. */
  inUse(): readonly Row[];
  /** Rows to read, whatever a comparison says. */
  takeExpired?(wallMs: number): readonly Row[];
  /** Called when a row is added. */
  onAdded: (() => void) | undefined;
}

export interface ReconciliationOptions {
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
  /** Lookups of the background, while a bus is connected. */
  lookupsPerSecond: number = LOOKUPS_PER_SECOND;
  readonly #feed: Pick<ChangeFeed, "unbrokenSince">;
  readonly #report: (error: unknown) => void;
  readonly #intervalMs: number;
  readonly #kinds: Turns[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isRunning = false;
  /** Monotonic time at which the last round began that compared all. */
  #comparedAllAtMs = Number.NEGATIVE_INFINITY;

  constructor({ feed, report, intervalMs = INTERVAL_MS }: ReconciliationOptions) {
    this.#feed = feed;
    this.#report = report;
    this.#intervalMs = intervalMs;
  }

  /** The rounds run from the first row on. */
  add<Row extends WatchedRow>(kind: ReconciledRows<Row>): void {
    this.#kinds.push(new RowsInTurn(kind, this.#intervalMs));
    kind.onAdded = () => this.start();
  }

  /** Starts the rounds, if they do not run. */
  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#schedule(this.#intervalMs);
  }

  /** Compares now, and resolves when the changed rows were read. */
  async run(): Promise<void> {
    await this.#compare();
    for (const kind of this.#kinds) await kind.settled();
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
    // The next round tries again; rows keep their last state while the store does not respond.
    await this.#compare().catch(this.#report);
    if (!this.#isRunning) return;
    if (this.#kinds.every(({ size }) => size === 0)) this.#isRunning = false;
    else {
      const waitMs = this.#kinds.some(({ isDown }) => isDown) ? RETRY_DOWN_MS : this.#intervalMs;
      this.#schedule(Math.max(0, startedAtMs + waitMs - performance.now()));
    }
  }

  /** Resolves when the changed rows are marked. They are read later: with many of them, that may take several rounds. */
  async #compare(): Promise<void> {
    const startedAtMs = performance.now();
    const counts = this.#kinds.map((kind) => kind.begin());
    const total = counts.reduce((sum, count) => sum + count, 0);
    const budget = (this.lookupsPerSecond * this.#intervalMs) / 1000;
    const isWithin = total <= budget || !(await this.#mayTakeTurns());
    for (const [at, kind] of this.#kinds.entries())
      await (isWithin
        ? kind.compareAll()
        : kind.compareInTurn(Math.ceil((budget * (counts[at] ?? 0)) / total)));
    if (isWithin) this.#comparedAllAtMs = startedAtMs;
  }

  /** Whether every change since a round that compared all was announced, but those made past Better Auth or without a bus. */
  async #mayTakeTurns(): Promise<boolean> {
    const unbrokenSinceMs = await this.#feed.unbrokenSince();
    return unbrokenSinceMs !== undefined && unbrokenSinceMs <= this.#comparedAllAtMs;
  }
}

interface Turns {
  readonly size: number;
  readonly isDown: boolean;
  settled(): Promise<void>;
  /** Begins a round. Returns the number of rows in use. */
  begin(): number;
  compareAll(): Promise<void>;
  compareInTurn(budget: number): Promise<void>;
}

/** Rows of one kind, of which each is taken once before one is taken again. */
class RowsInTurn<Row extends WatchedRow> implements Turns {
  readonly #kind: ReconciledRows<Row>;
  readonly #intervalMs: number;
  #used: readonly Row[] = [];
  #nextCompared: IterableIterator<Row>;
  #nextByValue: IterableIterator<Row>;

  constructor(kind: ReconciledRows<Row>, intervalMs: number) {
    this.#kind = kind;
    this.#intervalMs = intervalMs;
    this.#nextCompared = kind.all();
    this.#nextByValue = kind.all();
  }

  get size(): number {
    return this.#kind.size;
  }

  get isDown(): boolean {
    return this.#kind.rows.isDown;
  }

  settled(): Promise<void> {
    return this.#kind.rows.settled();
  }

  begin(): number {
    this.#used = this.#kind.inUse();
    return this.#used.length;
  }

  compareAll(): Promise<void> {
    return this.#compare(this.#used, this.#shareByValue());
  }

  compareInTurn(budget: number): Promise<void> {
    const byValue = Math.min(this.#shareByValue(), Math.ceil(budget / 2));
    return this.#compare(this.#takeTurns(budget - byValue), byValue);
  }

  async #compare(compared: readonly Row[], byValue: number): Promise<void> {
    const { rows } = this.#kind;
    if (rows.comparison === undefined || compared.length <= rows.comparison.minByValue) rows.mark(compared);
    else {
      const marked = new Set(await rows.compare(compared));
      rows.mark(this.#takeByValue(byValue).filter((row) => !marked.has(row)));
    }
    rows.mark(this.#kind.takeExpired?.(Date.now()) ?? []);
  }

  #shareByValue(): number {
    const { minByValue = 0, byValueMs = this.#intervalMs } = this.#kind.rows.comparison ?? {};
    return Math.max(minByValue, Math.ceil((this.#used.length * this.#intervalMs) / byValueMs));
  }

  /** Without those that were compared a moment ago. */
  #takeTurns(count: number): Row[] {
    const used = new Set(this.#used);
    const comparedAtMs = performance.now() - this.#intervalMs;
    const taken: Row[] = [];
    for (let passed = 0; taken.length < count && passed < this.#kind.size; passed += 1) {
      let next = this.#nextCompared.next();
      if (next.done) {
        this.#nextCompared = this.#kind.all();
        next = this.#nextCompared.next();
      }
      const row = next.value;
      if (row !== undefined && row.comparedAtMs <= comparedAtMs && used.has(row)) taken.push(row);
    }
    return taken;
  }

  #takeByValue(count: number): Row[] {
    const used = new Set(this.#used);
    const taken: Row[] = [];
    while (taken.length < count) {
      const { value, done } = this.#nextByValue.next();
      if (done) {
        this.#nextByValue = this.#kind.all();
        break;
      }
      if (used.has(value)) taken.push(value);
    }
    return taken;
  }
}
