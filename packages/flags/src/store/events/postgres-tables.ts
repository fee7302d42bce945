/** The tables behind the option `postgres`, as SQL that its user runs. */
import { POSTGRES_OUTBOX_SQL } from "./outbox.ts";

/**
 * The tables that the option `postgres` needs, as SQL to run once before each deploy. Running it again changes nothing.
 * They are made in the first schema of the connection's `search_path`.
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
export const featureFlagsPostgresMigration: string = `-- Two deploys at once wait for each other.
select pg_advisory_xact_lock(hashtext('halyard_flag'));

-- Idempotency keys: 128 bits each of the SHA-256 of the key in its scope, and of the body it was sent with.
create table if not exists halyard_flag_key (
  key_hash uuid primary key,
  body_hash uuid not null,
  event_id uuid,
  -- Of a batch: what was answered, once that is known.
  answer text,
  created_at timestamptz not null
);
create index if not exists halyard_flag_key_created_at on halyard_flag_key (created_at);

create table if not exists halyard_flag_event (
  id uuid not null,
  tenant text collate "C" not null,
  flag_key text collate "C" not null,
  event text collate "C" not null,
  variant text collate "C" not null,
  user_id text,
  organization_id text,
  value float8,
  properties json,
  at timestamptz not null,
  received_at timestamptz not null,
  sample_rate float8 not null,
  idempotency_key text,
  primary key (received_at, id)
);

-- The roll-ups are split into shards, so that those who write at the same time do not wait for each other's rows.
create table if not exists halyard_flag_event_hour (
  tenant text collate "C" not null,
  flag_key text collate "C" not null,
  hour timestamptz not null,
  variant text collate "C" not null,
  event text collate "C" not null,
  shard smallint not null,
  count float8 not null,
  -- Decimal, so that a thousand times 0.1 is 100.
  sum numeric not null,
  valued float8 not null,
  primary key (tenant, flag_key, hour, variant, event, shard)
) with (fillfactor = 70);
create index if not exists halyard_flag_event_hour_hour on halyard_flag_event_hour (hour);

create table if not exists halyard_flag_evaluation_hour (
  tenant text collate "C" not null,
  flag_key text collate "C" not null,
  hour timestamptz not null,
  reason text collate "C" not null,
  shard smallint not null,
  count float8 not null,
  primary key (tenant, flag_key, hour, reason, shard)
) with (fillfactor = 70);
create index if not exists halyard_flag_evaluation_hour_hour on halyard_flag_evaluation_hour (hour);

-- One row per user, flag, variant and day.
create table if not exists halyard_flag_exposure (
  tenant text collate "C" not null,
  flag_key text collate "C" not null,
  day date not null,
  variant text collate "C" not null,
  user_id text collate "C" not null,
  at timestamptz not null,
  primary key (tenant, flag_key, day, variant, user_id)
);
create index if not exists halyard_flag_exposure_day on halyard_flag_exposure (day);

-- Events on their way to sinks.
${POSTGRES_OUTBOX_SQL}
`;
