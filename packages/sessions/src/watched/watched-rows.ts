/**
 * The rows that this process relies on. A change only marks rows; one reader at a time then reads the marked ones by
 * value. A reading that began before a change is never the last one.
 */
import { later, RETRY_MS, within } from "@halyard/base";
import type { ChangeFeed } from "../changes/change-feed.ts";
import type { IdentityChange } from "../changes/identity-change.ts";
import { unavailable } from "../identify/errors.ts";

interface Waiter {
  resolve(isFound: boolean): void;
  reject(error: unknown): void;
}

/**
 * What one lookup finds: a session with its user and membership, or one other row. A process holds thousands of these: a
 * collection of its own in each would take more memory than the rest.
 */
export class WatchedRow {
  /** By which it is found among the rows of its kind. */
  readonly key: string;
  /** Calls that wait for a reading that begins after them. */
  waiters: Waiter[] | undefined;
  isDropped = false;
  /** Monotonic time of the first change that no reading has answered. */
  changedAtMs: number | undefined;
  /** Monotonic time at which the last successful reading or comparison began. */
  comparedAtMs: number = Number.NEGATIVE_INFINITY;
  /** The version of what was read last, or an older one. Undefined until a comparison has found one. */
  version: string | undefined;
  /** The version that the comparison found. A reading that begins after it makes it `version`. */
  foundVersion: string | undefined;

  constructor(key: string) {
    this.key = key;
  }

  wait(waiter: Waiter): void {
    if (this.waiters === undefined) this.waiters = [waiter];
    else this.waiters.push(waiter);
  }

  takeWaiters(): readonly Waiter[] {
    const { waiters = [] } = this;
    this.waiters = undefined;
    return waiters;
  }
}

/** Finds out which rows have changed, for less than reading them. */
export interface Comparison<Row extends WatchedRow> {
  /**
   * The rows that may have changed since they were compared last, with the version that was found, if rows have any.
   * Undefined from the first time on that the database cannot tell.
   */
  findChanged(rows: readonly Row[]): Promise<ReadonlyMap<Row, string | undefined> | undefined>;
  /** In this time, each row is read by value too. */
  readonly byValueMs: number;
  /** So many rows are read by value in every round. */
  readonly minByValue: number;
}

/** How the rows of one kind are read, and what follows from a reading. */
export interface RowKind<Row extends WatchedRow, Value> {
  /** By key. A row that does not exist is not in the result. */
  read(rows: readonly Row[]): Promise<ReadonlyMap<string, Value>>;
  /** The first one that the database supports is used. Without any, rows are read. */
  readonly comparisons: readonly Comparison<Row>[];
  /** The changes that concern a row. Absent if rows that a change concerns are dropped, with what is being read of them. */
  subjectsOf?(row: Row): readonly IdentityChange[];
  /** Takes what was read. Drops a row that does not exist. */
  apply(row: Row, value: Value | undefined): void;
  /** The row has changed, and could not be read for 5 s. Drops it. */
  giveUp(row: Row): void;
}

export interface WatchedRowsOptions<Row extends WatchedRow, Value> {
  readonly kind: RowKind<Row, Value>;
  readonly feed: ChangeFeed;
  /** Called with the errors of the store. */
  readonly report: (error: unknown) => void;
  /** Whether a request must not wait for work that another request has started. */
  readonly isIsolated?: boolean | undefined;
}

/** Rows in one reading. */
const MAX_BATCH = 500;
/** How long a request waits for a comparison. */
const CONFIRM_MS = 1000;
/** Minimum interval between two attempts while the store does not respond. */
const RETRY_DOWN_MS = 1000;
/** A row that has changed and cannot be read is given up after this time. */
const MAX_UNREAD_MS = 5000;

