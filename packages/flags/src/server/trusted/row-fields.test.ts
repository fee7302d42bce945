import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../engine/json.ts";
import { RowFieldsCache } from "./row-fields.ts";

/** A cache over rows in memory, with a clock that the test sets. */
function setUp({ isIsolated = false, maxRows = 100, hasVersions = false } = {}) {
  const rows = new Map<string, JsonObject>([["ada", { plan: "free" }]]);
  const queries: string[][] = [];
  const versions = new Map<string, number>();
  const checks: string[][] = [];
  let knowsTable = true;
  const errors: unknown[] = [];
  let nowMs = 0;
  let isDown = false;
  let gate: Promise<void> | undefined;
  const versionsOf = async () => {
    const current = new Map([...rows.keys()].map((id) => [id, versions.get(id) ?? 1]));
    await gate;
    if (isDown) throw new Error("down");
    return knowsTable ? current : undefined;
  };
  const cache = new RowFieldsCache({
    async read(ids) {
      queries.push([...ids]);
      const found = new Map([...rows].filter(([id]) => ids.includes(id)));
      await gate;
      if (isDown) throw new Error("down");
      return found;
    },
    ...(hasVersions && {
      versions: {
        async read(ids: readonly string[]) {
          checks.push([...ids]);
          return versionsOf();
        },
        async areCurrent(known: ReadonlyMap<string, number>) {
          checks.push([...known.keys()]);
          const current = await versionsOf();
          return current && [...known].every(([id, version]) => current.get(id) === version);
        },
      },
    }),
    onRead: (error) => errors.push(error),
    isIsolated,
    monotonicMs: () => nowMs,
    maxRows,
  });
  return {
    cache,
    rows,
    queries,
    checks,
    errors,
    /** Writes a row as another process does. */
    write(id: string, fields: JsonObject, version: number) {
      rows.set(id, fields);
      versions.set(id, version);
    },
    loseTable() {
      knowsTable = false;
    },
    at(ms: number) {
      nowMs = ms;
    },
    setDown(value: boolean) {
      isDown = value;
    },
    /** Holds the answers of queries until the returned function is called. */
    hold() {
      let release = () => {};
      gate = new Promise((resolve) => {
        release = () => {
          gate = undefined;
          resolve();
        };
      });
      return release;
    },
  };
}

const settled = () => new Promise((resolve) => setTimeout(resolve));

