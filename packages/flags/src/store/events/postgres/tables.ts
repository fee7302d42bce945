/** The SQL text that creates the tables of the option `postgres`. */

/**
 * SQL that creates the tables of the option `postgres`. Run it once before each deploy; running it again changes nothing.
 * It creates them in the first schema of the connection's `search_path`.
 *
 * ```ts
 * import { featureFlagsPostgresMigration } from "@halyard/flags";
 * import { Pool } from "pg";
 *
 * const pool = new Pool();
 * await pool.query(featureFlagsPostgresMigration);
 * await pool.end();
 * ```
 */
export const featureFlagsPostgresMigration: string = `-- Concurrent deploys wait for each other.
select pg_advisory_xact_lock(hashtext('halyard_flag'));

-- Idempotency keys: 128 bits each of the SHA-256 of the key in its scope, and of the body it was sent with.
create table if not exists halyard_flag_key (
  key_hash uuid primary key,
  body_hash uuid not null,
  event_id uuid,
  -- The answer of a batch, if it does not follow from the keys of its events.
  answer text,
  created_at timestamptz not null
);
create index if not exists halyard_flag_key_created_at on halyard_flag_key (created_at);

create table if not exists halyard_flag_event (
  -- Version 7, which begins with the time of receipt.
  id uuid primary key,
  tenant text collate "C" not null,
  -- Null if the event is about no flag.
  flag_key text collate "C",
  event text collate "C" not null,
  variant text collate "C",
  user_id text collate "C",
  organization_id text,
  value float8,
  properties json,
  at timestamptz not null,
  received_at timestamptz not null,
  sample_rate float8 not null,
  idempotency_key text,
  -- Null if the flag does not exist.
  flag_id text collate "C",
  anonymous_id text collate "C",
  -- The id of the flag's bucketing unit: null if the event lacks it, empty if the sender is not a subject.
  subject text collate "C",
  -- Empty if there is none.
  environment text collate "C" not null
);
create index if not exists halyard_flag_event_flag on halyard_flag_event (flag_id, received_at);

-- The events of one name in an hour.
create table if not exists halyard_flag_event_hour (
  tenant text collate "C" not null,
  -- Empty if the flag does not exist.
  flag_id text collate "C" not null,
  hour timestamptz not null,
  event text collate "C" not null,
  count float8 not null,
  primary key (tenant, flag_id, hour, event)
) with (fillfactor = 70);
create index if not exists halyard_flag_event_hour_hour on halyard_flag_event_hour (hour);

-- Shards, so that concurrent writers do not wait for each other's rows.
create table if not exists halyard_flag_evaluation_hour (
  tenant text collate "C" not null,
  flag_id text collate "C" not null,
  hour timestamptz not null,
  reason text collate "C" not null,
  shard smallint not null,
  count float8 not null,
  primary key (tenant, flag_id, hour, reason, shard)
) with (fillfactor = 70);
create index if not exists halyard_flag_evaluation_hour_hour on halyard_flag_evaluation_hour (hour);

-- One row per user, flag, environment, arm and hour.
create table if not exists halyard_flag_exposure (
  tenant text collate "C" not null,
  flag_id text collate "C" not null,
  hour timestamptz not null,
  arm text collate "C" not null,
  -- Whether chance decided the arm.
  by_chance boolean not null,
  -- The id of the flag's bucketing unit, if there is one.
  subject text collate "C",
  user_id text collate "C",
  anonymous_id text collate "C",
  environment text collate "C" not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  -- The MD5 of arm, by_chance, environment and the ids, which may be too long for an index.
  row_hash uuid not null,
  primary key (flag_id, hour, row_hash)
) with (fillfactor = 80);
create index if not exists halyard_flag_exposure_hour on halyard_flag_exposure (hour);

-- The first exposure of each subject to a flag in an environment, which events are credited to.
create table if not exists halyard_flag_subject (
  flag_id text collate "C" not null,
  environment text collate "C" not null,
  subject text collate "C" not null,
  arm text collate "C" not null,
  by_chance boolean not null,
  first_at timestamptz not null,
  -- The last exposure or event, exact to a day.
  last_at timestamptz not null,
  primary key (flag_id, environment, subject)
) with (fillfactor = 80);
create index if not exists halyard_flag_subject_last on halyard_flag_subject (last_at);

-- The user who signed in first in the browser with an anonymous id.
create table if not exists halyard_flag_link (
  anonymous_id text collate "C" primary key,
  user_id text collate "C" not null,
  at timestamptz not null
);
create index if not exists halyard_flag_link_user on halyard_flag_link (user_id, at);
create index if not exists halyard_flag_link_at on halyard_flag_link (at);

-- Events that wait for a consumer, a sink or the statistics, in the order of their position.
create table if not exists halyard_flag_outbox (
  sink text collate "C" not null,
  position bigint generated always as identity,
  event_ids uuid[] not null,
  enqueued_at timestamptz not null,
  primary key (sink, position)
);
`;
