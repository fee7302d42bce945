/**
 * Fields of the host's rows by id, checked every few seconds while they are in use. A value is at most 5 s old; what this
 * process writes counts at once.
 */

import { within } from "@halyard/base";
import type { JsonObject } from "../../engine/json.ts";
import type { RowVersions } from "../../store/postgres/row-versions.ts";
import { VALUES_RETRY_MS, VALUES_STALE_MS, VALUES_TIMEOUT_MS } from "./patience.ts";

/** `undefined`: there is no such row. `null`: the database does not respond, and no recent value is known. */
export type RowFields = JsonObject | undefined | null;

/** The fields of the rows that exist, by id. */
export type ReadRows = (ids: readonly string[]) => Promise<ReadonlyMap<string, JsonObject>>;

export interface RowFieldsOptions {
  readonly read: ReadRows;
  /** Absent where a row does not show that it was written: it is then read again. */
  readonly versions?: RowVersions | undefined;
  /** Called after each read or check: with the error, or with undefined. */
  readonly onRead: (error: unknown) => void;
  /** Whether a request must not wait for work that another request has started. */
  readonly isIsolated: boolean;
  readonly monotonicMs?: (() => number) | undefined;
  readonly maxRows?: number | undefined;
}

/** From this age on, a row in use is checked in the background. */
const REFRESH_MS = 3500;
/** Up to this age a value is used. */
const FRESH_MS = 4800;
/** Rows that one query reads. */
const MAX_BATCH = 200;
/** Rows whose versions one query compares. Preparing it for more would delay other requests by several milliseconds. */
const MAX_CHECKED = 1000;
/** Rows unused for this long are not checked in the background. */
const IN_USE_MS = 60_000;
const MAX_ROWS = 20_000;

/** What a query found. */
interface Found {
  readonly fields: JsonObject | undefined;
  /** `null`: there is no row. Undefined: not known. */
  readonly version: number | null | undefined;
}

interface Row extends Found {
  /** When the last query began that found these values, by the monotonic clock. */
  checkedAtMs: number;
  usedAtMs: number;
}

/** A query under way, and the rows that were changed since it began. */
interface Reading {
  readonly changed: Set<string>;
  isAllChanged: boolean;
}

type Settle = (fields: RowFields) => void;

export class RowFieldsCache {
  /** The row that was checked longest ago comes first. */
  readonly #rows = new Map<string, Row>();
  readonly #running = new Map<string, Promise<RowFields>>();
  readonly #readings = new Set<Reading>();
  readonly #options: RowFieldsOptions;
  readonly #monotonicMs: () => number;
  #waiting = new Map<string, Settle[]>();
  #isServing = false;
  #hasVersions: boolean;
  #isChecking = false;
  /** When the last check of all rows in use began. */
  #checkedAllAtMs = Number.NEGATIVE_INFINITY;
  #failedAtMs: number | undefined;

