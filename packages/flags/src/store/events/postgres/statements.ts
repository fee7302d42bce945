/** The SQL statements that record events. Each is atomic and takes its locks in the order of the keys, to avoid deadlocks. */

import { STATISTICS } from "../storage.ts";

/** Timeout of a statement that writes, or that serves a delivery. Statistics and sweeps take longer. */
export const STATEMENT_TIMEOUT_MS: number = 10_000;

/** A statement and the name under which connections prepare it. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** The variants of the statement. */
export interface RecordOptions {
  /** An earlier attempt may have been committed, because its connection broke before the answer. */
  readonly isRepeated: boolean;
  readonly hasSinks: boolean;
}

/**
 * Inserts the keys of batches, the keys of events, the new events, and an outbox entry for each consumer: one with all
 * events for the statistics, one per event for each sink. Returns the keys that were stored before.
 */
export function recordStatement({ isRepeated, hasSinks }: RecordOptions): Statement {
  return {
    name: `halyard_flag_record${isRepeated ? "_again" : ""}${hasSinks ? "_sinks" : ""}`,
    text: record(isRepeated ? "on conflict (id) do nothing" : "", hasSinks ? SENT : ""),
  };
}

/** Replaces expired keys. `$25` is the current time; keys created up to `$26` are expired. */
const UNLESS_VALID = `on conflict (key_hash) do update set
    body_hash = excluded.body_hash, event_id = excluded.event_id, answer = excluded.answer, created_at = excluded.created_at
    where known.created_at <= $26::timestamptz
  returning key_hash`;

const SENT = `, sent as (
  insert into halyard_flag_outbox (sink, event_ids, enqueued_at)
  select sink, array[id], $25::timestamptz from input cross join unnest($27::text[]) as sink
  where id in (select id from stored)
  order by input_position
)`;

function record(onKnownEvent: string, sent: string): string {
  return `with input as (
  select * from unnest(
    $1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::float8[], $9::json[],
    $10::timestamptz[], $11::timestamptz[], $12::float8[], $13::text[], $14::uuid[], $15::uuid[], $16::uuid[], $17::bool[],
    $18::text[], $19::text[], $20::text[], $21::text[]
  ) with ordinality as row (
    id, tenant, flag_key, event, variant, user_id, organization_id, value, properties,
    at, received_at, sample_rate, idempotency_key, key_hash, body_hash, batch_hash, is_sampled_out,
    flag_id, anonymous_id, subject, environment, input_position
  )
), batch_input as (
  select * from unnest($22::uuid[], $23::uuid[], $24::text[]) as row (key_hash, body_hash, answer)
), new_batch as (
  insert into halyard_flag_key as known (key_hash, body_hash, answer, created_at)
  select key_hash, body_hash, answer, $25::timestamptz from batch_input order by key_hash
  ${UNLESS_VALID}
), new_key as (
  insert into halyard_flag_key as known (key_hash, body_hash, event_id, created_at)
  select key_hash, body_hash, id, $25::timestamptz from input
  where key_hash is not null and (batch_hash is null or batch_hash in (select key_hash from new_batch))
  order by key_hash
  ${UNLESS_VALID}
), stored as (
  insert into halyard_flag_event (
    id, tenant, flag_key, event, variant, user_id, organization_id, value, properties,
    at, received_at, sample_rate, idempotency_key, flag_id, anonymous_id, subject, environment
  )
  select
    id, tenant, flag_key, event, variant, user_id, organization_id, value, properties,
    coalesce(at, received_at), received_at, coalesce(sample_rate, 1), idempotency_key, flag_id, anonymous_id, subject,
    coalesce(environment, '')
  from input
  where is_sampled_out is null
    and (key_hash is null or key_hash in (select key_hash from new_key))
    and (batch_hash is null or batch_hash in (select key_hash from new_batch))
  ${onKnownEvent}
  returning id
), waiting as (
  insert into halyard_flag_outbox (sink, event_ids, enqueued_at)
  select '${STATISTICS}', array_agg(id), $25::timestamptz from stored having count(*) > 0
)${sent}
select key_hash from input where key_hash is not null and key_hash not in (select key_hash from new_key)
union all
select key_hash from batch_input where key_hash not in (select key_hash from new_batch)`;
}

