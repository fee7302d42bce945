/** Queries by exact value. Some collations match `Beta` with `beta` and `a ` with `a`, so the results are compared again. */
import type { DBTransactionAdapter, Where } from "@better-auth/core/db/adapter";
import { pause } from "../wait.ts";

export type Adapter = DBTransactionAdapter;

/** Column names and the values that they must have. */
export type Match = Readonly<Record<string, string>>;

/** Better Auth's default limit is 100 rows. This is the largest limit that every driver accepts. */
const ALL = 2 ** 31 - 1;

/** Rows per query of a scan: worth a round trip. Better Auth converts them in about 25 ms, which blocks the event loop. */
const CHUNK = 1000;

/** Values in one `in` list. Every database accepts this number of parameters, and each may match several rows. */
export const MAX_LIST: number = 500;

export function where(match: Match): Where[] {
  return Object.entries(match).map(([field, value]) => ({ field, value }));
}

/** Whether a database can store the text. PostgreSQL rejects queries with NUL. */
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
  /** Further conditions. The caller must compare the results again itself. */
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
  // No query for an empty list: an empty `in` is an error in SQL.
  for (let start = 0; start < values.length; start += MAX_LIST) {
    const also: Where[] = [{ field, operator: "in", value: values.slice(start, start + MAX_LIST) }];
    for (const row of await findRows<Row>(adapter, model, match, { also })) rows.push(row);
    await pause();
  }
  return rows;
}

export interface ScanOptions {
  readonly also?: readonly Where[];
  readonly select?: readonly string[];
  readonly descending?: boolean;
  /** Starts after the row with this id. */
  readonly after?: string | undefined;
  /** Rows that the caller will probably read. */
  readonly expected?: number | undefined;
}

/**
 * All matching rows, sorted by `idField`. It must hold UUIDs of version 7: they are unique, and every collation sorts
 * them by the time of their creation.
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
    // A synchronous driver such as SQLite's would otherwise block the event loop until the last row.
    await pause();
  }
}

/**
 * Replaces a row if it still has the version that the change was made to. Writers hold the revision's lock, so it always
 * has, unless another program writes to the table. Returns false and writes nothing if it has not.
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
