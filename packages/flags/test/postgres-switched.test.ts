/** Checks that nothing is lost or counted twice when the option `postgres` is switched on or off for an application that has events. */
import { type EventSink, featureFlagsPostgresMigration } from "@halyard/flags";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createMove } from "../src/store/events/postgres/move.ts";
import { createMoveBack } from "../src/store/events/postgres/move-back.ts";
import { HostTables } from "../src/store/postgres/host-tables.ts";
import { type FreshPostgres, freshPostgres } from "./databases.ts";
import { type Host, startHost } from "./host.ts";

let db: FreshPostgres;
beforeAll(async () => {
  db = await freshPostgres();
});
afterAll(() => db.drop());

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

/** Roll-ups are found by a hash of their names, which PostgreSQL computes as JavaScript does. */
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

test("idempotency, statistics and waiting deliveries continue", { timeout: 90_000 }, async () => {
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
  }
  await first.close();
  const stats = async (host: Host) => {
    const { window: _, ...figures } = await host.auth.api.getFeatureFlagStats({ params: { id } });
    return figures;
  };
  // A process that writes no event only reads what the first one has written.
  const reader = await startHost({ database: before.database, migrate: false, flags: { poll: false } });
  const figures = await stats(reader);
  expect(figures).toMatchObject({ evaluations: 3, uniqueUsers: 2 });
  await reader.close();

  const after = db.connect();
  await after.database.query(featureFlagsPostgresMigration);
  receiver.isUp = true;
  const second = await startHost({
    database: after.database,
    migrate: false,
    flags: { postgres: after.database, events },
  });
  // The first request of the process: nothing has been moved before it.
  const again = await order(second);
  expect([again.status, again.json]).toEqual([sent.status, sent.json]);
  expect((await order(second, 200)).status).toBe(409);
  expect((await batch(second)).json).toEqual(sentBatch.json);
  expect(await stats(second)).toEqual(figures);
  await expect.poll(() => receiver.delivered, { timeout: 30_000 }).toEqual(["purchase", VIEW, VIEW]);

  await second.request("/feature-flags/events", { flagKey: "k", event: "purchase", value: 50 });
  await expect
    .poll(() => receiver.delivered, { timeout: 30_000 })
    .toEqual(["purchase", VIEW, VIEW, "purchase"]);
  const { byVariant } = await stats(second);
  expect(byVariant[""]?.events["purchase"]).toMatchObject({ count: 2, sum: 150 });
  const withMore = await stats(second);
  receiver.isUp = false;
  await second.request("/feature-flags/events", { flagKey: "k", event: "late" });
  await second.close();

  // Off again: the same must hold in the other direction.
  receiver.isUp = true;
  const third = await startHost({ database: before.database, migrate: false, flags: { events } });
  expect((await order(third)).json).toEqual(sent.json);
  expect((await order(third, 200)).status).toBe(409);
  expect((await batch(third)).json).toEqual(sentBatch.json);
  const { byVariant: last, ...others } = await stats(third);
  expect({ ...others, events: last[""]?.events["purchase"] }).toMatchObject({
    evaluations: withMore.evaluations,
    uniqueUsers: withMore.uniqueUsers,
    events: withMore.byVariant[""]?.events["purchase"],
  });
  expect(last[""]?.events[VIEW]).toEqual(withMore.byVariant[""]?.events[VIEW]);
  await expect
    .poll(() => receiver.delivered, { timeout: 30_000 })
    .toEqual(["purchase", VIEW, VIEW, "purchase", "late"]);
  await third.request("/feature-flags/events", { flagKey: "k", event: VIEW });
  await third.auth.api.evaluateFeatureFlag({ body: { flagKey: "k", track: true, context: { userId: "u" } } });
  await third.close();
  // What is added to a roll-up that was moved is the same row.
  const repeated = await before.database.query(
    `select "flagId", null as event from "featureFlagEvaluationCount" group by "flagId", left("rollupId", 10) having count(*) > 1
     union all
     select "flagId", event from "featureFlagEventCount" group by "flagId", event, left("rollupId", 10) having count(*) > 1
     union all
     select "flagId", subject from "featureFlagExposure" group by "flagId", subject, variant, left("exposureId", 13) having count(*) > 1`,
  );
  expect(repeated.rows).toEqual([]);
  await before.close();
  await after.close();
});

test("stored events follow, and a process with the earlier setting moves nothing back", async () => {
  const { database, close } = db.connect();
  const host = await startHost({ database, migrate: false });
  const tables = HostTables.of(await host.auth.$context, database);
  const [there, back] = [createMove(tables), createMoveBack(tables)];
  const body = { flagKey: "k", event: "click", value: 0.5, properties: { plan: "pro" } };
  expect((await host.request("/feature-flags/events", body)).status).toBe(200);
  const readRows = async () =>
    (await database.query('select * from "featureFlagEvent" order by "eventId"')).rows.map(
      ({ id: _, ...row }) => row,
    );
  await back.start();
  expect(await back.someEvents()).toBe(false);
  const rows = await readRows();
  expect(rows.length).toBeGreaterThan(1);

  await there.start();
  expect([await there.isInUse(), await back.isInUse()]).toEqual([true, false]);
  expect(await there.someEvents()).toBe(false);
  expect(await readRows()).toEqual([]);
  await back.start();
  expect([await there.isInUse(), await back.isInUse()]).toEqual([false, true]);
  expect(await back.someEvents()).toBe(false);
  expect(await readRows()).toEqual(rows);
  await host.close();
  await close();
});

test("a host whose tables have unknown names records as usual, and the log says what was not moved", async () => {
  const { database, close } = db.connect();
  const messages: string[] = [];
  const host = await startHost({
    database,
    migrate: false,
    flags: { postgres: database },
    log: (message) => messages.push(message),
  });
  // Better Auth compares the tables with its schema once, before the first response.
  expect((await host.evaluate({ flagKey: "k" })).status).toBe(200);
  await database.query('alter table "featureFlagEventKey" rename to "other"');
  const send = () => host.request("/feature-flags/events", { flagKey: "k", event: "click" });
  expect([(await send()).status, (await send()).status]).toEqual([200, 200]);
  expect(messages.filter((message) => /cannot be moved/.test(message))).toHaveLength(1);
  await host.close();
  await close();
});
