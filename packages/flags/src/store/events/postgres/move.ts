/**
 * Moves what the event log on the adapter has stored into the tables of the option `postgres`, when the option is switched
 * on: idempotency keys, waiting deliveries, roll-ups, exposures, links and events. Each statement deletes the rows that it
 * inserts, so processes may run it at the same time and again.
 */
import type { HostTables } from "../../postgres/host-tables.ts";
import type { Move } from "../mover.ts";
import { claimLog, isLogInUse } from "./log-in-use.ts";
import { ROW_HASH } from "./statements.ts";

const MODELS = {
  key: "featureFlagEventKey",
  outbox: "featureFlagOutbox",
  eventCount: "featureFlagEventCount",
  evaluationCount: "featureFlagEvaluationCount",
  exposure: "featureFlagExposure",
  link: "featureFlagLink",
  event: "featureFlagEvent",
} as const;

/** The first move may find the rows of months. */
const TIMEOUT_MS = 300_000;
const EVENTS_TIMEOUT_MS = 30_000;
/** Events per statement. Nothing waits for them. */
const CHUNK = 5000;

export function createMove(tables: HostTables): Move {
  /** The rows that are deleted, with the names of the model's fields. */
  function moved(model: string, fields: readonly string[], where = ""): string {
    const columns = fields.map((field) => `${tables.column(model, field)} as "${field}"`);
    return `with moved as (delete from ${tables.table(model)} ${where} returning ${columns.join(", ")})`;
  }

  // Without parameters, so that PostgreSQL runs them in one transaction.
  const pending = [
    `${moved(MODELS.key, ["keyHash", "bodyHash", "answer", "expiresAt"])}
    insert into halyard_flag_key (key_hash, body_hash, event_id, answer, created_at)
    select
      ${uuidOf('"keyHash"')}, ${uuidOf(`coalesce(nullif("bodyHash", ''), "keyHash")`)},
      case when answer like '"%' then trim(both '"' from answer)::uuid end,
      case when answer like '{%' then answer end,
      "expiresAt"::timestamptz - interval '48 hours'
    from moved where "expiresAt"::timestamptz > now() order by 1
    on conflict do nothing`,

    `${moved(MODELS.outbox, ["entryId", "sink", "event", "enqueuedAt"])}
    insert into halyard_flag_outbox (sink, event, enqueued_at)
    select sink, event, "enqueuedAt"::timestamptz from moved order by "entryId"`,

    `${moved(MODELS.eventCount, ["rollupId", "tenant", "flagId", "variant", "event", "count", "valued", "sumUnits", "sumMillionths"])}
    insert into halyard_flag_event_hour as known (tenant, flag_id, hour, variant, event, shard, count, sum, valued)
    select
      tenant, "flagId", ${HOUR}, variant, event, 0, sum(count)::float8 / 1e6,
      sum("sumUnits"::numeric) + sum("sumMillionths"::numeric) / 1000000, sum(valued)::float8 / 1e6
    from moved group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
    on conflict (tenant, flag_id, hour, variant, event, shard) do update set
      count = known.count + excluded.count, sum = known.sum + excluded.sum, valued = known.valued + excluded.valued`,

    `${moved(MODELS.evaluationCount, ["rollupId", "tenant", "flagId", "ruleMatch", "override", "percentageRollout", "byDefault", "disabled"])}
    insert into halyard_flag_evaluation_hour as known (tenant, flag_id, hour, reason, shard, count)
    select tenant, "flagId", ${HOUR}, counts.reason, 0, sum(counts.count)::float8
    from moved cross join lateral (values
      ('rule_match', "ruleMatch"), ('override', "override"), ('percentage_rollout', "percentageRollout"),
      ('default', "byDefault"), ('disabled', "disabled")
    ) as counts (reason, count)
    where counts.count > 0 group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (tenant, flag_id, hour, reason, shard) do update set count = known.count + excluded.count`,

    `${moved(MODELS.exposure, ["tenant", "flagId", "variant", "byChance", "subject", "userId", "anonymousId", "firstAt", "lastAt"])},
    shown as (
      select
        tenant, "flagId" as flag_id, date_trunc('hour', "firstAt"::timestamptz, 'UTC') as hour, variant as arm,
        "byChance" as by_chance, subject, nullif("userId", '') as user_id, "anonymousId" as anonymous_id,
        "firstAt"::timestamptz as first_at, "lastAt"::timestamptz as last_at
      from moved
    )
    insert into halyard_flag_exposure as known (
      tenant, flag_id, hour, arm, by_chance, subject, user_id, anonymous_id, row_hash, first_at, last_at
    )
    select
      tenant, flag_id, hour, arm, by_chance, subject, user_id, anonymous_id, ${ROW_HASH}, min(first_at), max(last_at)
    from shown group by 1, 2, 3, 4, 5, 6, 7, 8 order by 2, 3, 9
    on conflict (flag_id, hour, row_hash) do update set
      first_at = least(known.first_at, excluded.first_at), last_at = greatest(known.last_at, excluded.last_at)`,

    `${moved(MODELS.link, ["anonymousId", "userId", "at"])}
    insert into halyard_flag_link (anonymous_id, user_id, at)
    select distinct on ("anonymousId") "anonymousId", "userId", at::timestamptz from moved order by "anonymousId", at
    on conflict do nothing`,
  ].join(";\n");

  const eventFields = [
    ["eventId", "tenant", "flagKey", "event", "variant", "userId", "organizationId", "value", "properties"],
    ["at", "receivedAt", "sampleRate", "idempotencyKey", "flagId", "anonymousId", "subject"],
  ].flat();
  const table = tables.table(MODELS.event);
  const some = `where ctid = any (array(select ctid from ${table} limit ${CHUNK}))`;
  const events = `${moved(MODELS.event, eventFields, some)}, stored as (
    insert into halyard_flag_event (
      id, tenant, flag_key, event, variant, user_id, organization_id, value, properties,
      at, received_at, sample_rate, idempotency_key, flag_id, anonymous_id, subject
    )
    select
      "eventId"::uuid, tenant, "flagKey", event, coalesce(variant, ''), "userId", "organizationId", value::float8,
      properties::json, at::timestamptz, "receivedAt"::timestamptz, "sampleRate"::float8, "idempotencyKey",
      "flagId", "anonymousId", subject
    from moved
    on conflict do nothing
  ) select count(*)::float8 as n from moved`;

  return {
    async start() {
      await tables.query(TIMEOUT_MS, `${claimLog("postgres")};\n${pending}`);
    },
    isInUse: () => isLogInUse(tables, "postgres"),
    async pending() {
      await tables.query(TIMEOUT_MS, pending);
    },
    async someEvents() {
      const [row] = await tables.query(EVENTS_TIMEOUT_MS, events);
      return Number(row?.["n"] ?? 0) === CHUNK;
    },
  };
}

/** The first 128 bits of a hash, or a UUID. */
function uuidOf(hash: string): string {
  return `left(replace(${hash}, '-', ''), 32)::uuid`;
}

/** The id of a roll-up begins with its hour, such as 2030013112. */
const part = (from: number, length: number) => `substr("rollupId", ${from}, ${length})::int`;
const HOUR = `make_timestamptz(${part(1, 4)}, ${part(5, 2)}, ${part(7, 2)}, ${part(9, 2)}, 0, 0, 'UTC')`;
