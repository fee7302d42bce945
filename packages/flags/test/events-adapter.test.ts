/** The adapter event log inside transactions of the host, and on set-ups without transactions. */
import { runWithAdapter, runWithTransaction } from "@better-auth/core/context";
import type { DBAdapter } from "@better-auth/core/db/adapter";
import { featureFlags } from "@halyard/flags";
import { Kysely, PostgresDialect } from "kysely";
import { afterEach, describe, expect, test } from "vitest";
import type { EventRow } from "../src/model/event-rows.ts";
import { createAdapterEventLog } from "../src/store/events/adapter/log.ts";
import { createTransactions } from "../src/store/writes/transaction.ts";
import { DAY, entryOf, HOUR_MS, NOON, newDedupe } from "./contract/event-host.ts";
import { type DatabaseKind, openStoreHost } from "./contract/store-host.ts";
import { freshMariadb, freshPostgres } from "./databases.ts";
import { type Host, startHost } from "./host.ts";
import { memoryHost } from "./memory-host.ts";

const cleanUp: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0).reverse()) await step();
});

async function postgresHost(): Promise<Host> {
  const { connect, drop } = await freshPostgres();
  const { database, close } = connect();
  cleanUp.push(drop, close);
  const host = await startHost({ database });
  cleanUp.push(host.close);
  return host;
}

const rowsOf = (host: Host) => host.adapter.findMany<EventRow>({ model: "featureFlagEvent", limit: 100 });

describe.each([
  ["SQLite", () => memoryHost()],
  ["PostgreSQL", postgresHost],
])("an event inside a transaction of the host's, on %s", (_name, open) => {
  test("is committed or rolled back with it", async () => {
    const host = await open();
    const record = (event: string) =>
      host.auth.api.createFeatureFlagEvent({
        body: { flagKey: "k", event, idempotencyKey: event },
      });
    await record("before");
    const undone = runWithTransaction(host.adapter, async () => {
      await record("undone");
      throw new Error("The host changes its mind.");
    });
    await expect(undone).rejects.toThrow("changes its mind");
    await runWithTransaction(host.adapter, () => record("done"));
    await record("undone");
    const events = (await rowsOf(host)).map(({ event }) => event);
    expect(events.sort()).toEqual(["before", "done", "undone"]);
    const usage = await host.auth.api.getFeatureFlagUsage();
    expect(usage.events).toBe(3);
  });

  test("does not affect evaluations and exposures: they are counted even if it is rolled back", async () => {
    const host = await open();
    const { api } = host.auth;
    const made = await api.createFeatureFlag({
      body: { key: "k", name: "N", type: "boolean", enabled: true },
    });
    const undone = runWithTransaction(host.adapter, async () => {
      await api.evaluateFeatureFlag({ body: { flagKey: "k", context: { userId: "u" }, track: true } });
      throw new Error("The host changes its mind.");
    });
    await expect(undone).rejects.toThrow("changes its mind");
    const stats = await api.getFeatureFlagStats({ params: { id: made.id } });
    expect([stats.evaluations, stats.uniqueUsers]).toEqual([1, 1]);
  });

  test("statistics can be read inside of it", async () => {
    const host = await open();
    const { api } = host.auth;
    const { id } = await api.createFeatureFlag({
      body: { key: "k", name: "N", type: "boolean", enabled: true },
    });
    const ask = async () => (await api.getFeatureFlagStats({ params: { id } })).evaluations;
    await api.evaluateFeatureFlag({ body: { flagKey: "k" } });
    expect([0, 1]).toContain(await runWithTransaction(host.adapter, ask));
    expect(await ask()).toBe(1);
  });
});

test("where a failed transaction is not rolled back, events are refused with the remedy, and evaluation works", async () => {
  const { connect, drop } = await freshPostgres();
  const { database: pool, close } = connect();
  cleanUp.push(drop, close);
  const db = new Kysely({ dialect: new PostgresDialect({ pool }) });
  const host = await startHost({ database: { db, type: "postgres" } });
  cleanUp.push(host.close);
  const refused = host.auth.api.createFeatureFlagEvent({ body: { flagKey: "k", event: "e" } });
  await expect(refused).rejects.toMatchObject({
    statusCode: 500,
    body: {
      code: "STORAGE_ERROR",
      message: expect.stringMatching(/^Events cannot be recorded: .*`transaction: true`/),
    },
  });
  expect(await rowsOf(host)).toEqual([]);
  expect((await host.evaluate({ flagKey: "k", track: true })).status).toBe(200);
});

