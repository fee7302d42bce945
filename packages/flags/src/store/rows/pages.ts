/** Reads one page of a list. The order is total, so concurrent writes do not move entries between pages. */
import type { Page, PageQuery } from "../../model/page.ts";
import { invalid } from "./entity.ts";

/** The value that an entry is sorted by. `null` is last in both directions. */
export type SortValue = string | number | boolean | null;

/** Characters of a text that count in sorting. They become part of the cursor, and the cursor part of a URL. */
const MAX_SORT_LENGTH = 200;

/** The end of a page: the sort value of its last entry, and the id, which separates entries with equal sort values. */
export interface Position {
  readonly value: SortValue;
  readonly id: string;
}

/** The entries that a page is taken from. */
export interface PageSource<Entity> {
  readonly query: PageQuery<string>;
  readonly sortValue: (entity: Entity) => SortValue;
  readonly idOf: (entity: Entity) => string;
  readonly matches: (entity: Entity) => boolean;
  /** True if `entries` yields in the order of the list, so that reading stops after a full page. */
  readonly ordered: boolean;
  entries(after: Position | undefined): AsyncIterable<Entity>;
}

export async function readPage<Entity>(source: PageSource<Entity>): Promise<{ items: Entity[]; page: Page }> {
  const { query, ordered } = source;
  const { limit, sort, descending } = query;
  const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor, query);
  const positionOf = (entity: Entity): Position => ({
    value: shortened(source.sortValue(entity)),
    id: source.idOf(entity),
  });

  // One entry more than the page tells whether there is a next page.
  const kept: { entity: Entity; position: Position }[] = [];
  const sortKept = () => kept.sort((a, b) => compare(a.position, b.position, descending));
  for await (const entity of source.entries(after)) {
    if (!source.matches(entity)) continue;
    const position = positionOf(entity);
    if (after !== undefined && compare(position, after, descending) <= 0) continue;
    kept.push({ entity, position });
    if (ordered && kept.length > limit) break;
    // Bounds the memory when many entries are read and few are kept.
    if (kept.length > 4 * (limit + 1)) sortKept().splice(limit + 1);
  }
  sortKept();
  const hasMore = kept.length > limit;
  const items = kept.slice(0, limit);
  const last = items.at(-1);
  const nextCursor = hasMore && last ? encodeCursor(last.position, { sort, descending }) : undefined;
  return {
    items: items.map(({ entity }) => entity),
    page: { ...(nextCursor !== undefined && { nextCursor }), limit, hasMore },
  };
}

function shortened(value: SortValue): SortValue {
  return typeof value === "string" ? value.slice(0, MAX_SORT_LENGTH) : value;
}

function compare(a: Position, b: Position, descending: boolean): number {
  if (a.value === null || b.value === null) {
    if (a.value !== b.value) return a.value === null ? 1 : -1;
  } else if (a.value !== b.value) {
    return a.value < b.value === descending ? 1 : -1;
  }
  return a.id === b.id ? 0 : a.id < b.id === descending ? 1 : -1;
}

type Order = Pick<PageQuery<string>, "sort" | "descending">;

function encodeCursor({ value, id }: Position, { sort, descending }: Order): string {
  const bytes = new TextEncoder().encode(JSON.stringify([sort, descending, value, id]));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

/** Throws on a cursor of another sort order, and on one that `encodeCursor` cannot have written. */
function decodeCursor(cursor: string, order: Order): Position {
  const position = parseCursor(cursor, order);
  if (position === undefined || encodeCursor(position, order) !== cursor) {
    throw invalid(
      "The cursor does not belong to this list. Send page.nextCursor unchanged, with the same sort.",
      {
        field: "cursor",
      },
    );
  }
  return position;
}

function parseCursor(cursor: string, { sort, descending }: Order): Position | undefined {
  if (!/^[A-Za-z0-9_-]{1,4096}$/.test(cursor)) return undefined;
  let fields: unknown;
  try {
    const binary = atob(cursor.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    fields = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
  if (!Array.isArray(fields) || fields.length !== 4) return undefined;
  const [cursorSort, cursorDescending, value, id]: unknown[] = fields;
  if (cursorSort !== sort || cursorDescending !== descending) return undefined;
  if (typeof id !== "string" || !/^[0-9a-f-]{36}$/.test(id)) return undefined;
  return isSortValue(value) ? { value, id } : undefined;
}

function isSortValue(value: unknown): value is SortValue {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}
