import type { DBAdapter } from "@better-auth/core/db/adapter";
import { uuidv7 } from "@halyard/base";
import { featureFlagsPostgresMigration } from "@halyard/flags";
import type { Pool } from "pg";
import { afterAll, beforeAll, describe } from "vitest";
import type { OutboxRow } from "../src/model/tables.ts";
import { createAdapterEventLog } from "../src/store/events/adapter/log.ts";
import { createAdapterOutbox } from "../src/store/events/adapter/outbox.ts";
import { createPostgresEventLog } from "../src/store/events/postgres/log.ts";
import { createPostgresOutbox } from "../src/store/events/postgres/outbox.ts";
import { createTransactions } from "../src/store/writes/transaction.ts";
import { describeSinks, type SinkHost, type SinkNode } from "./contract/sinks.ts";
import { type DatabaseKind, openStoreHost, type StoreHost } from "./contract/store-host.ts";
import { freshMariadb, freshPostgres, freshSqlite } from "./databases.ts";

const warn = () => undefined;

function onAdapter(adapter: DBAdapter): SinkNode {
  const transactions = createTransactions(adapter);
  return {
    adapter,
    outbox: createAdapterOutbox(adapter),
    log: (outbox) => createAdapterEventLog(adapter, { transactions, outbox, warn }),
  };
}

const kinds: readonly (readonly [string, DatabaseKind])[] = [
  ["SQLite", { open: freshSqlite }],
  ["PostgreSQL", { open: () => freshPostgres() }],
  ["MariaDB", { open: freshMariadb }],
];

describe.each(kinds)("sinks on %s, through the adapter", (_name, kind) => {
  let host: StoreHost;
  beforeAll(async () => {
    host = await openStoreHost(kind);
  });
  afterAll(() => host?.close());
  const sinkHost: SinkHost = {
    another: async () => onAdapter((await host.another()).adapter),
    async orphan(sink) {
      const data = { entryId: "0", sink, eventIds: uuidv7(), enqueuedAt: new Date().toISOString() };
      await host.adapter.create<OutboxRow>({ model: "featureFlagOutbox", data });
    },
  };
  describeSinks(() => sinkHost);
});

describe("sinks on PostgreSQL, with the PostgreSQL event log", () => {
  let host: StoreHost;
  let db: Awaited<ReturnType<typeof freshPostgres>>;
  const pools: { readonly database: Pool; close(): Promise<void> }[] = [];
  const connect = () => {
    const pool = db.connect();
    pools.push(pool);
    return pool.database;
  };
  beforeAll(async () => {
    host = await openStoreHost({
      open: async () => {
        db = await freshPostgres();
        return { ...db, drop: async () => undefined };
      },
    });
    await connect().query(featureFlagsPostgresMigration);
  });
  afterAll(async () => {
    await host?.close();
    for (const { close } of pools) await close();
    await db?.drop();
  });
  const sinkHost: SinkHost = {
    async another() {
      const pool = connect();
      return {
        adapter: (await host.another()).adapter,
        outbox: createPostgresOutbox(pool),
        log: (outbox) => createPostgresEventLog({ pool, outbox, warn }),
      };
    },
    async orphan(sink) {
      await connect().query(
        `insert into halyard_flag_outbox (sink, event_ids, enqueued_at) values ($1, array[gen_random_uuid()], now())`,
        [sink],
      );
    },
  };
  describeSinks(() => sinkHost);
});