test.each([{ retentionDays: 0 }, { retentionDays: Number.NaN }])(
  "events: %j is refused when the plugin is made",
  (events) => {
    expect(() => featureFlags({ events })).toThrow(/^featureFlags: events\.\w+ is /);
  },
);

test("errors of an unreachable database are not sent to the client", async () => {
  const host = await memoryHost();
  await host.auth.api.createFeatureFlag({ body: { key: "k", name: "N", type: "boolean" } });
  await host.request("/feature-flags/events", { flagKey: "k", event: "e" });
  host.db.exec('drop table "featureFlagEvent"');
  const failed = await host.request("/feature-flags/events", { flagKey: "k", event: "e" });
  expect([failed.status, failed.json]).toEqual([
    500,
    { code: "STORAGE_ERROR", message: "The feature flags could not be read or written." },
  ]);
});

/** Wraps the adapter and its transactions, and runs a callback after the first read of keys. */
function afterKeys(adapter: DBAdapter, happens: () => Promise<unknown>): DBAdapter {
  let isDone = false;
  const wrap = <Wrapped extends object>(inner: Wrapped): Wrapped =>
    new Proxy(inner, {
      get(target, name) {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== "function") return method;
        if (name === "transaction") {
          return (work: (tx: object) => unknown) => method.call(target, (tx: object) => work(wrap(tx)));
        }
        if (name !== "findMany") return method.bind(target);
        return async (query: { model: string }) => {
          const rows = await method.call(target, query);
          if (query.model === "featureFlagEventKey" && !isDone) {
            isDone = true;
            await happens();
          }
          return rows;
        };
      },
    });
  return wrap(adapter);
}

const shared: readonly (readonly [string, DatabaseKind])[] = [
  ["PostgreSQL", { open: () => freshPostgres() }],
  ["MariaDB", { open: freshMariadb }],
];

test.each(shared)(
  "a key that has expired and is used again by two processes at once counts once, on %s",
  async (_name, kind) => {
    const host = await openStoreHost(kind);
    cleanUp.push(host.close);
    let now = NOON;
    const open = (adapter: DBAdapter) => {
      const transactions = createTransactions(adapter);
      const log = createAdapterEventLog(adapter, { transactions, warn: () => undefined, nowMs: () => now });
      cleanUp.push(log.close);
      return log;
    };
    const dedupe = newDedupe();
    const { adapter } = await host.another();
    const first = open(adapter);
    await first.record(entryOf({ dedupe }));
    now += 49 * HOUR_MS;
    const again = entryOf({ dedupe });
    // Not in the transaction around it: the first one is another process.
    const happens = () => runWithAdapter(adapter, () => first.record(again));
    const second = open(afterKeys((await host.another()).adapter, happens));
    expect(await second.record(entryOf({ dedupe }))).toEqual({
      outcome: "duplicate",
      eventId: again.event.id,
    });
    expect(await host.adapter.findMany({ model: "featureFlagEvent" })).toHaveLength(2);
  },
);

test.each(shared)("an event that is committed late is counted, on %s", async (_name, kind) => {
  const host = await openStoreHost(kind);
  cleanUp.push(host.close);
  const open = async () => {
    const { adapter } = await host.another();
    const transactions = createTransactions(adapter);
    const log = createAdapterEventLog(adapter, { transactions, warn: () => undefined, foldMs: HOUR_MS });
    cleanUp.push(log.close);
    return { adapter, log };
  };
  const [late, other] = [await open(), await open()];
  const count = async () => (await other.log.usageFigures("", DAY)).events;
  await late.log.record(entryOf());
  const { promise: isCounted, resolve: commit } = Promise.withResolvers<void>();
  const { promise: isWritten, resolve: written } = Promise.withResolvers<void>();
  const committed = runWithTransaction(late.adapter, async () => {
    await late.log.record(entryOf());
    written();
    await isCounted;
  });
  await isWritten;
  await other.log.record(entryOf());
  expect(await count()).toBe(2);
  commit();
  await committed;
  expect(await count()).toBe(3);
  expect(await count()).toBe(3);
});
