/** The contract of the store for lists: exact filters, a total order, and pages that concurrent writes do not disturb. */
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { FlagListQuery, FlagSort, OverrideListQuery, Page } from "../../src/model/page.ts";
import { by, flagInput, fresh, refusalOf, type StoreHost } from "./store-host.ts";

const FIRST: FlagListQuery = { limit: 200, sort: "key", descending: false };

export function describeLists(host: () => StoreHost): void {
  describe("lists", () => {
    const tenant = fresh("tenant");
    const other = fresh("tenant");
    const keys = ["a_b", "aXb", "B_b", "a-b", "z8", "z9", "aa", "mid"];
    const names = ["100%", "100 percent", "back\\slash", "Ünder_score", "under-score", "N", "N", "N"];
    const flagIds = new Map<string, string>();

    beforeAll(async () => {
      const { store } = host();
      for (const [index, key] of keys.entries()) {
        const flag = await store.createFlag(
          by(tenant),
          flagInput({
            key,
            name: names[index] ?? "N",
            type: index % 2 === 0 ? "boolean" : "string",
            enabled: index < 3,
            ...(index === 6 && { description: "finds the NEEDLE here" }),
          }),
        );
        flagIds.set(key, flag.id);
      }
      await store.createFlag(by(other), flagInput({ key: "theirs" }));
    });

    const list = async (query: Partial<FlagListQuery>) =>
      (await host().store.listFlags({ tenant }, { ...FIRST, ...query })).flags.map(({ key }) => key);

    test("of flags are filtered exactly, without wildcards", async () => {
      expect(await list({})).toEqual([...flagIds.keys()].sort());
      expect(await list({ prefix: "a_" })).toEqual(["a_b"]);
      expect(await list({ prefix: "A" })).toEqual([]);
      expect(await list({ q: "100%" })).toEqual(["a_b"]);
      expect(await list({ q: "BACK\\s" })).toEqual(["B_b"]);
      expect(await list({ q: "ünder_" })).toEqual(["a-b"]);
      expect(await list({ q: "needle" })).toEqual(["aa"]);
      expect(await list({ q: "\0" })).toEqual([]);
      expect(await list({ type: "string", enabled: true })).toEqual(["aXb"]);
      expect(await list({ enabled: false, prefix: "a" })).toEqual(["a-b", "aa"]);
    });

    const sorts: FlagSort[] = ["key", "name", "type", "enabled", "createdAt", "updatedAt"];
    test.each(sorts.flatMap((sort) => [[sort, false] as const, [sort, true] as const]))(
      "of flags by %s, descending %s, give every flag once over all pages",
      async (sort, descending) => {
        const whole = await list({ sort, descending });
        expect([...whole].sort()).toEqual([...flagIds.keys()].sort());
        const paged = await walk(3, async (cursor) => {
          const { flags, page } = await host().store.listFlags(
            { tenant },
            { limit: 3, sort, descending, ...(cursor !== undefined && { cursor }) },
          );
          return { items: flags.map(({ key }) => key), page };
        });
        expect(paged).toEqual(whole);
      },
    );

    test("of flags are read from memory while it has the revision of the database, with the same result", async () => {
      const own = fresh("tenant");
      // The snapshot of a process whose time stands still does not age.
      const { store, adapter } = await host().another({ monotonicMs: () => 0 });
      const second = await host().another();
      for (const key of ["b", "a", "c"])
        await store.createFlag(by(own), flagInput({ key, name: `N ${key}` }));
      await store.snapshot(own);
      const finds = vi.spyOn(adapter, "findMany");
      onTestFinished(() => finds.mockRestore());
      const queries = sorts.flatMap((sort): FlagListQuery[] => [
        { limit: 2, sort, descending: true },
        { limit: 2, sort, descending: false, q: "n" },
      ]);
      for (const query of queries) {
        expect(await store.listFlags({ tenant: own }, query)).toEqual(
          await second.store.listFlags({ tenant: own }, query),
        );
      }
      const isOfFlags = ([{ model }]: readonly [{ model: string }]) => model === "featureFlag";
      // Only the page in the order of creation, which has an index.
      expect(finds.mock.calls.filter(isOfFlags)).toHaveLength(1);

      const [first] = (await store.listFlags({ tenant: own }, FIRST)).flags;
      first?.updatedAt.setTime(0);
      expect((await store.listFlags({ tenant: own }, FIRST)).flags[0]?.updatedAt.getTime()).toBeGreaterThan(
        0,
      );

      await second.store.createFlag(by(own), flagInput({ key: "d" }));
      expect((await store.listFlags({ tenant: own }, FIRST)).flags.map(({ key }) => key)).toEqual([
        "a",
        "b",
        "c",
        "d",
      ]);
    });

    test("sorted by creation are in the order of creation", async () => {
      const query = { limit: 200, sort: "createdAt", descending: false } as const;
      const { flags } = await host().store.listFlags({ tenant }, query);
      const times = flags.map(({ createdAt }) => createdAt.getTime());
      expect(times).toEqual([...times].sort((a, b) => a - b));
    });

    test("continue at the cursor when flags are created and deleted between pages", async () => {
      const own = fresh("tenant");
      const { store } = host();
      const make = (key: string) => store.createFlag(by(own), flagInput({ key }));
      const [b, , d] = [await make("b"), await make("c"), await make("d"), await make("f")];
      const query: FlagListQuery = { limit: 2, sort: "key", descending: false };
      const first = await store.listFlags({ tenant: own }, query);
      expect(first.flags.map(({ key }) => key)).toEqual(["b", "c"]);
      await store.deleteFlag(by(own), b.id);
      await store.deleteFlag(by(own), d.id);
      await make("a");
      await make("e");
      const cursor = first.page.nextCursor ?? "";
      const second = await store.listFlags({ tenant: own }, { ...query, cursor });
      expect(second.flags.map(({ key }) => key)).toEqual(["e", "f"]);
      expect(second.page).toEqual({ limit: 2, hasMore: false });
    });

    test("refuse an unknown cursor and a cursor of another order", async () => {
      const { store } = host();
      const { page } = await store.listFlags({ tenant }, { ...FIRST, limit: 1 });
      const given = page.nextCursor ?? "";
      const make = (fields: unknown) => Buffer.from(JSON.stringify(fields)).toString("base64url");
      const queries: Partial<FlagListQuery>[] = [
        { cursor: "" },
        { cursor: "x" },
        { cursor: `${given}A` },
        { cursor: given.slice(1) },
        { cursor: given, descending: true },
        { cursor: given, sort: "name" },
        { cursor: make(["key", false, "a", "\0"]) },
        { cursor: make(["key", false, {}, "019a0000-0000-7000-8000-000000000000"]) },
        { cursor: `${make(["key", false, "a", "019a0000-0000-7000-8000-000000000000"])}=` },
      ];
      for (const query of queries) {
        const refused = store.listFlags({ tenant }, { ...FIRST, ...query });
        expect(await refusalOf(refused), JSON.stringify(query)).toMatchObject({
          code: "VALIDATION_ERROR",
          status: 400,
          details: { field: "cursor" },
        });
      }
    });

    test("cover all tenants, or only the given one", async () => {
      const { store } = host();
      expect(await list({ q: "theirs" })).toEqual([]);
      const found = await walk(50, async (cursor) => {
        const { flags, page } = await store.listFlags("all", {
          limit: 50,
          sort: "createdAt",
          descending: true,
          ...(cursor !== undefined && { cursor }),
        });
        return { items: flags.map(({ key }) => key), page };
      });
      expect(found).toEqual(expect.arrayContaining(["theirs", "mid", "a_b"]));
      expect(new Set(found).size).toBeGreaterThan(flagIds.size);
    });

    test("of overrides are filtered by flag, user and text, and sorted with those that never expire last", async () => {
      const own = fresh("tenant");
      const { store } = host();
      const one = await store.createFlag(by(own), flagInput());
      const two = await store.createFlag(by(own), flagInput());
      const at = (year: number) => ({ expiresAt: new Date(Date.UTC(year, 0)).toISOString() });
      for (const [flagId, userId, fields] of [
        [one.id, "b", { reason: "Support 100%", ...at(2050) }],
        [one.id, "a", {}],
        [two.id, "b", at(2040)],
        [two.id, "c_d", { reason: "support" }],
      ] as const) {
        await store.createOverride(by(own), { flagId, userId, value: true, ...fields });
      }
      const users = async (query: Partial<OverrideListQuery>) =>
        (
          await store.listOverrides(
            { tenant: own },
            { limit: 50, sort: "createdAt", descending: false, ...query },
          )
        ).overrides.map(({ flagId, userId }) => `${flagId === one.id ? 1 : 2}${userId}`);
      expect((await users({ flagId: two.id })).sort()).toEqual(["2b", "2c_d"]);
      expect((await users({ userId: "b" })).sort()).toEqual(["1b", "2b"]);
      expect(await users({ userId: "b", flagId: one.id })).toEqual(["1b"]);
      expect(await users({ q: "0%" })).toEqual(["1b"]);
      expect((await users({ q: "SUPPORT" })).sort()).toEqual(["1b", "2c_d"]);
      expect(await users({ q: "_" })).toEqual(["2c_d"]);
      expect((await users({ sort: "userId" })).map((user) => user.slice(1))).toEqual(["a", "b", "b", "c_d"]);
      expect((await users({ sort: "expiresAt" })).slice(0, 2)).toEqual(["2b", "1b"]);
      expect((await users({ sort: "expiresAt", descending: true })).slice(0, 2)).toEqual(["1b", "2b"]);
      expect(await users({ flagId: "\0" })).toEqual([]);
      for (const sort of ["userId", "expiresAt", "createdAt"] as const) {
        const paged = await walk(1, async (cursor) => {
          const query = { limit: 1, sort, descending: false, ...(cursor !== undefined && { cursor }) };
          const { overrides, page } = await store.listOverrides({ tenant: own }, query);
          return {
            items: overrides.map(({ flagId, userId }) => `${flagId === one.id ? 1 : 2}${userId}`),
            page,
          };
        });
        expect(paged).toEqual(await users({ sort }));
      }
    });

    test("of segments are sorted by key or by creation", async () => {
      const own = fresh("tenant");
      const { store } = host();
      for (const key of ["b", "a", "c"])
        await store.createSegment(by(own), { key, conditions: { conditions: [] } });
      const query = { limit: 2, sort: "key", descending: true } as const;
      const { segments, page } = await store.listSegments({ tenant: own }, query);
      expect(segments.map(({ key }) => key)).toEqual(["c", "b"]);
      const rest = await store.listSegments({ tenant: own }, { ...query, cursor: page.nextCursor ?? "" });
      expect(rest).toMatchObject({ segments: [{ key: "a" }], page: { hasMore: false, limit: 2 } });
    });
  });
}

/** Reads all pages of a list. Only the last page may be short. */
async function walk<Item>(
  limit: number,
  read: (cursor: string | undefined) => Promise<{ items: Item[]; page: Page }>,
): Promise<Item[]> {
  const all: Item[] = [];
  let cursor: string | undefined;
  do {
    const { items, page } = await read(cursor);
    expect(page.limit).toBe(limit);
    expect(page.hasMore).toBe(page.nextCursor !== undefined);
    if (page.hasMore) expect(items).toHaveLength(limit);
    all.push(...items);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return all;
}
