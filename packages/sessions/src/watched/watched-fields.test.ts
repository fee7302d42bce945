import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ChangeFeed } from "../changes/change-feed.ts";
import { Reconciliation } from "./reconciliation.ts";
import { type FieldRow, WatchedFields } from "./watched-fields.ts";
import type { Comparison } from "./watched-rows.ts";

interface Plan {
  readonly plan: string;
}

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance", "Date"] }));
afterEach(() => void vi.useRealTimers());

const pass = (ms: number) => void vi.advanceTimersByTime(ms);

/** Fields of rows in memory. */
function setUp({ isIsolated = false, maxRows = 100, hasVersions = false } = {}) {
  const rows = new Map<string, Plan>([["ada", { plan: "free" }]]);
  const versions = new Map<string, number>();
  const queries: string[][] = [];
  const compared: string[][] = [];
  const errors: unknown[] = [];
  const database = { isDown: false, knowsTable: true };
  let gate: Promise<void> | undefined;
  const versionOf = (key: string) => (rows.has(key) ? String(versions.get(key) ?? 1) : undefined);
  const comparison: Comparison<FieldRow<Plan>> = {
    byValueMs: 600_000,
    minByValue: 0,
    async findChanged(asked) {
      compared.push(asked.map(({ key }) => key));
      const found = asked.map((row) => [row, versionOf(row.key)] as const);
      await gate;
      if (database.isDown) throw new Error("down");
      return database.knowsTable
        ? new Map(found.filter(([row, version]) => row.isMissing || row.version !== version || !version))
        : undefined;
    },
  };
  const feed = new ChangeFeed();
  const fields = new WatchedFields<Plan>({
    model: "user",
    feed,
    async read(keys) {
      queries.push([...keys]);
      const found = new Map([...rows].filter(([key]) => keys.includes(key)));
      await gate;
      if (database.isDown) throw new Error("down");
      return found;
    },
    comparisons: hasVersions ? [comparison] : [],
    report: (error) => errors.push(error),
    isIsolated,
    maxRows,
  });
  const reconciliation = new Reconciliation({ feed, report: () => undefined });
  reconciliation.add(fields);
  reconciliation.stop();
  return {
    fields,
    feed,
    rows,
    queries,
    compared,
    errors,
    database,
    reconciliation,
    /** Writes a row as another process does. */
    write(key: string, plan: string) {
      rows.set(key, { plan });
      versions.set(key, (versions.get(key) ?? 1) + 1);
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

describe.each([
  ["with versions of rows", true],
  ["by the values of rows", false],
])("fields of a row, %s", (_name, hasVersions) => {
  test("are read once, and then given synchronously", async () => {
    const { fields, queries } = setUp({ hasVersions });
    expect(await fields.get("ada")).toEqual({ plan: "free" });
    expect(fields.get("ada")).toEqual({ plan: "free" });
    expect(await fields.get("bob")).toBeUndefined();
    expect(fields.get("bob")).toBeUndefined();
    expect(queries).toEqual([["ada"], ["bob"]]);
  });

  test("are never given older than 5 s", async () => {
    const { fields, write } = setUp({ hasVersions });
    await fields.get("ada");
    write("ada", "pro");
    pass(4800);
    expect(fields.get("ada")).toEqual({ plan: "free" });
    pass(1);
    expect(await fields.get("ada")).toEqual({ plan: "pro" });
  });

  test("in use are compared in the background, so that the next request gets them at once", async () => {
    const { fields, reconciliation, write } = setUp({ hasVersions });
    await Promise.all(["ada", "bob"].map((key) => fields.get(key)));
    write("ada", "pro");
    write("bob", "new");
    for (let round = 0; round < 14; round += 1) {
      pass(4000);
      await reconciliation.run();
    }
    expect(fields.get("ada")).toEqual({ plan: "pro" });
    expect(fields.get("bob")).toEqual({ plan: "new" });
  });

  test("that no request used for a minute are not compared", async () => {
    const { fields, reconciliation, queries, compared } = setUp({ hasVersions });
    await fields.get("ada");
    pass(60_001);
    queries.length = 0;
    compared.length = 0;
    await reconciliation.run();
    expect([queries, compared]).toEqual([[], []]);
  });

  test("of many rows that are wanted at once are read together", async () => {
    const { fields, queries, hold } = setUp({ hasVersions });
    const release = hold();
    const first = fields.get("ada");
    const others = ["b", "c", "b", "d"].map((key) => fields.get(key));
    release();
    await Promise.all([first, ...others]);
    expect(queries).toEqual([["ada"], ["b", "c", "d"]]);
  });

  test("that are changed during a query are read again, for the request that waits too", async () => {
    const { fields, feed, write, hold } = setUp({ hasVersions });
    const release = hold();
    const before = fields.get("ada");
    write("ada", "pro");
    feed.apply({ kind: "user", id: "ada" });
    const after = fields.get("ada");
    release();
    expect([await before, await after]).toEqual([{ plan: "pro" }, { plan: "pro" }]);
    expect(fields.get("ada")).toEqual({ plan: "pro" });
  });

  test.each([
    ["of the row", { kind: "user", id: "ada" }, true],
    ["of unknown rows", { kind: "unknown" }, true],
    ["of another row", { kind: "user", id: "bob" }, false],
    ["of another table", { kind: "organization", id: "ada" }, false],
  ] as const)("count at once after a change %s: %j", async (_what, change, isRead) => {
    const { fields, feed, write } = setUp({ hasVersions });
    await fields.get("ada");
    write("ada", "pro");
    feed.apply(change);
    expect(await fields.get("ada")).toEqual({ plan: isRead ? "pro" : "free" });
  });

  test("are the last known ones for 10 minutes while the database fails, and null after that", async () => {
    const { fields, database, errors, queries } = setUp({ hasVersions });
    await fields.get("ada");
    database.isDown = true;
    pass(5000);
    expect(await fields.get("ada")).toEqual({ plan: "free" });
    expect(errors.at(-1)).toBeInstanceOf(Error);
    const before = queries.length;
    expect([fields.get("ada"), fields.get("bob")]).toEqual([{ plan: "free" }, null]);
    expect(queries).toHaveLength(before);
    pass(595_000);
    expect(await fields.get("ada")).toEqual({ plan: "free" });
    pass(1);
    expect(await fields.get("ada")).toBeNull();
    await new Promise((resolve) => setTimeout(resolve));
    database.isDown = false;
    pass(2000);
    void fields.get("ada");
    await expect.poll(() => fields.get("ada")).toEqual({ plan: "free" });
  });
});

test("the fields of a row with a version are read again only after a change", async () => {
  const { fields, queries, write } = setUp({ hasVersions: true });
  await fields.get("ada");
  for (let round = 0; round < 3; round += 1) {
    pass(5000);
    expect(await fields.get("ada")).toEqual({ plan: "free" });
  }
  expect(queries).toEqual([["ada"]]);
  write("ada", "pro");
  pass(5000);
  expect(await fields.get("ada")).toEqual({ plan: "pro" });
});

test("a change between the query of the version and that of the fields is found by the next comparison", async () => {
  const { fields, queries, write, hold } = setUp({ hasVersions: true });
  const release = hold();
  const reading = fields.get("ada");
  write("ada", "pro");
  release();
  expect(await reading).toEqual({ plan: "pro" });
  pass(5000);
  expect(await fields.get("ada")).toEqual({ plan: "pro" });
  expect(queries).toEqual([["ada"], ["ada"]]);
});

test("rows are read every time once the database does not know the table", async () => {
  const { fields, rows, database } = setUp({ hasVersions: true });
  await fields.get("ada");
  database.knowsTable = false;
  rows.set("ada", { plan: "pro" });
  pass(5000);
  expect(await fields.get("ada")).toEqual({ plan: "pro" });
  rows.set("ada", { plan: "team" });
  pass(5000);
  expect(await fields.get("ada")).toEqual({ plan: "team" });
});

test("the rows used longest ago are removed when there are too many", async () => {
  const { fields } = setUp({ maxRows: 3 });
  for (const key of ["a", "b", "c", "d", "e"]) await fields.get(key);
  expect(fields.size).toBe(3);
  expect(fields.get("a")).toBeInstanceOf(Promise);
  expect(fields.get("e")).toBeUndefined();
});

test("rows are read by each request of its own where requests are isolated", async () => {
  const { fields, queries, hold } = setUp({ isIsolated: true });
  const release = hold();
  const both = [fields.get("ada"), fields.get("ada")];
  release();
  expect(await Promise.all(both)).toEqual([{ plan: "free" }, { plan: "free" }]);
  expect(queries).toEqual([["ada"], ["ada"]]);
  pass(4000);
  expect(fields.get("ada")).toEqual({ plan: "free" });
});

test("rows that are refreshed are read now, and those that do not exist are left out", async () => {
  const { fields, database, write } = setUp();
  await fields.get("ada");
  write("ada", "pro");
  expect(await fields.refresh(["ada", "bob"])).toEqual(new Map([["ada", { plan: "pro" }]]));
  database.isDown = true;
  await expect(fields.refresh(["ada"])).rejects.toThrow("did not respond");
});

test("nothing is compared once it is closed, and requests still get their fields", async () => {
  const { fields, reconciliation, queries } = setUp();
  await fields.get("ada");
  fields.close();
  expect(fields.size).toBe(0);
  expect(await fields.get("ada")).toEqual({ plan: "free" });
  queries.length = 0;
  await reconciliation.run();
  expect(queries).toEqual([]);
});
