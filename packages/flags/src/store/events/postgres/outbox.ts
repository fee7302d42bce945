/** The outbox in a PostgreSQL table of the option `postgres`. */
import { type PostgresPool, runQuery, storageError } from "../../postgres/pool.ts";
import type { Outbox } from "../sinks/outbox.ts";
import { STATEMENT_TIMEOUT_MS } from "./statements.ts";

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
        `select position::text as id, event, (extract(epoch from enqueued_at) * 1000)::float8 as ms
         from halyard_flag_outbox where sink = $1 order by position limit $2`,
        [sink, max],
      );
      return rows.map(({ id, event, ms }) => ({
        entryId: String(id),
        event: String(event),
        enqueuedAtMs: Number(ms),
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
             where enqueued_at < $1 and sink <> all($2::text[]) limit $3
           ) returning 1
         ) select count(*)::float8 as n from gone`,
        [before, [...sinks], MAX_REMOVED],
      );
      return Number(rows[0]?.["n"] ?? 0);
    },
  };
}