  constructor(options: RowFieldsOptions) {
    this.#options = options;
    this.#hasVersions = options.versions !== undefined;
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now());
  }

  get size(): number {
    return this.#rows.size;
  }

  /** Synchronous while the row was checked recently. Never rejects. */
  get(id: string): RowFields | Promise<RowFields> {
    const now = this.#monotonicMs();
    const row = this.#rows.get(id);
    const age = row === undefined ? Number.POSITIVE_INFINITY : now - row.checkedAtMs;
    if (row !== undefined) row.usedAtMs = now;
    if (row !== undefined && age <= REFRESH_MS) return row.fields;
    const isDown = this.#failedAtMs !== undefined && now - this.#failedAtMs < VALUES_RETRY_MS;
    if (row !== undefined && age <= FRESH_MS) {
      if (!isDown && !this.#options.isIsolated) this.#refresh(id, now);
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

  /** All rows in use together take few queries, and their next requests need not wait for them. */
  #refresh(id: string, now: number): void {
    const isDue = now - this.#checkedAllAtMs >= REFRESH_MS;
    if (!this.#hasVersions || (!isDue && !this.#isChecking)) void this.#load(id);
    else if (!this.#isChecking) void this.#checkAll(now);
  }

  /** Never rejects. */
  async #checkAll(now: number): Promise<void> {
    this.#checkedAllAtMs = now;
    this.#isChecking = true;
    const inUse = [...this.#rows].filter(([, { usedAtMs }]) => now - usedAtMs <= IN_USE_MS);
    try {
      for (let at = 0; at < inUse.length; at += MAX_CHECKED) {
        await this.#check(inUse.slice(at, at + MAX_CHECKED));
      }
      this.#responded();
    } catch (error) {
      this.#failed(error);
    }
    this.#isChecking = false;
  }

  async #check(rows: readonly (readonly [id: string, row: Row])[]): Promise<void> {
    const { versions } = this.#options;
    const checkedAtMs = this.#monotonicMs();
    const known = new Map<string, number>();
    // Ids without a row may have a form that the database refuses, with the whole query.
    for (const [id, { version }] of rows) if (typeof version === "number") known.set(id, version);
    const areCurrent = await versions?.areCurrent(known);
    if (areCurrent === undefined) this.#hasVersions = false;
    const found = areCurrent === false ? await versions?.read([...known.keys()]) : undefined;
    for (const [id, row] of rows) {
      // Changed by this process, or read again, since the query began; or not checked.
      if (this.#rows.get(id) !== row || !known.has(id)) continue;
      if (areCurrent === true || isUnchanged(row, found, id)) {
        row.checkedAtMs = checkedAtMs;
        this.#remember(id, row);
      } else if (found !== undefined) void this.#load(id);
    }
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
    const checkedAtMs = this.#monotonicMs();
    const reading: Reading = { changed: new Set(), isAllChanged: false };
    this.#readings.add(reading);
    let found: ReadonlyMap<string, Found> | undefined;
    try {
      const message = `The database did not respond within ${VALUES_TIMEOUT_MS} ms.`;
      found = await within(this.#find([...batch.keys()]), VALUES_TIMEOUT_MS, message);
      this.#responded();
    } catch (error) {
      this.#failed(error);
    }
    this.#readings.delete(reading);
    const now = this.#monotonicMs();
    for (const [id, settle] of batch) {
      const one = found?.get(id);
      const isOutdated = reading.isAllChanged || reading.changed.has(id);
      const { usedAtMs = now } = this.#rows.get(id) ?? {};
      if (one !== undefined && !isOutdated) this.#remember(id, { ...one, checkedAtMs, usedAtMs });
      const fields = one === undefined ? this.#lastKnown(id, now) : one.fields;
      for (const give of settle) give(fields);
    }
  }

  /** Reads the rows whose version is not the known one. */
  async #find(ids: readonly string[]): Promise<ReadonlyMap<string, Found>> {
    const found = new Map<string, Found>();
    // Before the fields: a change between the two queries shows at the next check.
    const versions = this.#options.versions && (await this.#options.versions.read(ids));
    const toRead: string[] = [];
    for (const id of ids) {
      const row = this.#rows.get(id);
      if (row !== undefined && isUnchanged(row, versions, id)) found.set(id, row);
      else toRead.push(id);
    }
    const rows = toRead.length === 0 ? undefined : await this.#options.read(toRead);
    for (const id of toRead) {
      found.set(id, { fields: rows?.get(id), version: versions && (versions.get(id) ?? null) });
    }
    return found;
  }

  #responded(): void {
    this.#failedAtMs = undefined;
    this.#options.onRead(undefined);
  }

  #failed(error: unknown): void {
    this.#failedAtMs = this.#monotonicMs();
    this.#options.onRead(error);
  }

  #remember(id: string, row: Row): void {
    this.#rows.delete(id);
    this.#rows.set(id, row);
    const { maxRows = MAX_ROWS } = this.#options;
    // Not for every row: to find the first entry, a map passes over those that were deleted before it.
    if (this.#rows.size <= maxRows) return;
    for (const oldest of this.#rows.keys()) {
      this.#rows.delete(oldest);
      break;
    }
  }

  #lastKnown(id: string, now: number): RowFields {
    const row = this.#rows.get(id);
    return row !== undefined && now - row.checkedAtMs <= VALUES_STALE_MS ? row.fields : null;
  }
}

function isUnchanged(row: Row, versions: ReadonlyMap<string, number> | undefined, id: string): boolean {
  return versions !== undefined && row.version !== undefined && row.version === (versions.get(id) ?? null);
}
