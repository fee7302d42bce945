/** Checks that the option `postgres` is not switched on or off for an application that has events before they are moved. */
import { readFileSync } from "node:fs";
import { type EventSink, featureFlagsPostgresMigration } from "@halyard/flags";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type FreshPostgres, freshPostgres } from "./databases.ts";
import { type Host, startHost } from "./host.ts";

let db: FreshPostgres;
beforeAll(async () => {
  db = await freshPostgres();
});
afterAll(() => db.drop());

/** The SQL texts of the page. */
function sqlOf(name: "on.sql" | "off.sql"): string {
  const page = readFileSync(new URL("../../../docs/guide/flags-postgres.md", import.meta.url), "utf8");
  const [, text] = page.split(`**${name}**`)[1]?.split("```sql\n") ?? [];
  const sql = text?.split("```")[0];
  if (sql === undefined) throw new Error(`The page has no ${name}.`);
  return sql;
}

/** A sink that accepts events only when the test lets it. */
function createSink(): { sink: EventSink; isUp: boolean; delivered: string[] } {
  const state = {
    isUp: false,
    delivered: [] as string[],
    sink: {
      name: "warehouse",
      async deliver(events: readonly { event: string }[]) {
        if (!state.isUp) throw new Error("The receiver is away.");
        state.delivered.push(...events.map(({ event }) => event));
      },
    },
  };
  return state;
}

const VIEW = 'view "é"\t/😀';

const order = (host: Host, value = 100) =>
  host.request(
    "/feature-flags/events",
    { flagKey: "k", event: "purchase", value },
    { "idempotency-key": "order-1" },
  );
const batch = (host: Host) =>
  host.request("/feature-flags/events/batch", {
    events: [
      { flagKey: "k", event: VIEW, value: 0.1 },
      { flagKey: "k", event: VIEW, value: 0.2, idempotencyKey: "view-1" },
    ],
    idempotencyKey: "batch-1",
  });

/** What a process refuses while the rows of the other setting wait. */
async function expectRefused(host: Host, table: RegExp): Promise<void> {
  const sent = await host.request("/feature-flags/events", { flagKey: "k", event: "click" });
  expect([sent.status, sent.json.code]).toEqual([500, "STORAGE_ERROR"]);
  expect(sent.json.message).toMatch(table);
  await expect(host.auth.api.getFeatureFlagUsage()).rejects.toMatchObject({ statusCode: 500 });
  expect((await host.evaluate({ flagKey: "k", context: { userId: "u" } })).status).toBe(200);
}

test("idempotency, statistics and waiting deliveries continue after the rows are moved", {
  timeout: 90_000,
}, async () => {
  const receiver = createSink();
  const before = db.connect();
  const events = { sinks: [receiver.sink] };
  const first = await startHost({ database: before.database, flags: { events } });
  const { id } = await first.auth.api.createFeatureFlag({
    body: { key: "k", name: "N", type: "boolean", enabled: true },
  });
  const sent = await order(first);
  const sentBatch = await batch(first);
  expect([sent.status, sentBatch.json.success]).toEqual([200, 2]);
  for (const userId of ["u", "v", "u"]) {
    await first.auth.api.evaluateFeatureFlag({ body: { flagKey: "k", track: true, context: { userId } } });
    await first.auth.api.createFeatureFlagEvent({
      body: { flagKey: "k", event: "seen", context: { userId } },
    });
  }
  const stats = async (host: Host) => {
    const { window: _, asOf: __, ...figures } = await host.auth.api.getFeatureFlagStats({ params: { id } });
    const { events: count } = await host.auth.api.getFeatureFlagUsage();
    return { ...figures, count };
  };
  const figures = await stats(first);
  expect(figures).toMatchObject({ evaluations: 3, uniqueUsers: 2, count: 6 });
  expect(figures.byVariant["false"]?.excluded?.events["seen"]).toMatchObject({
    count: 3,
    uniqueConverters: 2,
  });
  // It waits to be counted when the process ends.
  await first.request("/feature-flags/events", { flagKey: "k", event: "last" });
  await first.close();

  const after = db.connect();
  await after.database.query(featureFlagsPostgresMigration);
  const second = await startHost({
    database: after.database,
    migrate: false,
    flags: { postgres: after.database, events },
  });
  await expectRefused(second, /"featureFlagEventKey" has rows.*flags-postgres/);
  await after.database.query(sqlOf("on.sql"));
  receiver.isUp = true;
  const again = await order(second);
  expect([again.status, again.json]).toEqual([sent.status, sent.json]);
  expect((await order(second, 200)).status).toBe(409);
  expect((await batch(second)).json).toEqual(sentBatch.json);
  const moved = await stats(second);
  expect(moved).toMatchObject({ evaluations: 4, uniqueUsers: 2, count: 7 });
  expect(moved.byVariant["false"]).toEqual(figures.byVariant["false"]);
  const delivered = ["purchase", VIEW, VIEW, "seen", "seen", "seen", "last"];
  await expect.poll(() => receiver.delivered, { timeout: 30_000 }).toEqual(delivered);
  receiver.isUp = false;
  await second.request("/feature-flags/events", { flagKey: "k", event: "late" });
  await second.close();

  // Off again.
  const third = await startHost({ database: before.database, migrate: false, flags: { events } });
  await expectRefused(third, /halyard_flag_key has rows.*flags-postgres/);
  await before.database.query(sqlOf("off.sql"));
  receiver.isUp = true;
  expect((await order(third)).json).toEqual(sent.json);
  expect((await order(third, 200)).status).toBe(409);
  expect((await batch(third)).json).toEqual(sentBatch.json);
  const back = await stats(third);
  expect(back).toMatchObject({ evaluations: 5, uniqueUsers: 2, count: 8 });
  expect(back.byVariant["false"]).toEqual(figures.byVariant["false"]);
  await expect.poll(() => receiver.delivered, { timeout: 30_000 }).toEqual([...delivered, "late"]);
  await third.close();
  await before.close();
  await after.close();
});

test("tables with names of their own are not looked for", async () => {
  const own = await freshPostgres();
  const { database, close } = own.connect();
  const host = await startHost({ database });
  await database.query(featureFlagsPostgresMigration);
  await host.request("/feature-flags/events", { flagKey: "k", event: "click" });
  await host.close();
  const renamed = await startHost({ database, migrate: false, flags: { postgres: database } });
  // Better Auth compares the tables with its schema once, before the first response.
  expect((await renamed.evaluate({ flagKey: "k" })).status).toBe(200);
  for (const table of ["Event", "Outbox", "EvaluationCount"]) {
    await database.query(`alter table "featureFlag${table}" rename to "other${table}"`);
  }
  await renamed.auth.api.createFeatureFlagEvent({ body: { flagKey: "k", event: "click" } });
  await renamed.close();
  await close();
  await own.drop();
});
