/** The SQL statements that record events. Each is atomic and takes its locks in the order of the keys, to avoid deadlocks. */

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
  readonly hasOutbox: boolean;
}

/**
 * Inserts the keys of batches, the keys of events, the new events, and the roll-ups of those events. Returns the keys that
 * were stored before.
 */
export function recordStatement({ isRepeated, hasOutbox }: RecordOptions): Statement {
  return {
    name: `halyard_flag_record${isRepeated ? "_again" : ""}${hasOutbox ? "_outbox" : ""}`,
    text: record(isRepeated ? "on conflict (received_at, id) do nothing" : "", hasOutbox ? OUTBOX : ""),
  };
}

/** Replaces expired keys. `$25` is the current time; keys created up to `$26` are expired. */
const UNLESS_VALID = `on conflict (key_hash) do update set
    body_hash = excluded.body_hash, event_id = excluded.event_id, answer = excluded.answer, created_at = excluded.created_at
    where known.created_at <= $26::timestamptz
  returning key_hash`;

/** Needed because `least` and `greatest` ignore null. */
const VALUED = "where value is not null";

const OUTBOX = `, sent as (
  insert into halyard_flag_outbox (sink, event)
  select sink, outbox_text from input cross join unnest($27::text[]) as sink
  where id in (select id from stored)
  order by input_position
)`;

function record(onKnownEvent: string, outbox: string): string {
  return `with input as (
  select * from unnest(
    $1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::float8[], $9::json[],
    $10::timestamptz[], $11::timestamptz[], $12::float8[], $13::text[], $14::uuid[], $15::uuid[], $16::uuid[], $17::bool[],
    $18::text[], $19::text[], $20::text[], $21::text[]
  ) with ordinality as row (
    id, tenant, flag_key, event, variant, user_id, organization_id, value, properties,
    at, received_at, sample_rate, idempotency_key, key_hash, body_hash, batch_hash, is_sampled_out,
    outbox_text, flag_id, anonymous_id, subject, input_position
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
    at, received_at, sample_rate, idempotency_key, flag_id, anonymous_id, subject
  )
  select
    id, tenant, flag_key, event, coalesce(variant, ''), user_id, organization_id, value, properties,
    coalesce(at, received_at), received_at, coalesce(sample_rate, 1), idempotency_key, flag_id, anonymous_id, subject
  from input
  where is_sampled_out is null
    and (key_hash is null or key_hash in (select key_hash from new_key))
    and (batch_hash is null or batch_hash in (select key_hash from new_batch))
  ${onKnownEvent}
  returning id, tenant, flag_id, event, variant, at, value, sample_rate
), rolled_up as (
  insert into halyard_flag_event_hour as known (tenant, flag_id, hour, variant, event, shard, count, sum, valued)
  select
    tenant, coalesce(flag_id, ''), date_trunc('hour', at, 'UTC'), variant, event, pg_backend_pid() % 8,
    sum(1 / greatest(sample_rate, 1e-9)),
    coalesce(sum((least(greatest(value, -1e15), 1e15) / greatest(sample_rate, 1e-9))::numeric) filter (${VALUED}), 0),
    coalesce(sum(1 / greatest(sample_rate, 1e-9)) filter (${VALUED}), 0)
  from stored
  group by 1, 2, 3, 4, 5
  order by 1, 2, 3, 4, 5
  on conflict (tenant, flag_id, hour, variant, event, shard) do update set
    count = known.count + excluded.count, sum = known.sum + excluded.sum, valued = known.valued + excluded.valued
)${outbox}
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
export const ROW_HASH: string = "md5((arm, by_chance, subject, user_id, anonymous_id)::text)::uuid";

/** One row per user, flag, arm and hour, with its first and its last time. */
export const EXPOSE: Statement = {
  name: "halyard_flag_expose",
  text: `insert into halyard_flag_exposure as known (
  tenant, flag_id, hour, arm, by_chance, subject, user_id, anonymous_id, row_hash, first_at, last_at
)
select
  tenant, flag_id, date_trunc('hour', first_at, 'UTC'), arm, by_chance, subject, user_id, anonymous_id,
  ${ROW_HASH}, min(first_at), max(last_at)
from unnest(
  $1::text[], $2::text[], $3::text[], $4::bool[], $5::text[], $6::text[], $7::text[], $8::timestamptz[], $9::timestamptz[]
) as row (tenant, flag_id, arm, by_chance, subject, user_id, anonymous_id, first_at, last_at)
group by 1, 2, 3, 4, 5, 6, 7, 8
order by 2, 3, 9
on conflict (flag_id, hour, row_hash) do update set
  first_at = least(known.first_at, excluded.first_at), last_at = greatest(known.last_at, excluded.last_at)
  where excluded.first_at < known.first_at or excluded.last_at > known.last_at`,
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
