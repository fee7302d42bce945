/** The PostgreSQL event log: the contract of all event logs, and its own guarantees. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { EventLog } from "../src/store/events/event-log.ts";
import { featureFlagsPostgresMigration } from "../src/store/events/postgres/tables.ts";
import {
  answerOf,
  batchOf,
  DAY,
  entryOf,
  flagIdOf,
  HOUR_MS,
  NOON,
  newDedupe,
} from "./contract/event-host.ts";
import { describeEventLog } from "./contract/events.ts";
import { openPostgresEvents, type PostgresEventHost } from "./contract/postgres-events.ts";
import { fresh, refusalOf } from "./contract/store-host.ts";
import { openTcpProxy } from "./contract/tcp-proxy.ts";

describeEventLog("on PostgreSQL itself", openPostgresEvents, { nodesThatWriteAtOnce: 2 });

let host: PostgresEventHost;
let log: EventLog;
beforeAll(async () => {
  host = await openPostgresEvents();
  log = await host.open();
});
afterAll(() => host?.close());

describe("keys in the PostgreSQL event log", () => {
  test("with different bodies from concurrent processes: one is stored and the others are conflicts", async () => {
    const tenant = fresh("tenant");
    const nodes = [await host.open(), await host.open(), await host.open()];
    const dedupe = newDedupe();
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, body) =>
        nodes[body % 3]?.record(entryOf({ tenant, dedupe: dedupe.again(`body ${body}`) })),
      ),
    );
    expect(answers.filter((answer) => answer?.outcome === "stored")).toHaveLength(1);
    expect(answers.filter((answer) => answer?.outcome === "conflict")).toHaveLength(29);
    expect(await host.counts(tenant)).toEqual([1, 1]);
  });

  test("do not fail when processes write them in opposite orders", async () => {
    const tenant = fresh("tenant");
    const nodes = [await host.open(), await host.open(), await host.open()];
    for (let round = 0; round < 5; round++) {
      const dedupes = Array.from({ length: 50 }, () => newDedupe());
      const orders = [dedupes, dedupes.toReversed(), [...dedupes.slice(25), ...dedupes.slice(0, 25)]];
      const batches = orders.map((order) => batchOf(order.map((dedupe) => entryOf({ tenant, dedupe }))));
      const answers = await Promise.all(batches.map((batch, node) => nodes[node]?.recordBatch(batch)));
      for (const answer of answers) expect(answer).toMatchObject({ answer: { success: 50, failed: 0 } });
    }
    expect(await host.counts(tenant)).toEqual([250, 250]);
  });
});

describe("batches in the PostgreSQL event log", () => {
  test("that are conflicts do not use the keys of their events", async () => {
    const tenant = fresh("tenant");
    const [ofBatch, ofEvent] = [newDedupe(), newDedupe()];
    await log.recordBatch(batchOf([entryOf({ tenant })], { dedupe: ofBatch }));
    const [refused, single] = await Promise.all([
      log.recordBatch(batchOf([entryOf({ tenant, dedupe: ofEvent })], { dedupe: ofBatch.again("another") })),
      log.record(entryOf({ tenant, dedupe: ofEvent })),
    ]);
    expect([refused.outcome, single.outcome]).toEqual(["conflict", "stored"]);
    expect(await host.counts(tenant)).toEqual([2, 2]);
  });

  test("return the same answer again when an event had a used key, even after that key is deleted", async () => {
    const tenant = fresh("tenant");
    const [ofBatch, used, own] = [newDedupe(), newDedupe(), newDedupe()];
    await log.record(entryOf({ tenant, dedupe: used }));
    const send = () => {
      const dedupes = [used.again("another"), own, own, own.again("another")];
      const entries = dedupes.map((dedupe) => entryOf({ tenant, dedupe }));
      return log.recordBatch(batchOf(entries, { dedupe: ofBatch, batchId: "b" }));
    };
    const answer = { success: 2, failed: 2, batchId: "b" };
    expect(await send()).toEqual({ outcome: "stored", answer });
    await host.pool().query("delete from halyard_flag_key where event_id is not null");
    expect(await send()).toEqual({ outcome: "duplicate", answer });
    expect(await host.counts(tenant)).toEqual([2, 2]);
  });

  test("return the same answer again when two of their events had the same key with different bodies", async () => {
    const tenant = fresh("tenant");
    const [ofBatch, own] = [newDedupe(), newDedupe()];
    const send = () => {
      const entries = [own, own.again("another")].map((dedupe) => entryOf({ tenant, dedupe }));
      return log.recordBatch(batchOf(entries, { dedupe: ofBatch, batchId: "b" }));
    };
    const answer = { success: 1, failed: 1, batchId: "b" };
    expect(await send()).toEqual({ outcome: "stored", answer });
    await host.pool().query("delete from halyard_flag_key where event_id is not null");
    expect(await send()).toEqual({ outcome: "duplicate", answer });
  });

  test("whose process died before it stored the answer return the same answer", async () => {
    const tenant = fresh("tenant");
    const [ofBatch, used] = [newDedupe(), newDedupe()];
    await log.record(entryOf({ tenant, dedupe: used }));
    const send = () => {
      const entries = [entryOf({ tenant, dedupe: used.again("another") }), entryOf({ tenant })];
      return log.recordBatch(batchOf(entries, { dedupe: ofBatch }));
    };
    const first = answerOf(await send());
    expect(first).toMatchObject({ success: 1, failed: 1 });
    await host.pool().query("update halyard_flag_key set answer = null");
    expect(answerOf(await send())).toMatchObject({ success: 1, failed: 1 });
  });

  test("without any event are deduplicated, too", async () => {
    const dedupe = newDedupe();
    const first = await log.recordBatch(batchOf([], { dedupe, failed: 3 }));
    expect(first).toMatchObject({ outcome: "stored", answer: { success: 0, failed: 3 } });
    const again = await log.recordBatch(batchOf([], { dedupe, failed: 1 }));
    expect(again).toMatchObject({ outcome: "duplicate", answer: { success: 0, failed: 3 } });
  });
});

describe("rows in the PostgreSQL event log", () => {
  test("hold every character, including those with a meaning in array literals", async () => {
    const tenant = fresh("tenant");
    const odd = `a"b\\c{d},e 'f' NULL \u{1f6a2}\n`;
    const entries = [
      entryOf({ tenant, flagKey: odd, event: odd, variant: odd, userId: odd, organizationId: "NULL" }),
      entryOf({
        tenant,
        userId: "",
        organizationId: "{}",
        idempotencyKey: odd,
        properties: { [odd]: [odd] },
      }),
    ];
    await Promise.all(entries.map((entry) => log.record(entry)));
    const byId = (await host.stored(tenant)).toSorted((a, b) => (a.id < b.id ? -1 : 1));
    expect(byId).toEqual(entries.map(({ event }) => event).toSorted((a, b) => (a.id < b.id ? -1 : 1)));
    const { events } = await log.flagFigures({ id: flagIdOf(tenant, odd), unit: "userId" }, DAY);
    expect(events.get("")?.get(odd)?.count).toBe(1);
  });

  test("that PostgreSQL rejects do not fail others", async () => {
    const tenant = fresh("tenant");
    const entries = Array.from({ length: 10 }, (_, index) =>
      entryOf({ tenant, userId: index === 4 ? "a\0b" : "u" }),
    );
    const answers = await Promise.allSettled(entries.map((entry) => log.record(entry)));
    expect(answers.filter(({ status }) => status === "rejected")).toHaveLength(1);
    expect(answers[4]).toMatchObject({ reason: { code: "STORAGE_ERROR" } });
    expect(await host.counts(tenant)).toEqual([9, 9]);
  });

  test("for sinks exist once per stored event, in order", async () => {
    const tenant = fresh("tenant");
    const node = await host.open({ outbox: ["one", "two"] });
    const dedupe = newDedupe();
    const names = ["a", "b", "c", "d"];
    await node.recordBatch(batchOf(names.map((event) => entryOf({ tenant, event }))));
    for (let time = 0; time < 3; time++) await node.record(entryOf({ tenant, dedupe, event: "e" }));
    await node.record(entryOf({ tenant, dedupe: newDedupe(), isKept: false }));
    await node.record(entryOf({ tenant, isKept: false }));
    const { rows } = await host.pool().query<{ sink: string; name: string }>(
      `select sink, event as name from halyard_flag_outbox join halyard_flag_event on id = event_ids[1]
         where sink <> '$statistics' order by sink, position`,
    );
    const got = (sink: string) => rows.filter((row) => row.sink === sink).map(({ name }) => name);
    expect(got("one")).toEqual([...names, "e"]);
    expect(got("two")).toEqual([...names, "e"]);
  });

  test("that arrive during a write are written together", async () => {
    const tenant = fresh("tenant");
    await Promise.all(Array.from({ length: 3000 }, () => log.record(entryOf({ tenant }))));
    const { rows } = await host
      .pool()
      .query<{ groups: number }>(
        "select count(distinct xmin::text)::int as groups from halyard_flag_event where tenant = $1",
        [tenant],
      );
    expect(rows[0]?.groups).toBeLessThan(20);
    expect(await host.counts(tenant)).toEqual([3000, 3000]);
  });
});

describe("the fold of the PostgreSQL event log", () => {
  /** Stores an event as a process does whose commit takes long. */
  const LATE = `with stored as (
    insert into halyard_flag_event (id, tenant, event, at, received_at, sample_rate, environment)
    values (gen_random_uuid(), $1, 'click', $2, $2, 1, '') returning id
  ) insert into halyard_flag_outbox (sink, event_ids, enqueued_at)
  select '$statistics', array[id], $2 from stored`;

  test("counts events that are committed late, and no event twice", async () => {
    const tenant = fresh("tenant");
    const client = await host.pool().connect();
    await client.query("begin");
    await client.query(LATE, [tenant, new Date(NOON)]);
    for (let event = 0; event < 40; event++) await log.record(entryOf({ tenant }));
    expect(await host.counts(tenant)).toEqual([40, 40]);
    await client.query("commit");
    client.release();
    expect(await host.counts(tenant)).toEqual([41, 41]);
    expect(await host.counts(tenant)).toEqual([41, 41]);
  });

  test("runs soon after a write, without a reader", async () => {
    const tenant = fresh("tenant");
    const node = await host.open({ foldMs: 10 });
    await node.record(entryOf({ tenant }));
    const counted = async () => {
      const sql = "select count(*)::int as rows from halyard_flag_event_hour where tenant = $1";
      return (await host.pool({ max: 1 }).query<{ rows: number }>(sql, [tenant])).rows[0]?.rows;
    };
    await expect.poll(counted, { timeout: 10_000, interval: 100 }).toBe(1);
  });

  test("that waits for longer than 2 s leaves figures as of the oldest event that is not counted", async () => {
    const tenant = fresh("tenant");
    const client = await host.pool().connect();
    await client.query("begin");
    await client.query("lock table halyard_flag_event_hour in exclusive mode");
    const node = await host.open({ nowMs: () => NOON - HOUR_MS });
    await node.record(entryOf({ tenant }));
    const late = await host.open();
    const figures = late.usageFigures(tenant, DAY);
    expect(await figures).toMatchObject({ events: 0, asOfMs: NOON - HOUR_MS });
    await client.query("commit");
    client.release();
    expect(await late.usageFigures(tenant, DAY)).toMatchObject({ events: 1, asOfMs: NOON });
  });
});

