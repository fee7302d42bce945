/**
 * Fields of the host's rows by id, read again every few seconds while they are in use. A value is at most 5 s old; what
 * this process writes counts at once.
 */

import type { JsonObject } from "../../engine/json.ts";
import { within } from "../../store/wait.ts";

/** `undefined`: there is no such row. `null`: the database does not respond, and no recent value is known. */
export type RowFields = JsonObject | undefined | null;

/** The fields of the rows that exist, by id. */
export type ReadRows = (ids: readonly string[]) => Promise<ReadonlyMap<string, JsonObject>>;

export interface RowFieldsOptions {
  readonly read: ReadRows;
  /** Called after each read: with the error, or with undefined. */
  readonly onRead: (error: unknown) => void;
  /** Whether a request must not wait for work that another request has started. */
  readonly isIsolated: boolean;
  readonly monotonicMs?: (() => number) | undefined;
  readonly maxRows?: number | undefined;
}

/** From this age on, a row in use is read again in the background. */
const REFRESH_MS = 2500;
/** Up to this age a value is used. */
const FRESH_MS = 4800;
/** How long the last value is used while the database does not respond. */
const MAX_STALE_MS = 10 * 60_000;
const TIMEOUT_MS = 1000;
/** Minimum interval between two attempts while the database does not respond. */
const RETRY_MS = 1000;
/** Rows in one query. */
const MAX_BATCH = 200;
const MAX_ROWS = 20_000;

interface Row {
  readonly fields: JsonObject | undefined;
  /** When the query began, by the monotonic clock. */
  readonly readAtMs: number;
}

/** A query under way, and the rows that were changed since it began. */
interface Reading {
  readonly changed: Set<string>;
  isAllChanged: boolean;
}

type Settle = (fields: RowFields) => void;

export class RowFieldsCache {
  /** The row that was read longest ago comes first. */
  readonly #rows = new Map<string, Row>();
  readonly #running = new Map<string, Promise<RowFields>>();
  readonly #readings = new Set<Reading>();
  readonly #options: RowFieldsOptions;
  readonly #monotonicMs: () => number;
  #waiting = new Map<string, Settle[]>();
  #isServing = false;
  #failedAtMs: number | undefined;

  constructor(options: RowFieldsOptions) {
    this.#options = options;
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now());
  }

  get size(): number {
    return this.#rows.size;
  }

  /** Synchronous while the row was read recently. Never rejects. */
  get(id: string): RowFields | Promise<RowFields> {
    const now = this.#monotonicMs();
    const row = this.#rows.get(id);
    const age = row === undefined ? Number.POSITIVE_INFINITY : now - row.readAtMs;
    if (row !== undefined && age <= REFRESH_MS) return row.fields;
    const isDown = this.#failedAtMs !== undefined && now - this.#failedAtMs < RETRY_MS;
    if (row !== undefined && age <= FRESH_MS) {
      if (!isDown && !this.#options.isIsolated) void this.#load(id);
      return row.fields;
    }
    return isDown ? this.#lastKnown(id, now) : this.#load(id);
  }

  /** A change by this process. Without an id, any row may have changed. */
  changed(id?: string): void {
    if (id === undefined) {
      this.#rows.clear();
      this.#running.clear();
      for (const reading of this.#readings) reading.isAllChanged = true;
      return;
    }
    this.#rows.delete(id);
    // A request that comes now must not get the value of a query that began before the change.
    this.#running.delete(id);
    for (const { changed } of this.#readings) changed.add(id);
  }

  #load(id: string): Promise<RowFields> {
    const running = this.#running.get(id);
    if (running !== undefined && !this.#options.isIsolated) return running;
    const loading = this.#options.isIsolated ? this.#readAlone(id) : this.#readTogether(id);
    this.#running.set(id, loading);
    void loading.then(() => {
      if (this.#running.get(id) === loading) this.#running.delete(id);
    });
    return loading;
  }

  #readAlone(id: string): Promise<RowFields> {
    return new Promise((resolve) => {
      void this.#read(new Map([[id, [resolve]]]));
    });
  }

  #readTogether(id: string): Promise<RowFields> {
    return new Promise((resolve) => {
      const others = this.#waiting.get(id);
      if (others === undefined) this.#waiting.set(id, [resolve]);
      else others.push(resolve);
      void this.#serve();
    });
  }

  /** What arrives during a query is in the next one. */
  async #serve(): Promise<void> {
    if (this.#isServing) return;
    this.#isServing = true;
    while (this.#waiting.size > 0) {
      const batch = new Map<string, Settle[]>();
      for (const [id, settle] of this.#waiting) {
        if (batch.size >= MAX_BATCH) break;
        batch.set(id, settle);
        this.#waiting.delete(id);
      }
      await this.#read(batch);
    }
    this.#isServing = false;
  }

  /** Never rejects. */
  async #read(batch: ReadonlyMap<string, readonly Settle[]>): Promise<void> {
    const readAtMs = this.#monotonicMs();
    const reading: Reading = { changed: new Set(), isAllChanged: false };
    this.#readings.add(reading);
    let rows: ReadonlyMap<string, JsonObject> | undefined;
    try {
      const message = `The database did not respond within ${TIMEOUT_MS} ms.`;
      rows = await within(this.#options.read([...batch.keys()]), TIMEOUT_MS, message);
      this.#failedAtMs = undefined;
      this.#options.onRead(undefined);
    } catch (error) {
      this.#failedAtMs = this.#monotonicMs();
      this.#options.onRead(error);
    }
    this.#readings.delete(reading);
    const now = this.#monotonicMs();
    for (const [id, settle] of batch) {
      const fields = rows === undefined ? this.#lastKnown(id, now) : rows.get(id);
      const isOutdated = reading.isAllChanged || reading.changed.has(id);
      if (rows !== undefined && !isOutdated) this.#remember(id, { fields: rows.get(id), readAtMs });
      for (const one of settle) one(fields);
    }
  }

  #remember(id: string, row: Row): void {
    this.#rows.delete(id);
    this.#rows.set(id, row);
    const { maxRows = MAX_ROWS } = this.#options;
    for (const oldest of this.#rows.keys()) {
      if (this.#rows.size <= maxRows) break;
      this.#rows.delete(oldest);
    }
  }

  #lastKnown(id: string, now: number): RowFields {
    const row = this.#rows.get(id);
    return row !== undefined && now - row.readAtMs <= MAX_STALE_MS ? row.fields : null;
  }
}