export class WatchedRows<Row extends WatchedRow, Value> {
  readonly #kind: RowKind<Row, Value>;
  readonly #feed: ChangeFeed;
  readonly #report: (error: unknown) => void;
  readonly #isIsolated: boolean;
  #comparisons: readonly Comparison<Row>[];
  #marked = new Set<Row>();
  #reading: Promise<void> | undefined;
  #unconfirmed = new Map<Row, (isAnswered: boolean) => void>();
  readonly #confirming = new Map<Row, Promise<boolean>>();
  #isConfirming = false;
  /** When the last query failed. Undefined after one that did not. Monotonic time. */
  #failedAtMs: number | undefined;

  constructor({ kind, feed, report, isIsolated = false }: WatchedRowsOptions<Row, Value>) {
    this.#kind = kind;
    this.#isIsolated = isIsolated;
    this.#feed = feed;
    this.#report = report;
    this.#comparisons = kind.comparisons;
  }

  /** What notices changes. Undefined where each row must be read. */
  get comparison(): Comparison<Row> | undefined {
    return this.#comparisons[0];
  }

  /** Whether the row exists, by a reading that begins after this call. Rejects when the store fails. */
  read(row: Row): Promise<boolean> {
    return new Promise((resolve, reject) => {
      row.wait({ resolve, reject });
      this.mark([row]);
    });
  }

  /**
   * Compares a row that a request waits for, together with the others that wait, and reads it if it may have changed. False
   * while the store does not respond. Never rejects.
   */
  confirm(row: Row): Promise<boolean> {
    if (this.#isIsolated) return this.#isAnswered(this.#readBatch([row]));
    const current = this.#confirming.get(row);
    if (current !== undefined) return current;
    const confirming = new Promise<boolean>((resolve) => {
      this.#unconfirmed.set(row, resolve);
    }).finally(() => this.#confirming.delete(row));
    this.#confirming.set(row, confirming);
    void this.#confirmAll();
    return confirming;
  }

  /** Whether the last query failed. */
  get isDown(): boolean {
    return this.#failedAtMs !== undefined;
  }

  /** The same. Starts the next attempt, with this row, without waiting for it. */
  isDownFor(row: Row): boolean {
    if (this.#failedAtMs === undefined) return false;
    if (performance.now() - this.#failedAtMs >= RETRY_DOWN_MS) void this.confirm(row);
    return true;
  }

  /** Rows to read by value. */
  mark(rows: Iterable<Row>): void {
    for (const row of rows) this.#marked.add(row);
    if (this.#marked.size > 0) this.#reading ??= this.#readMarked();
  }

  /** Rows that a change concerns. */
  markChanged(rows: readonly Row[]): void {
    const nowMs = performance.now();
    for (const row of rows) row.changedAtMs ??= nowMs;
    this.mark(rows);
  }

  drop(row: Row): void {
    row.isDropped = true;
    this.#marked.delete(row);
  }

  /** Resolves when no marked row is left. */
  async settled(): Promise<void> {
    while (this.#reading !== undefined) await this.#reading;
  }

  /** Marks those of the rows that may have changed, and returns them. They are read later: with many of them, that may take several rounds. */
  async compare(rows: readonly Row[]): Promise<readonly Row[]> {
    const unconfirmed = await this.#findUnconfirmed(rows);
    this.mark(unconfirmed);
    return unconfirmed;
  }

  /** Those that may have changed; the others are as they were. */
  async #findUnconfirmed(rows: readonly Row[]): Promise<readonly Row[]> {
    const startedAtMs = performance.now();
    try {
      const changed = await this.#findChanged(rows);
      if (changed === undefined) return rows;
      this.#failedAtMs = undefined;
      for (const [row, version] of changed) row.foundVersion = version;
      for (const row of rows) if (!changed.has(row)) row.comparedAtMs = startedAtMs;
      return [...changed.keys()];
    } catch (error) {
      this.#failedAtMs = performance.now();
      throw error;
    }
  }

  async #findChanged(rows: readonly Row[]): Promise<ReadonlyMap<Row, string | undefined> | undefined> {
    for (const comparison of this.#comparisons) {
      const changed = await comparison.findChanged(rows);
      if (changed !== undefined) return changed;
      this.#comparisons = this.#comparisons.filter((other) => other !== comparison);
    }
    return undefined;
  }

  /** Rows that arrive during a comparison are in the next one. */
  async #confirmAll(): Promise<void> {
    if (this.#isConfirming) return;
    this.#isConfirming = true;
    while (this.#unconfirmed.size > 0) {
      const waiting = this.#unconfirmed;
      this.#unconfirmed = new Map();
      const isAnswered = await this.#isAnswered(this.#confirmBatch([...waiting.keys()]));
      for (const settle of waiting.values()) settle(isAnswered);
    }
    this.#isConfirming = false;
  }

  /** Never rejects. */
  async #isAnswered(work: Promise<boolean>): Promise<boolean> {
    try {
      return await within(work, CONFIRM_MS, `The database did not respond within ${CONFIRM_MS} ms.`);
    } catch (error) {
      this.#failedAtMs = performance.now();
      this.#report(error);
      return false;
    }
  }

  async #confirmBatch(batch: readonly Row[]): Promise<boolean> {
    const unconfirmed = await this.#findUnconfirmed(batch);
    await Promise.all(unconfirmed.map((row) => this.read(row)));
    return true;
  }

  async #readMarked(): Promise<void> {
    // Changes of one write arrive together, and share one reading.
    await undefined;
    while (this.#marked.size > 0) {
      const batch: Row[] = [];
      for (const row of this.#marked) {
        this.#marked.delete(row);
        if (batch.push(row) === MAX_BATCH) break;
      }
      await this.#readBatch(batch);
    }
    this.#reading = undefined;
  }

  /** False while the store does not respond. Never rejects. */
  async #readBatch(batch: readonly Row[]): Promise<boolean> {
    const waiting = batch.map((row) => row.takeWaiters());
    const versions = batch.map(({ foundVersion }) => foundVersion);
    const startedAtMs = performance.now();
    try {
      const values = await this.#kind.read(batch);
      this.#failedAtMs = undefined;
      for (const [at, row] of batch.entries()) {
        row.comparedAtMs = startedAtMs;
        // Found before these rows were read: they are of this version, or of a later one that differs from it.
        row.version = versions[at] ?? row.version;
        this.#apply(row, values.get(row.key), startedAtMs, waiting[at] ?? []);
      }
      return true;
    } catch (error) {
      this.#failedAtMs = performance.now();
      this.#report(error);
      for (const [at, row] of batch.entries()) this.#fail(row, waiting[at] ?? [], error);
      return false;
    }
  }

