/** Deletes rows past their retention on PostgreSQL, in chunks that block no other statement. */
import { type PostgresPool, runQuery } from "../../postgres/pool.ts";
import { DAY_MS } from "../hour.ts";
import { idFloor } from "../ids.ts";
import { KEY_LIFE_MS, OUTBOX_MARGIN_MS, type Retention, SUBJECT_SLACK_MS } from "../limits.ts";

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
  const eventsMs = eventDays * DAY_MS;
  const [waiting] = await runQuery(pool, TIMEOUT_MS, { text: OLDEST_WAITING });
  const waitingMs = Number(waiting?.["ms"] ?? Number.POSITIVE_INFINITY) - OUTBOX_MARGIN_MS;
  const rollups = before(rollupDays * DAY_MS);
  const limits = [
    ["halyard_flag_key", "created_at", before(KEY_LIFE_MS)],
    ["halyard_flag_event", "id", eventIdFloor(Math.min(nowMs - eventsMs, waitingMs))],
    ["halyard_flag_exposure", "hour", before(eventsMs)],
    ["halyard_flag_subject", "last_at", before(eventsMs + SUBJECT_SLACK_MS)],
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

/** Events that wait for a consumer are kept. */
const OLDEST_WAITING =
  "select extract(epoch from min(enqueued_at))::float8 * 1000 as ms from halyard_flag_outbox";

/** The least id of an event that is received at this time. */
function eventIdFloor(ms: number): string {
  return `${idFloor(ms)}-0000-0000-000000000000`;
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
  "halyard_flag_subject",
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