/** Reads stored keys. A separate statement, because the snapshot of the first one does not show keys that it waited for. */
export const LOOK_UP: Statement = {
  name: "halyard_flag_look_up",
  text: `select key_hash, body_hash, event_id, answer from halyard_flag_key where key_hash = any($1::uuid[])`,
};

export const KEEP_ANSWERS: Statement = {
  name: "halyard_flag_keep_answers",
  text: `update halyard_flag_key as key set answer = new.answer
from (select * from unnest($1::uuid[], $2::text[]) as row (key_hash, answer) order by key_hash) as new
where key.key_hash = new.key_hash`,
};

/** What identifies an exposure of a flag in an hour, in the order of the columns. */
const ROW_HASH = "md5((arm, by_chance, subject, user_id, anonymous_id, environment)::text)::uuid";

/** Whether the exposure is the subject's first. In the same moment, one by chance comes first. */
const IS_FIRST =
  "(excluded.first_at, not excluded.by_chance, excluded.arm) < (known.first_at, not known.by_chance, known.arm)";
const orFirst = (column: string) =>
  `${column} = case when ${IS_FIRST} then excluded.${column} else known.${column} end`;

/** One row per user, flag, environment, arm and hour, with its first and its last time, and one row per subject. */
export const EXPOSE: Statement = {
  name: "halyard_flag_expose",
  text: `with shown as (
  select * from unnest(
    $1::text[], $2::text[], $3::text[], $4::bool[], $5::text[], $6::text[], $7::text[], $8::timestamptz[],
    $9::timestamptz[], $10::text[]
  ) as row (tenant, flag_id, arm, by_chance, subject, user_id, anonymous_id, first_at, last_at, environment)
), stored as (
  insert into halyard_flag_exposure as known (
    tenant, flag_id, hour, arm, by_chance, subject, user_id, anonymous_id, environment, row_hash, first_at, last_at
  )
  select
    tenant, flag_id, date_trunc('hour', first_at, 'UTC'), arm, by_chance, subject, user_id, anonymous_id, environment,
    ${ROW_HASH}, min(first_at), max(last_at)
  from shown
  group by 1, 2, 3, 4, 5, 6, 7, 8, 9
  order by 2, 3, 10
  on conflict (flag_id, hour, row_hash) do update set
    first_at = least(known.first_at, excluded.first_at), last_at = greatest(known.last_at, excluded.last_at)
    where excluded.first_at < known.first_at or excluded.last_at > known.last_at
)
insert into halyard_flag_subject as known (flag_id, environment, subject, arm, by_chance, first_at, last_at)
select distinct on (flag_id, environment, subject)
  flag_id, environment, subject, arm, by_chance, first_at, max(last_at) over (partition by flag_id, environment, subject)
from shown where subject <> ''
order by flag_id, environment, subject, first_at, by_chance desc, arm
on conflict (flag_id, environment, subject) do update set
  ${orFirst("arm")}, ${orFirst("by_chance")}, ${orFirst("first_at")}, last_at = greatest(known.last_at, excluded.last_at)
  where ${IS_FIRST} or excluded.last_at >= known.last_at + $11::float8 * interval '1 ms'`,
};

/** Entries that one statement folds. An entry has the events of one group. */
export const FOLDED_ENTRIES: number = 16;
/** One process folds at a time, because all of them add to the same rows. */
const FOLD_LOCK = "hashtext('halyard_flag_fold')";
const lockFor = (waits: boolean) =>
  waits
    ? `select true from pg_advisory_xact_lock(${FOLD_LOCK})`
    : `select pg_try_advisory_xact_lock(${FOLD_LOCK})`;

