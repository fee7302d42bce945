/**
 * Fields of the rows of one table, by key. What a request gets is at most 5 s old; a change that was announced counts at
 * once.
 */
import type { ChangeFeed } from "../changes/change-feed.ts";
import type { RowChange } from "../changes/identity-change.ts";
import { type Comparison, WatchedRow, WatchedRows } from "./watched-rows.ts";

/** The tables of which fields can be watched. */
export type WatchedModel = "user" | "session" | "organization" | "apikey";

/** `undefined`: there is no such row. `null`: the database does not respond, and no recent value is known. */
export type RowFields<Fields> = Fields | undefined | null;

export interface WatchedFieldsOptions<Fields> {
  readonly model: WatchedModel;
  readonly feed: ChangeFeed;
  /** The fields of the rows that exist, by key. */
  readonly read: (keys: readonly string[]) => Promise<ReadonlyMap<string, Fields>>;
  /** Empty where each row must be read. */
  readonly comparisons?: readonly Comparison<FieldRow<Fields>>[] | undefined;
  /** Called with the errors of the database. */
  readonly report: (error: unknown) => void;
  /** Whether a request must not wait for work that another request has started. */
  readonly isIsolated?: boolean | undefined;
  readonly maxRows?: number | undefined;
}

/** Up to this age a value is used. */
const FRESH_MS = 4800;
/** How long the last value is used while the database does not respond. */
const MAX_STALE_MS = 10 * 60_000;
/** Rows unused for this long are not compared in the background. */
const IN_USE_MS = 60_000;
const MAX_ROWS = 20_000;
/** Minimum interval between two updates of the eviction order for one row. */
const TOUCH_INTERVAL_MS = 1000;
const NONE: readonly never[] = [];

export class FieldRow<Fields> extends WatchedRow {
  fields: Fields | undefined;
  usedAtMs: number = Number.NEGATIVE_INFINITY;

  /** Whether it was read, and did not exist. */
  get isMissing(): boolean {
    return this.fields === undefined && this.comparedAtMs !== Number.NEGATIVE_INFINITY;
  }
}

/** Fields of the rows of one table that requests use. */
export class WatchedFields<Fields> {
  /** The rows in memory. */
  readonly rows: WatchedRows<FieldRow<Fields>, Fields>;
  readonly #model: WatchedModel;
  readonly #maxRows: number;
  #isClosed = false;
  /** The least recently used first. */
  readonly #byKey = new Map<string, FieldRow<Fields>>();
  /** Called when a row is added. */
  onAdded: (() => void) | undefined;

  constructor(options: WatchedFieldsOptions<Fields>) {
    const { model, feed, read, comparisons = [], report, isIsolated, maxRows = MAX_ROWS } = options;
    this.#model = model;
    this.#maxRows = maxRows;
    const kind = {
      read: (rows: readonly FieldRow<Fields>[]) => read(rows.map(({ key }) => key)),
      comparisons,
      apply: (row: FieldRow<Fields>, fields: Fields | undefined) => {
        row.fields = fields;
      },
      giveUp: (row: FieldRow<Fields>) => this.#drop(row),
    };
    this.rows = new WatchedRows({ kind, feed, report, isIsolated });
    feed.listeners.add((change) => this.#applyChange(change));
  }

  /** The number of rows in memory. */
  get size(): number {
    return this.#byKey.size;
  }

  /** The rows in memory. One that is added or used comes last. */
  all(): IterableIterator<FieldRow<Fields>> {
    return this.#byKey.values();
  }

  /** The rows that requests have used a moment ago. */
  inUse(): FieldRow<Fields>[] {
    if (this.#isClosed) return [];
    const nowMs = performance.now();
    return [...this.#byKey.values()].filter(({ usedAtMs }) => nowMs - usedAtMs <= IN_USE_MS);
  }

  /** Synchronous while the row was compared a moment ago. Never rejects. */
  get(key: string): RowFields<Fields> | Promise<RowFields<Fields>> {
    const nowMs = performance.now();
    const row = this.#rowOf(key, nowMs);
    if (nowMs - row.comparedAtMs <= FRESH_MS) return row.fields;
    return this.rows.isDownFor(row) ? lastKnown(row) : this.#confirm(row);
  }

  /** The fields of the rows that exist, read or compared now. Rejects while the database does not respond. */
  async refresh(keys: readonly string[]): Promise<ReadonlyMap<string, Fields>> {
    const nowMs = performance.now();
    const found = await Promise.all(keys.map((key) => this.#settle(this.#rowOf(key, nowMs))));
    if (found.some(({ isAnswered }) => !isAnswered)) throw new Error("The database did not respond.");
    return new Map(
      found.flatMap(({ row: { key, fields } }) => (fields === undefined ? [] : [[key, fields]])),
    );
  }

  /** Rows are not compared any more. */
  close(): void {
    this.#isClosed = true;
    for (const row of this.#byKey.values()) this.#drop(row);
  }

  async #confirm(row: FieldRow<Fields>): Promise<RowFields<Fields>> {
    const { row: last, isAnswered } = await this.#settle(row);
    return isAnswered ? last.fields : lastKnown(last);
  }

  async #settle(row: FieldRow<Fields>): Promise<{ row: FieldRow<Fields>; isAnswered: boolean }> {
    const isAnswered = await this.rows.confirm(row);
    // It was changed meanwhile: what was read may be older.
    return row.isDropped ? this.#settle(this.#rowOf(row.key, performance.now())) : { row, isAnswered };
  }

  #rowOf(key: string, nowMs: number): FieldRow<Fields> {
    const existing = this.#byKey.get(key);
    const row = existing ?? new FieldRow<Fields>(key);
    if (nowMs - row.usedAtMs < TOUCH_INTERVAL_MS) return row;
    row.usedAtMs = nowMs;
    this.#byKey.delete(key);
    this.#byKey.set(key, row);
    if (existing !== undefined) return row;
    for (const oldest of this.#byKey.values()) {
      if (this.#byKey.size <= this.#maxRows) break;
      this.#drop(oldest);
    }
    if (!this.#isClosed) this.onAdded?.();
    return row;
  }

  #drop(row: FieldRow<Fields>): void {
    this.rows.drop(row);
    this.#byKey.delete(row.key);
  }

  #applyChange(change: RowChange): void {
    const key = keyOf(change, this.#model);
    if (key === undefined) return;
    const row = key === ALL ? undefined : this.#byKey.get(key);
    for (const concerned of key === ALL ? this.#byKey.values() : row ? [row] : NONE) this.#drop(concerned);
  }
}

/** Any row may have changed. */
const ALL = Symbol();

/** The row of this table that a change concerns. */
function keyOf(change: RowChange, model: WatchedModel): string | typeof ALL | undefined {
  switch (change.kind) {
    case "unknown":
      return ALL;
    case "user":
      return model === "user" ? change.id : undefined;
    case "session":
      return model === "session" || model === "apikey" ? change.id : undefined;
    // Rows are found by the token, which these do not have.
    case "session-rows":
    case "session-print":
    case "session-id":
      return model === "session" ? ALL : undefined;
    case "organization":
    case "organization-row":
      return model === "organization" ? change.id : undefined;
    case "member":
      return undefined;
  }
}

function lastKnown<Fields>({ fields, comparedAtMs }: FieldRow<Fields>): RowFields<Fields> {
  return performance.now() - comparedAtMs <= MAX_STALE_MS ? fields : null;
}
