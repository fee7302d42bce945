/** Deletes rows past their retention on PostgreSQL, in chunks that block no other statement. */
import { type PostgresPool, runQuery } from "../../postgres/pool.ts";
import { DAY_MS } from "../hour.ts";
import { KEY_LIFE_MS, type Retention } from "../limits.ts";

const CHUNK = 5000;
/** Chunks per table and sweep. */
const MAX_CHUNKS = 200;
const TIMEOUT_MS = 30_000;

/** Returns false if rows are left for another sweep. */
export async function sweepPostgres(
  pool: PostgresPool,
  nowMs: number,
  { eventDays, rollupDays }: Retention,
): Promise<boolean> {
  const before = (ageMs: number) => new Date(nowMs - ageMs).toISOString();
  const events = before(eventDays * DAY_MS);
  const rollups = before(rollupDays * DAY_MS);
  const limits = [
    ["halyard_flag_key", "created_at", before(KEY_LIFE_MS)],
    ["halyard_flag_event", "received_at", events],
    ["halyard_flag_exposure", "hour", events],
    ["halyard_flag_link", "at", rollups],
    ["halyard_flag_event_hour", "hour", rollups],
    ["halyard_flag_evaluation_hour", "hour", rollups],
  ] as const;
  let isDone = true;
  for (const [table, column, limit] of limits) {
    if (!(await deleteBefore(pool, table, column, limit))) isDone = false;
  }
  return isDone;
}

/** Deletes everything that is stored about a flag. */
export async function forgetFlag(pool: PostgresPool, flagId: string): Promise<void> {
  for (const table of OF_FLAGS) {
    const text = `with gone as (
  delete from ${table} where ctid = any(array(select ctid from ${table} where flag_id = $1 limit ${CHUNK})) returning 1
)
select count(*)::float8 as gone from gone`;
    for (;;) {
      const [row] = await runQuery(pool, TIMEOUT_MS, { text, values: [flagId] });
      if (Number(row?.["gone"] ?? 0) < CHUNK) break;
    }
  }
}

/** Tables with rows about single flags. */
const OF_FLAGS = [
  "halyard_flag_exposure",
  "halyard_flag_event",
  "halyard_flag_event_hour",
  "halyard_flag_evaluation_hour",
] as const;

async function deleteBefore(
  pool: PostgresPool,
  table: string,
  column: string,
  limit: string,
): Promise<boolean> {
  // Concurrent sweeps of several processes take different rows.
  const text = `with old as (
  select ctid from ${table} where ${column} < $1 order by ${column} limit ${CHUNK} for update skip locked
), gone as (
  delete from ${table} where ctid = any(array(select ctid from old)) returning 1
)
select count(*)::float8 as gone from gone`;
  for (let chunk = 0; chunk < MAX_CHUNKS; chunk++) {
    const [row] = await runQuery(pool, TIMEOUT_MS, { text, values: [limit] });
    if (Number(row?.["gone"] ?? 0) < CHUNK) return true;
  }
  return false;
}