  #apply(row: Row, value: Value | undefined, startedAtMs: number, waiters: readonly Waiter[]): void {
    if (!row.isDropped) this.#kind.apply(row, value);
    if (row.isDropped) {
      // Those that came during this reading, too: no other follows.
      for (const { resolve } of [...waiters, ...row.takeWaiters()]) resolve(false);
      return;
    }
    // It may have been read before a change.
    const subjects = this.#kind.subjectsOf?.(row);
    if (subjects !== undefined && this.#feed.hasChanged(subjects, startedAtMs)) {
      if (waiters.length > 0) row.waiters = [...waiters, ...row.takeWaiters()];
      this.#marked.add(row);
      return;
    }
    row.changedAtMs = undefined;
    for (const { resolve } of waiters) resolve(true);
  }

  #fail(row: Row, waiters: readonly Waiter[], cause: unknown): void {
    const refuse = (waiting: readonly Waiter[]): void => {
      for (const { reject } of waiting)
        reject(unavailable("The session could not be read. Try again.", cause));
    };
    refuse(waiters);
    if (row.isDropped || row.changedAtMs === undefined) return;
    if (performance.now() - row.changedAtMs < MAX_UNREAD_MS)
      return void later(() => {
        if (!row.isDropped) this.mark([row]);
      }, RETRY_MS);
    this.#kind.giveUp(row);
    refuse(row.takeWaiters());
  }
}
