/** Better Auth's Drizzle adapter: the whole store with transactions, and only reads without them. */
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { overDrizzle } from "./contract/drizzle.ts";
import { describeStore } from "./contract/store.ts";
import { by, flagInput, openStoreHost, refusalOf } from "./contract/store-host.ts";
import { freshPostgres } from "./databases.ts";
import { startHost } from "./host.ts";

describeStore(
  "PostgreSQL through Drizzle",
  {
    open: () => freshPostgres(),
    adapt: (pool, options) => overDrizzle(pool, options, { transaction: true }),
  },
  { keysThatDifferInCase: "are two flags", nodesThatWriteAtOnce: 2 },
);

describe("a connection through Drizzle that breaks", () => {
  test.each([
    ["during the commit is a 500, because the change may be stored", "deferrable initially deferred", 500],
    ["before the commit is a 503, because nothing is stored", "", 503],
  ])("%s", async (_when, deferral, status) => {
    const db = await freshPostgres();
    const { store, close } = await openStoreHost({
      open: async () => db,
      adapt: (pool, options) => overDrizzle(pool, options, { transaction: true }),
    });
    onTestFinished(close);
    const { id } = await store.createFlag(by("t"), flagInput());
    const { database: pool, close: end } = db.connect();
    onTestFinished(end);
    await pool.query(`
      create function end_backend() returns trigger language plpgsql
        as 'begin perform pg_terminate_backend(pg_backend_pid()); return null; end';
      create constraint trigger ends after update on "featureFlag" ${deferral}
        for each row execute function end_backend()`);
    const refused = await refusalOf(store.updateFlag(by("t"), id, { name: "M" }));
    expect(refused).toMatchObject({ code: "STORAGE_ERROR", status });
    expect(refused.message.includes("may or may not be stored")).toBe(status === 500);
    expect(await store.getFlag("t", id)).toMatchObject({ name: "N" });
  });
});

describe("the Drizzle adapter with its default, no transactions", () => {
  const cleanUp: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const step of cleanUp.splice(0).reverse()) await step();
  });

  test("refuses every write with the remedy, and health reports it", async () => {
    const host = await openStoreHost({
      open: () => freshPostgres(),
      adapt: (pool, options) => overDrizzle(pool, options, {}),
    });
    cleanUp.push(host.close);
    const { store } = host;
    expect(await store.health("t")).toMatchObject({ transactions: "unproven", revision: 0, stale: false });
    const refused = await refusalOf(store.createFlag(by("t"), flagInput()));
    expect(refused).toMatchObject({ code: "STORAGE_ERROR", status: 500 });
    expect(refused.message).toContain("does not roll back a failed transaction");
    expect(refused.message).toContain("`transaction: true`");
    expect(await store.health("t")).toMatchObject({ transactions: "refused", stale: false });
    expect(await host.adapter.count({ model: "featureFlagRevision" })).toBe(0);
  });

  test("is reported at the start, and does not affect sign-in and evaluation", async () => {
    const { connect, drop } = await freshPostgres();
    cleanUp.push(drop);
    const { database: pool, close } = connect();
    cleanUp.push(close);
    const logged: string[] = [];
    const log = (message: string) => logged.push(message);
    const migrated = await startHost({ database: pool, log });
    cleanUp.push(migrated.close);
    expect(logged.join()).not.toContain("transaction");
    const host = await startHost({
      database: overDrizzle(pool, migrated.auth.options, {}),
      migrate: false,
      log,
    });
    cleanUp.push(host.close);
    expect(logged.join()).toContain("Flags can be read, but not changed");
    expect(logged.join()).toContain("Set transaction: true");
    const admin = await host.person("admin", "admin");
    const refused = await host.createFlag({ key: "k", name: "N", type: "boolean" }, admin);
    expect(refused.status).toBe(500);
    expect(refused.json).toMatchObject({ code: "STORAGE_ERROR" });
    const later = await host.person("later");
    const evaluated = await host.evaluate({ flagKey: "k", default: "mine" }, later);
    expect(evaluated.json).toMatchObject({ value: "mine", reason: "not_found" });
  });
});