test("are refused after close", async () => {
  const node = await host.open();
  await node.close();
  expect(await refusalOf(node.record(entryOf()))).toMatchObject({ code: "STORAGE_ERROR" });
});

describe("when connections to PostgreSQL break", () => {
  test("everything is still written exactly once, with and without keys", async () => {
    const tenant = fresh("tenant");
    const name = fresh("breaks");
    const pool = host.pool({ application_name: name });
    // As in an application: while a statement runs, only the event log listens.
    pool.on("connect", (client) => client.removeAllListeners("error"));
    const node = await host.open({ pool });
    const killer = host.pool({ max: 1 });
    let isDone = false;
    let killed = 0;
    const killing = (async () => {
      // Enough is enough: where each write takes longer than this waits, none would ever get through.
      while (!isDone && killed < 10) {
        const { rowCount } = await killer.query(
          "select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and state = 'active'",
          [name],
        );
        killed += rowCount ?? 0;
        await new Promise((resolve) => setTimeout(resolve, 60));
      }
    })();
    let keyed = 0;
    const acknowledged = new Set<string>();
    const unknown = new Set<string>();
    // In a fast run it takes a while until the killer finds a connection that is busy.
    for (let round = 0; round < 40 || killed < 3; round++) {
      const dedupes = Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? newDedupe() : undefined));
      keyed += 50;
      await Promise.all(
        dedupes.map(async (dedupe) => {
          for (;;) {
            const entry = entryOf({ tenant, ...(dedupe && { dedupe }) });
            const answer = await node.record(entry).catch(() => undefined);
            if (dedupe === undefined) (answer === undefined ? unknown : acknowledged).add(entry.event.id);
            // With an idempotency key the sender retries until it gets a response; without one, a retry could write twice.
            if (dedupe === undefined || answer !== undefined) break;
          }
        }),
      );
    }
    isDone = true;
    await killing;
    const { rows } = await host.pool().query<{ id: string; keyed: boolean }>(
      `select id, exists (select from halyard_flag_key where event_id = id) as keyed
       from halyard_flag_event where tenant = $1`,
      [tenant],
    );
    expect(rows.filter((row) => row.keyed)).toHaveLength(keyed);
    const others = rows.filter((row) => !row.keyed).map(({ id }) => id);
    expect(others.filter((id) => acknowledged.has(id))).toHaveLength(acknowledged.size);
    expect(others.filter((id) => !acknowledged.has(id) && !unknown.has(id))).toEqual([]);
    expect(await host.counts(tenant)).toEqual([rows.length, rows.length]);
  }, 60_000);

  test("permanently, callers get an error soon, and the log works again after reconnection", async () => {
    const tenant = fresh("tenant");
    const line = await openTcpProxy(String(host.pool().options.connectionString));
    try {
      const node = await host.open({ pool: host.pool({ connectionString: line.url }) });
      await node.record(entryOf({ tenant }));
      line.cut();
      const refusal = await refusalOf(node.record(entryOf({ tenant })));
      expect(refusal).toMatchObject({ code: "STORAGE_ERROR", status: 503, details: { retryAfter: 5 } });
      line.restore();
      await node.record(entryOf({ tenant }));
      expect(await host.counts(tenant)).toEqual([2, 2]);
    } finally {
      await line.close();
    }
  });
});

