/** Opens the PostgreSQL event log for the suite of all event logs and for its own tests. */
import type { Pool, PoolConfig } from "pg";
import type { StoredFlagEvent } from "../../src/model/event.ts";
import type { EventLog } from "../../src/store/events/event-log.ts";
import { createPostgresEventLog, type PostgresEventLogOptions } from "../../src/store/events/postgres/log.ts";
import { featureFlagsPostgresMigration } from "../../src/store/events/postgres/tables.ts";
import { freshPostgres } from "../databases.ts";
import { DAY, type EventLogHost, HOUR_MS, NOON } from "./event-host.ts";

export interface PostgresEventHost extends EventLogHost {
  open(options?: Partial<PostgresEventLogOptions>): Promise<EventLog>;
  /** Opens a pool with its own connections, like another process. */
  pool(config?: PoolConfig): Pool;
  /** The stored events of a tenant, and the count in its roll-ups. */
  counts(tenant: string): Promise<[stored: number, rolledUp: number]>;
}

export async function openPostgresEvents(): Promise<PostgresEventHost> {
  const db = await freshPostgres();
  const logs: EventLog[] = [];
  const pools: Pool[] = [];

  function pool(config?: PoolConfig): Pool {
    const { database } = db.connect({ max: 8, ...config });
    pools.push(database);
    return database;
  }

  const own = pool();
  await own.query(featureFlagsPostgresMigration);
  const counting = createPostgresEventLog({ pool: own, warn: () => {}, foldMs: HOUR_MS });
  logs.push(counting);
  return {
    pool,
    async open(options = {}) {
      const log = createPostgresEventLog({
        pool: options.pool ?? pool(),
        warn: () => {},
        nowMs: () => NOON,
        foldMs: HOUR_MS,
        ...options,
      });
      logs.push(log);
      return log;
    },
    async stored(tenant) {
      const { rows } = await own.query<Record<string, unknown>>(
        `select id, flag_key as "flagKey", event, value, properties, user_id as "userId", anonymous_id as "anonymousId",
           organization_id as "organizationId", variant, nullif(environment, '') as environment, at, received_at as "receivedAt", sample_rate as "sampleRate",
           idempotency_key as "idempotencyKey"
         from halyard_flag_event where tenant = $1 order by id`,
        [tenant],
      );
      return rows.map(toStored);
    },
    async keyCount() {
      const { rows } = await own.query<{ keys: number }>(
        "select count(*)::int as keys from halyard_flag_key",
      );
      return rows[0]?.keys ?? -1;
    },
    async counts(tenant) {
      // Reading usage folds what waits, for at most 2 s.
      for (let waits = true; waits; ) {
        await counting.usageFigures(tenant, DAY);
        const sql = "select from halyard_flag_outbox where sink = '$statistics' limit 1";
        waits = (await own.query(sql)).rowCount === 1;
      }
      const { rows } = await own.query<{ stored: number; rolled_up: number }>(
        `select (select count(*)::int from halyard_flag_event where tenant = $1) as stored,
           (select coalesce(sum(count), 0)::int from halyard_flag_event_hour where tenant = $1) as rolled_up`,
        [tenant],
      );
      return [rows[0]?.stored ?? -1, rows[0]?.rolled_up ?? -1];
    },
    async close() {
      for (const log of logs) await log.close();
      for (const one of pools) await one.end();
      await db.drop();
    },
  };
}

function toStored(row: Record<string, unknown>): StoredFlagEvent {
  const fields = Object.entries(row).filter(([, value]) => value !== null);
  const iso = fields.map(([name, value]) => [name, value instanceof Date ? value.toISOString() : value]);
  return Object.fromEntries(iso) as StoredFlagEvent;
}