describe("fields of a row", () => {
  test("are read once, and then given synchronously", async () => {
    const { cache, queries } = setUp();
    expect(await cache.get("ada")).toEqual({ plan: "free" });
    expect(cache.get("ada")).toEqual({ plan: "free" });
    expect(await cache.get("bob")).toBeUndefined();
    expect(cache.get("bob")).toBeUndefined();
    expect(queries).toEqual([["ada"], ["bob"]]);
  });

  test("in use are read again in the background, and never given older than 5 s", async () => {
    const { cache, rows, queries, at } = setUp();
    await cache.get("ada");
    rows.set("ada", { plan: "pro" });
    at(3500);
    expect(cache.get("ada")).toEqual({ plan: "free" });
    expect(queries).toHaveLength(1);
    at(3600);
    expect(cache.get("ada")).toEqual({ plan: "free" });
    await settled();
    expect(cache.get("ada")).toEqual({ plan: "pro" });
    expect(queries).toHaveLength(2);
    rows.set("ada", { plan: "gone" });
    at(3600 + 4801);
    expect(await cache.get("ada")).toEqual({ plan: "gone" });
  });

  test("of many rows that are wanted at once are read together", async () => {
    const { cache, queries, hold } = setUp();
    const release = hold();
    const first = cache.get("ada");
    const others = ["b", "c", "b", "d"].map((id) => cache.get(id));
    release();
    await Promise.all([first, ...others]);
    expect(queries).toEqual([["ada"], ["b", "c", "d"]]);
  });

  test("that this process changes during a query are read again by the next request", async () => {
    const { cache, rows, hold } = setUp();
    const release = hold();
    const before = cache.get("ada");
    rows.set("ada", { plan: "pro" });
    cache.changed("ada");
    const after = cache.get("ada");
    release();
    expect(await before).toEqual({ plan: "free" });
    expect(await after).toEqual({ plan: "pro" });
    expect(cache.get("ada")).toEqual({ plan: "pro" });
  });

  test("that this process changes during a query are not kept", async () => {
    const { cache, hold } = setUp();
    const release = hold();
    const before = cache.get("ada");
    cache.changed("ada");
    release();
    await before;
    expect(cache.get("ada")).toBeInstanceOf(Promise);
  });

  test("are read again after a change of unknown rows", async () => {
    const { cache, rows, hold } = setUp();
    await cache.get("ada");
    await settled();
    rows.set("ada", { plan: "pro" });
    const release = hold();
    const other = cache.get("other");
    cache.changed();
    release();
    await other;
    expect(await cache.get("ada")).toEqual({ plan: "pro" });
    expect(cache.get("other")).toBeInstanceOf(Promise);
  });

  test("are the last known ones for 10 minutes while the database fails, and null after that", async () => {
    const { cache, at, setDown, errors, queries } = setUp();
    await cache.get("ada");
    setDown(true);
    at(5000);
    expect(await cache.get("ada")).toEqual({ plan: "free" });
    expect(errors.at(-1)).toBeInstanceOf(Error);
    const before = queries.length;
    expect([cache.get("ada"), cache.get("bob")]).toEqual([{ plan: "free" }, null]);
    expect(queries).toHaveLength(before);
    at(600_000);
    expect(await cache.get("ada")).toEqual({ plan: "free" });
    at(602_000);
    expect(await cache.get("ada")).toBeNull();
    setDown(false);
    at(604_000);
    expect(await cache.get("ada")).toEqual({ plan: "free" });
  });

  test("of the rows read longest ago are removed when there are too many", async () => {
    const { cache } = setUp({ maxRows: 3 });
    for (const id of ["a", "b", "c", "d", "e"]) await cache.get(id);
    expect(cache.size).toBe(3);
    expect(cache.get("a")).toBeInstanceOf(Promise);
    expect(cache.get("e")).toBeUndefined();
  });

  test("are read by each request of its own where requests are isolated", async () => {
    const { cache, queries, hold, at } = setUp({ isIsolated: true });
    const release = hold();
    const both = [cache.get("ada"), cache.get("ada")];
    release();
    expect(await Promise.all(both)).toEqual([{ plan: "free" }, { plan: "free" }]);
    expect(queries).toEqual([["ada"], ["ada"]]);
    at(4000);
    expect(cache.get("ada")).toEqual({ plan: "free" });
    await settled();
    expect(queries).toHaveLength(2);
  });
});

