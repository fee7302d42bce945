/** Events by hand into the tables of our events: in groups, with the hourly roll-up in the same statement, without checks. */
import type { Pool } from "pg";

export interface BareEvent {
  readonly id: string;
  readonly flagKey: string;
  readonly event: string;
  readonly value: number;
  readonly properties: object;
  readonly userId: string;
  readonly at: string;
}

/** Same as ours: rows per group, concurrent groups, and how long a row waits while another group is written. */
export const GROUP_ROWS = 1000;
export const LANES = 4;
const WAIT_MS = 20;

const STATEMENT = `with stored as (
  insert into halyard_flag_event
    (id, tenant, flag_key, flag_id, event, user_id, subject, value, properties, at, received_at, sample_rate, environment)
  select id, '', flag_key, flag_key, event, user_id, user_id, value, properties, at, at, 1, ''
  from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::float8[], $6::json[], $7::timestamptz[])
    as row (id, flag_key, event, user_id, value, properties, at)
  on conflict do nothing
  returning flag_id, event, at
)
insert into halyard_flag_event_hour as known (tenant, flag_id, hour, event, count)
select '', flag_id, date_trunc('hour', at, 'UTC'), event, count(*)
from stored group by 2, 3, 4 order by 2, 3, 4
on conflict (tenant, flag_id, hour, event) do update set count = known.count + excluded.count`;

export async function insertGroup(pool: Pool, events: readonly BareEvent[]): Promise<void> {
  const values = [
    events.map(({ id }) => id),
    events.map(({ flagKey }) => flagKey),
    events.map(({ event }) => event),
    events.map(({ userId }) => userId),
    events.map(({ value }) => value),
    events.map(({ properties }) => JSON.stringify(properties)),
    events.map(({ at }) => at),
  ];
  await pool.query({ name: "bare_events", text: STATEMENT, values });
}

interface Waiting {
  readonly events: readonly BareEvent[];
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/** Resolves when the events are committed. */
export function createGroups(pool: Pool): (events: readonly BareEvent[]) => Promise<void> {
  const waiting: Waiting[] = [];
  let rows = 0;
  let running = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function schedule(): void {
    if (waiting.length === 0 || running === LANES) return;
    if (running === 0 || rows >= GROUP_ROWS) setImmediate(start);
    else timer ??= setTimeout(start, WAIT_MS);
  }

  function start(): void {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.length === 0 || running === LANES) return;
    const group = take();
    running += 1;
    void write(group).finally(() => {
      running -= 1;
      schedule();
    });
    schedule();
  }

  /** Never rejects. The waiting callers receive the error. */
  async function write(group: readonly Waiting[]): Promise<void> {
    try {
      await insertGroup(
        pool,
        group.flatMap(({ events }) => events),
      );
      for (const { done } of group) done();
    } catch (error) {
      for (const { failed } of group) failed(error);
    }
  }

  function take(): Waiting[] {
    let taken = 0;
    let end = 0;
    for (const { events } of waiting) {
      if (end > 0 && taken + events.length > GROUP_ROWS) break;
      taken += events.length;
      end += 1;
    }
    rows -= taken;
    return waiting.splice(0, end);
  }

  return (events) =>
    new Promise((done, failed) => {
      waiting.push({ events, done, failed });
      rows += events.length;
      schedule();
    });
}
