/** Rows by exact value. Some collations take `Beta` for `beta` and `a ` for `a`, so what comes back is compared again. */
import type { DBTransactionAdapter, Where } from "@better-auth/core/db/adapter";
import { sleep } from "./wait.ts";

export type Adapter = DBTransactionAdapter;

/** Columns and the values they must have. */
export type Match = Readonly<Record<string, string>>;

/** Better Auth reads 100 rows unless it is given a limit; this one is the largest every driver takes. */
const ALL = 2 ** 31 - 1;

/** Large enough to be worth a round trip, small enough that others get their turn before the next. */
const CHUNK = 2000;

/** The longest list an `in` may have: every database takes as many parameters. */
const MAX_LIST = 1000;

export function where(match: Match): Where[] {
  return Object.entries(match).map(([field, value]) => ({ field, value }));
}

/** Whether a database can have stored it: PostgreSQL refuses even to be asked for NUL. */
export function isStorableText(value: string): boolean {
  return !value.includes("\0");
}

function isStorable(match: Match): boolean {
  return Object.values(match).every(isStorableText);
}

export function isExactly<Row extends object>(row: Row, match: Match): boolean {
  return Object.entries(match).every(([field, value]) => row[field as keyof Row] === value);
}

export async function findRow<Row extends object>(
  adapter: Adapter,
  model: string,
  match: Match,
): Promise<Row | undefined> {
  if (!isStorable(match)) return undefined;
  const row = await adapter.findOne<Row>({ model, where: where(match) });
  return row !== null && isExactly(row, match) ? row : undefined;
}

export interface FindOptions {
  /** Conditions besides those of the match, which are the caller's to check again. */
  readonly also?: readonly Where[];
  readonly select?: readonly string[];
  readonly sortBy?: { field: string; direction: "asc" | "desc" };
  readonly limit?: number;
}

export async function findRows<Row extends object>(
  adapter: Adapter,
  model: string,
  match: Match,
  { also = [], select, sortBy, limit = ALL }: FindOptions = {},
): Promise<Row[]> {
  if (!isStorable(match)) return [];
  const rows = await adapter.findMany<Row>({
    model,
    where: [...where(match), ...also],
    limit,
    ...(select && { select: [...select] }),
    ...(sortBy && { sortBy }),
  });
  return rows.filter((row) => isExactly(row, match));
}

/** The rows whose `field` has one of these values. */
export async function findRowsIn<Row extends object>(
  adapter: Adapter,
  model: string,
  match: Match,
  field: string,
  values: readonly string[],
): Promise<Row[]> {
  const rows: Row[] = [];
  // An empty `in` is an error in SQL; here it is no round.
  for (let start = 0; start < values.length; start += MAX_LIST) {
    const also: Where[] = [{ field, operator: "in", value: values.slice(start, start + MAX_LIST) }];
    for (const row of await findRows<Row>(adapter, model, match, { also })) rows.push(row);
  }
  return rows;
}

export interface ScanOptions {
  readonly also?: readonly Where[];
  readonly select?: readonly string[];
  readonly descending?: boolean;
  /** Begins after the row with this id. */
  readonly after?: string | undefined;
  /** How many rows the caller is likely to need. */
  readonly expected?: number | undefined;
}

/**
 * All rows that match, in the order of `idField`, which must be one of our UUIDs: they are unique, and every collation
 * sorts them alike, in the order in which they were made.
 */
export async function* scanRows<Row extends object>(
  adapter: Adapter,
  model: string,
  idField: string & keyof Row,
  match: Match,
  { also = [], select, descending = false, after, expected = CHUNK }: ScanOptions = {},
): AsyncGenerator<Row> {
  if (!isStorable(match)) return;
  let last = after;
  let limit = Math.min(expected, CHUNK);
  for (;;) {
    const beyond: Where[] =
      last === undefined ? [] : [{ field: idField, operator: descending ? "lt" : "gt", value: last }];
    const rows = await adapter.findMany<Row>({
      model,
      where: [...where(match), ...also, ...beyond],
      sortBy: { field: idField, direction: descending ? "desc" : "asc" },
      limit,
      ...(select && { select: [...select] }),
    });
    for (const row of rows) if (isExactly(row, match)) yield row;
    if (rows.length < limit) return;
    last = String(rows.at(-1)?.[idField]);
    limit = CHUNK;
    // A driver that answers at once, as SQLite's do, would otherwise hold up everything else until the last row.
    await sleep(0);
  }
}

/**
 * Replaces a row that still is what the change was made to. Writers wait in line, so it always is, unless somebody
 * writes past the line; then nothing is written over. False: it is not.
 */
export async function replaceRow(
  tx: Adapter,
  model: string,
  match: Match,
  columns: { readonly version: number },
): Promise<boolean> {
  const previous = { field: "version", value: columns.version - 1 };
  return (await tx.updateMany({ model, where: [...where(match), previous], update: { ...columns } })) > 0;
}