describe("the tables of the option postgres", () => {
  test("if they are missing, every error says how to create them", async () => {
    const node = await host.open({ pool: host.pool({ options: "-c search_path=nowhere" }) });
    const hour = new Date(NOON).toISOString();
    const calls = [
      () => node.record(entryOf()),
      () => node.count([{ tenant: "", flagId: "f", hour, reason: "default", count: 1 }]),
      () => node.flagFigures({ id: "f", unit: "userId" }, DAY),
      () => node.sweep(NOON),
    ];
    for (const call of calls) {
      const { code, message } = await refusalOf(call());
      expect([code, message]).toEqual([
        "STORAGE_ERROR",
        expect.stringContaining("featureFlagsPostgresMigration"),
      ]);
    }
  });

  test("are created in the schema of the connection, also repeatedly and concurrently", async () => {
    const tenant = fresh("tenant");
    await host.pool().query("create schema elsewhere");
    const pool = host.pool({ options: "-c search_path=elsewhere" });
    await Promise.all([1, 2, 3].map(() => pool.query(featureFlagsPostgresMigration)));
    const node = await host.open({ pool });
    await node.record(entryOf({ tenant }));
    expect(await host.counts(tenant)).toEqual([0, 0]);
    expect((await node.usageFigures(tenant, DAY)).events).toBe(1);
  });
});