describe("fields of a row with a version", () => {
  const setUpVersions = () => {
    const at = setUp({ hasVersions: true });
    at.rows.set("bob", { plan: "free" });
    return at;
  };

  test("are read again only after a change", async () => {
    const { cache, queries, write, at } = setUpVersions();
    await cache.get("ada");
    for (const ms of [3600, 7200, 20_000]) {
      at(ms);
      expect(await cache.get("ada")).toEqual({ plan: "free" });
      await settled();
    }
    expect(queries).toEqual([["ada"]]);
    write("ada", { plan: "pro" }, 2);
    at(23_600);
    void cache.get("ada");
    await settled();
    expect(cache.get("ada")).toEqual({ plan: "pro" });
    expect(queries).toEqual([["ada"], ["ada"]]);
  });

  test("are never given older than 5 s, also when no request asked for them in between", async () => {
    const { cache, write, at } = setUpVersions();
    await cache.get("ada");
    write("ada", { plan: "pro" }, 2);
    at(4801);
    expect(await cache.get("ada")).toEqual({ plan: "pro" });
  });

  test("in use are checked together, so that the next request for each gets them at once", async () => {
    const { cache, checks, at } = setUpVersions();
    await Promise.all([cache.get("ada"), cache.get("bob"), cache.get("missing")]);
    checks.length = 0;
    at(3600);
    void cache.get("ada");
    await settled();
    expect(checks).toEqual([["ada", "bob"]]);
    at(3600 + 3400);
    expect(cache.get("bob")).toEqual({ plan: "free" });
    expect(checks).toHaveLength(1);
  });

  test("are checked 1,000 rows at a time, in a time proportional to their number", async () => {
    /** The CPU time of a check, in µs: the least of several. */
    const timeOf = async (count: number): Promise<number> => {
      let nowMs = 0;
      let sizes: number[] = [];
      const cache = new RowFieldsCache({
        read: async () => new Map(),
        versions: {
          read: async (ids) => new Map(ids.map((id) => [id, 1])),
          async areCurrent({ size }) {
            sizes.push(size);
            return true;
          },
        },
        onRead: () => {},
        isIsolated: false,
        monotonicMs: () => nowMs,
      });
      const ids = Array.from({ length: count }, (_, i) => `user ${i}`);
      await Promise.all(ids.map((id) => cache.get(id)));
      const times: number[] = [];
      for (let round = 0; round < 10; round++) {
        nowMs += 4000;
        sizes = [];
        const before = process.cpuUsage();
        void cache.get("user 0");
        await settled();
        const { user, system } = process.cpuUsage(before);
        times.push(user + system);
        expect(sizes).toEqual(Array(count / 1_000).fill(1_000));
      }
      return Math.min(...times);
    };
    const few = await timeOf(1_000);
    expect(await timeOf(20_000)).toBeLessThan(40 * few);
  });

  test("that no request used for a minute are not checked, also if they changed", async () => {
    const { cache, checks, write, at } = setUpVersions();
    await Promise.all([cache.get("ada"), cache.get("bob")]);
    write("bob", { plan: "pro" }, 2);
    for (let ms = 3600; ms <= 64_800; ms += 3600) {
      at(ms);
      void cache.get("ada");
      await settled();
    }
    expect(checks.slice(-2)).toEqual([["ada"], ["ada"]]);
    checks.length = 0;
    expect(await cache.get("bob")).toEqual({ plan: "pro" });
    expect(checks).toEqual([["bob"]]);
  });

  test("that change between the query of the versions and that of the fields are read again", async () => {
    const { cache, queries, write, hold, at } = setUpVersions();
    const release = hold();
    const reading = cache.get("ada");
    write("ada", { plan: "pro" }, 2);
    release();
    expect(await reading).toEqual({ plan: "pro" });
    at(3600);
    void cache.get("ada");
    await settled();
    expect(queries).toEqual([["ada"], ["ada"]]);
  });

  test("that this process changes during a check are read again by the next request", async () => {
    const { cache, rows, hold, at } = setUpVersions();
    await cache.get("ada");
    at(3600);
    const release = hold();
    void cache.get("ada");
    rows.set("ada", { plan: "pro" });
    cache.changed("ada");
    release();
    await settled();
    expect(await cache.get("ada")).toEqual({ plan: "pro" });
  });

  test("are the last known ones while the check fails", async () => {
    const { cache, setDown, errors, at } = setUpVersions();
    await cache.get("ada");
    setDown(true);
    at(3600);
    void cache.get("ada");
    await settled();
    expect(errors.at(-1)).toBeInstanceOf(Error);
    at(4900);
    expect(await cache.get("ada")).toEqual({ plan: "free" });
    at(700_000);
    expect(await cache.get("ada")).toBeNull();
  });

  test("are read every time once the database does not know the table", async () => {
    const { cache, queries, write, loseTable, at } = setUpVersions();
    await cache.get("ada");
    loseTable();
    at(3600);
    void cache.get("ada");
    await settled();
    write("ada", { plan: "pro" }, 1);
    at(3700);
    void cache.get("ada");
    await settled();
    expect(cache.get("ada")).toEqual({ plan: "pro" });
    expect(queries).toHaveLength(2);
  });
});