/**
 * Removes the oldest outbox entries of the statistics, adds their events to the hourly counts, and prolongs the rows of their
 * subjects, whose ids may follow from a link. Returns the number of removed entries.
 */
export function foldStatement(waits: boolean): Statement {
  return {
    name: `halyard_flag_fold${waits ? "_wait" : ""}`,
    text: `with taken as (
  delete from halyard_flag_outbox where sink = '${STATISTICS}' and position in (
    select position from halyard_flag_outbox
    where sink = '${STATISTICS}' and (${lockFor(waits)}) order by position limit ${FOLDED_ENTRIES}
  )
  returning event_ids
), happened as (
  select tenant, flag_id, event, at, greatest(sample_rate, 1e-9) as rate, environment, subject, user_id, anonymous_id
  from halyard_flag_event where id in (select unnest(event_ids) from taken)
), counted as (
  insert into halyard_flag_event_hour as known (tenant, flag_id, hour, event, count)
  select tenant, coalesce(flag_id, ''), date_trunc('hour', at, 'UTC'), event, sum(1 / rate)
  from happened group by 1, 2, 3, 4 order by 1, 2, 3, 4
  on conflict (tenant, flag_id, hour, event) do update set count = known.count + excluded.count
), used as (
  select flag_id, environment, subject, max(at) as at from (
    select flag_id, environment, subject, at from happened where subject <> ''
    union all
    select flag_id, environment, link.user_id, happened.at
    from happened join halyard_flag_link link using (anonymous_id) where subject is null
    union all
    select flag_id, environment, link.anonymous_id, happened.at
    from happened join halyard_flag_link link using (user_id) where subject is null
  ) as uses group by 1, 2, 3
), due as (
  select known.flag_id, known.environment, known.subject, used.at
  from halyard_flag_subject known join used using (flag_id, environment, subject)
  where used.at >= known.last_at + $1::float8 * interval '1 ms'
  order by 1, 2, 3 for update of known
), prolonged as (
  update halyard_flag_subject as known set last_at = greatest(known.last_at, due.at) from due
  where (known.flag_id, known.environment, known.subject) = (due.flag_id, due.environment, due.subject)
)
select count(*)::float8 as entries from taken`,
  };
}

/** Float, because hosts may change how `pg` parses times and large numbers. */
export const WAITING_SINCE: Statement = {
  name: "halyard_flag_waiting",
  text: `select extract(epoch from min(enqueued_at))::float8 * 1000 as ms from halyard_flag_outbox
where sink = '${STATISTICS}'`,
};

/** The first link of an anonymous id stays. */
export const LINK: Statement = {
  name: "halyard_flag_link",
  text: `insert into halyard_flag_link (anonymous_id, user_id, at)
select distinct on (anonymous_id) anonymous_id, user_id, at
from unnest($1::text[], $2::text[], $3::timestamptz[]) as row (anonymous_id, user_id, at)
order by anonymous_id, at
on conflict do nothing`,
};

/** `$6` is the id of these counts, so that they are added once. `$7` is the current time. */
export const COUNT: Statement = {
  name: "halyard_flag_count",
  text: `with new_key as (
  insert into halyard_flag_key (key_hash, body_hash, created_at) values ($6::uuid, $6::uuid, $7::timestamptz)
  on conflict do nothing
  returning key_hash
)
insert into halyard_flag_evaluation_hour as known (tenant, flag_id, hour, reason, shard, count)
select tenant, flag_id, hour, reason, pg_backend_pid() % 8, sum(count)
from unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::float8[])
  as row (tenant, flag_id, hour, reason, count)
where exists (select from new_key)
group by 1, 2, 3, 4
order by 1, 2, 3, 4
on conflict (tenant, flag_id, hour, reason, shard) do update set count = known.count + excluded.count`,
};
