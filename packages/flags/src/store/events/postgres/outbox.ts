/** The outbox in a PostgreSQL table of the option `postgres`. */
import { type PostgresPool, runQuery, storageError } from "../../postgres/pool.ts";
import type { Outbox } from "../sinks/outbox.ts";
import { STATISTICS } from "../storage.ts";
import { type StoredEventTexts, storedEventOf } from "../stored-event.ts";
import { STATEMENT_TIMEOUT_MS } from "./statements.ts";

const iso = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
/** As text, because hosts may change how `pg` parses other types. */
const EVENT_TEXTS = `event.id::text as "eventId", flag_key as "flagKey", event.event as event, value::text as value,
  properties::text as properties, user_id as "userId", anonymous_id as "anonymousId",
  organization_id as "organizationId", variant, environment, ${iso("at")} as at, ${iso("received_at")} as "receivedAt",
  sample_rate::text as "sampleRate", idempotency_key as "idempotencyKey"`;

/** Entries of other sinks that one call removes. */
const MAX_REMOVED = 1000;

export function createPostgresOutbox(pool: PostgresPool): Outbox {
  async function ask(text: string, values: unknown[]): Promise<Record<string, unknown>[]> {
    try {
      return await runQuery(pool, STATEMENT_TIMEOUT_MS, { text, values });
    } catch (error) {
      throw storageError(error);
    }
  }

  return {
    async peek(sink, max) {
      const rows = await ask(
        `select position::text as "entryId", (extract(epoch from enqueued_at) * 1000)::float8 as ms, ${EVENT_TEXTS}
         from (select * from halyard_flag_outbox where sink = $1 order by position limit $2) waiting
         left join halyard_flag_event event on event.id = waiting.event_ids[1]
         order by position`,
        [sink, max],
      );
      return rows.map((row) => ({
        entryId: String(row["entryId"]),
        event: row["eventId"] === null ? undefined : storedEventOf(row as unknown as StoredEventTexts),
        enqueuedAtMs: Number(row["ms"]),
      }));
    },
    async remove(sink, entryIds) {
      await ask("delete from halyard_flag_outbox where sink = $1 and position = any($2::bigint[])", [
        sink,
        [...entryIds],
      ]);
    },
    async count(sink) {
      const rows = await ask("select count(*)::float8 as n from halyard_flag_outbox where sink = $1", [sink]);
      return Number(rows[0]?.["n"] ?? 0);
    },
    async removeOthers(sinks, before) {
      const rows = await ask(
        `with gone as (
           delete from halyard_flag_outbox where (sink, position) in (
             select sink, position from halyard_flag_outbox
             where enqueued_at < $1 and sink <> '${STATISTICS}' and sink <> all($2::text[]) limit $3
           ) returning 1
         ) select count(*)::float8 as n from gone`,
        [before, [...sinks], MAX_REMOVED],
      );
      return Number(rows[0]?.["n"] ?? 0);
    },
  };
}
