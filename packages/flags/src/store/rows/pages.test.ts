import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readPage, type SortValue } from "./pages.ts";

interface Entry {
  readonly id: string;
  readonly value: SortValue;
}

const idOf = (number: number) => `019a0000-0000-7000-8000-${String(number).padStart(12, "0")}`;
const entriesOf = (values: readonly SortValue[]): Entry[] =>
  values.map((value, index) => ({ id: idOf(index), value }));

interface Query {
  readonly limit: number;
  readonly descending?: boolean;
  readonly sort?: string;
  readonly cursor?: string | undefined;
}

function page(
  entries: Iterable<Entry>,
  { cursor, ...query }: Query,
  source: { ordered?: boolean; matches?: (entry: Entry) => boolean } = {},
) {
  return readPage<Entry>({
    query: { sort: "value", descending: false, ...query, ...(cursor !== undefined && { cursor }) },
    sortValue: ({ value }) => value,
    idOf: ({ id }) => id,
    matches: source.matches ?? (() => true),
    ordered: source.ordered ?? false,
    async *entries() {
      yield* entries;
    },
  });
}

/** The entries of all pages. */
async function walk(entries: readonly Entry[], query: Query): Promise<Entry[]> {
  const all: Entry[] = [];
  let cursor: string | undefined;
  do {
    const { items, page: read } = await page(entries, { ...query, cursor });
    expect(read).toMatchObject({ limit: query.limit, hasMore: read.nextCursor !== undefined });
    if (read.hasMore) expect(items).toHaveLength(query.limit);
    all.push(...items);
    expect(all.length).toBeLessThanOrEqual(entries.length);
    cursor = read.nextCursor;
    if (cursor !== undefined) expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
  } while (cursor !== undefined);
  return all;
}

/** The order that the pages promise: by value, then by id, and without a value last in both directions. */
function sorted(entries: readonly Entry[], descending: boolean): Entry[] {
  const direction = descending ? -1 : 1;
  const order = (a: string | number | boolean, b: string | number | boolean) =>
    a === b ? 0 : a < b ? -direction : direction;
  return [...entries].sort((a, b) => {
    if (a.value === null || b.value === null) {
      const last = Number(a.value === null) - Number(b.value === null);
      return last === 0 ? order(a.id, b.id) : last;
    }
    return order(a.value, b.value) || order(a.id, b.id);
  });
}

describe("the pages of a list", () => {
  const valuesOf = fc.oneof(
    fc.array(fc.option(fc.integer({ min: 0, max: 5 })), { maxLength: 60 }),
    fc.array(fc.option(fc.string({ unit: "binary", maxLength: 4 })), { maxLength: 60 }),
    fc.array(fc.boolean(), { maxLength: 60 }),
  );

  test("have every entry once and in order, in whatever order the entries are read", async () => {
    const cases = fc.asyncProperty(
      valuesOf,
      fc.integer({ min: 1, max: 4 }),
      fc.boolean(),
      fc.infiniteStream(fc.nat()),
      async (values, limit, descending, numbers) => {
        const entries = entriesOf(values);
        const keys = new Map(entries.map(({ id }) => [id, numbers.next().value as number]));
        const shuffled = entries.toSorted((a, b) => (keys.get(a.id) ?? 0) - (keys.get(b.id) ?? 0));
        expect(await walk(shuffled, { limit, descending })).toEqual(sorted(entries, descending));
      },
    );
    await fc.assert(cases, { numRuns: 60 });
  });

  test("end without a next page when the last one is full", async () => {
    const { items, page: last } = await page(entriesOf([1, 2, 3]), { limit: 3 });
    expect([items.length, last]).toEqual([3, { limit: 3, hasMore: false }]);
    expect((await page([], { limit: 3 })).page).toEqual({ limit: 3, hasMore: false });
  });

  test("have cursors that fit a URL, although the sorted texts are long and begin the same", async () => {
    const entries = entriesOf(["b", "a", "c"].map((end) => "🚢".repeat(500) + end));
    const first = await page(entries, { limit: 1 });
    expect(first.page.nextCursor?.length).toBeLessThan(2000);
    expect(await walk(entries, { limit: 1 })).toEqual(entries);
  });

  test("of entries that come in order read one entry more than they have", async () => {
    let read = 0;
    function* entries() {
      for (const entry of entriesOf(Array.from({ length: 50 }, (_, value) => value))) {
        read += 1;
        yield entry;
      }
    }
    const { items, page: first } = await page(entries(), { limit: 3 }, { ordered: true });
    expect([items.length, first.hasMore, read]).toEqual([3, true, 4]);
  });

  test("have only entries that match", async () => {
    const matches = ({ value }: Entry) => value !== 2;
    const { items } = await page(entriesOf([1, 2, 3]), { limit: 5 }, { matches });
    expect(items.map(({ value }) => value)).toEqual([1, 3]);
  });
});

describe("a cursor", () => {
  const make = (fields: unknown) => Buffer.from(JSON.stringify(fields)).toString("base64url");
  const read = (cursor: string) => page(entriesOf([1, 2, 3]), { limit: 1, cursor });

  test("is the place after an entry, which need not exist any more", async () => {
    const { items } = await read(make(["value", false, 1.5, idOf(0)]));
    expect(items.map(({ value }) => value)).toEqual([2]);
  });

  test.each([
    ["empty", ""],
    ["no base64", "a+b/"],
    ["no UTF-8", Buffer.from(`["value",false,"\xff","${idOf(1)}"]`, "latin1").toString("base64url")],
    ["no JSON", Buffer.from("value").toString("base64url")],
    ["no list", make({ sort: "value" })],
    ["too short", make(["value", false, 1])],
    ["too long", make(["value", false, 1, idOf(1), 1])],
    ["longer than any", make(["value", false, "x".repeat(4096), idOf(1)])],
    ["of another sort", make(["name", false, 1, idOf(1)])],
    ["of the other direction", make(["value", true, 1, idOf(1)])],
    ["without an id", make(["value", false, 1, null])],
    ["with an invalid id", make(["value", false, 1, "x".repeat(36)])],
    ["with an id that is too long", make(["value", false, 1, `${idOf(1)}0`])],
    ["with an id after something else", make(["value", false, 1, `0${idOf(1)}`])],
    ["with a value that cannot be sorted by", make(["value", false, { a: 1 }, idOf(1)])],
    ["written in another way", Buffer.from(`[ "value",false,1,"${idOf(1)}"]`).toString("base64url")],
  ])("is refused if it is %s", async (_what, cursor) => {
    await expect(read(cursor)).rejects.toMatchObject({
      code: "VALIDATION_ERROR",
      status: 400,
      message: expect.stringContaining("does not belong to this list"),
      details: { field: "cursor" },
    });
  });
});
