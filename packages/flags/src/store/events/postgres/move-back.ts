/**
 * Moves the rows of the option `postgres` back into the tables of the adapter, when the option is switched off. The
 * counterpart of `move.ts`: each statement deletes the rows that it inserts.
 */
import type { HostTables } from "../../postgres/host-tables.ts";
import type { Move } from "../mover.ts";
import { claimLog, isLogInUse } from "./log-in-use.ts";

/** The first move may find the rows of months. */
const TIMEOUT_MS = 300_000;
const EVENTS_TIMEOUT_MS = 30_000;
/** Events per statement. Nothing waits for them. */
const CHUNK = 5000;

export function createMoveBack(tables: HostTables): Move {
  /** Fields of the model and what is inserted into them. `gen_random_uuid()` also fits a text column. */
  function insert(model: string, values: Readonly<Record<string, string>>): string {
    const columns = Object.keys(values).map((field) => tables.column(model, field));
    return `insert into ${tables.table(model)} as known (${tables.column(model, "id")}, ${columns.join(", ")})
    select gen_random_uuid(), ${Object.values(values).join(", ")}`;
  }

  /** Adds to a row that exists. */
  function orAdd(model: string, key: string, fields: readonly string[]): string {
    const column = (field: string) => tables.column(model, field);
    const sums = fields.map(
      (field) => `${column(field)} = known.${column(field)} + excluded.${column(field)}`,
    );
    return `on conflict (${column(key)}) do update set ${sums.join(", ")}`;
  }

  /** Widens the times of an exposure that exists. */
  function widened(field: string, choose: "least" | "greatest"): string {
    const column = tables.column("featureFlagExposure", field);
    return `${column} = ${choose}(known.${column}, excluded.${column})`;
  }

  const key = "featureFlagEventKey";
  const outbox = "featureFlagOutbox";
  const eventCount = "featureFlagEventCount";
  const evaluationCount = "featureFlagEvaluationCount";
  const exposure = "featureFlagExposure";

  // Without parameters, so that PostgreSQL runs them in one transaction.
  const pending = [
    // The tables of this option keep 128 bits of each hash, and the adapter's log compares only those.
    `with moved as (delete from halyard_flag_key returning *)
    ${insert(key, {
      keyHash: "replace(key_hash::text, '-', '')",
      bodyHash: "replace(body_hash::text, '-', '')",
      answer: "coalesce(answer, to_json(event_id::text)::text, '')",
      expiresAt: iso("created_at + interval '48 hours'"),
    })}
    from moved where created_at + interval '48 hours' > now() order by key_hash
    on conflict do nothing`,

    `with moved as (delete from halyard_flag_outbox returning *)
    ${insert(outbox, {
      entryId: `${hexMs("enqueued_at")} || '-' || lpad(to_hex(position), 12, '0') || '-' || left(md5(random()::text), 8)`,
      sink: "sink",
      event: "event",
      enqueuedAt: iso("enqueued_at"),
    })}
    from moved`,

    `with moved as (delete from halyard_flag_event_hour returning *), summed as (
      select tenant, flag_id, hour, variant, event, sum(count) as count, sum(valued) as valued, sum(sum) as total
      from moved group by 1, 2, 3, 4, 5
    )
    ${insert(eventCount, {
      rollupId: rollupId(["tenant", "flag_id", "variant", "event"]),
      tenant: "tenant",
      flagId: "flag_id",
      variant: "variant",
      event: "event",
      count: integer("count * 1e6"),
      valued: integer("valued * 1e6"),
      sumUnits: integer("trunc(total)"),
      sumMillionths: integer("(total - trunc(total)) * 1000000"),
    })}
    from summed order by 2
    ${orAdd(eventCount, "rollupId", ["count", "valued", "sumUnits", "sumMillionths"])}`,

    `with moved as (delete from halyard_flag_evaluation_hour returning *)
    ${insert(evaluationCount, {
      rollupId: rollupId(["tenant", "flag_id"]),
      tenant: "tenant",
      flagId: "flag_id",
      ruleMatch: ofReason("rule_match"),
      override: ofReason("override"),
      percentageRollout: ofReason("percentage_rollout"),
      byDefault: ofReason("default"),
      disabled: ofReason("disabled"),
    })}
    from moved group by tenant, flag_id, hour order by 2
    ${orAdd(evaluationCount, "rollupId", ["ruleMatch", "override", "percentageRollout", "byDefault", "disabled"])}`,

    `with moved as (
      delete from halyard_flag_exposure returning *, gen_random_uuid()::text as random
    )
    ${insert(exposure, {
      exposureId: uuidV7("hour", "random"),
      exposureHash: sha256([
        iso("hour"),
        "tenant",
        "flag_id",
        "arm",
        "by_chance",
        "subject",
        "user_id",
        "anonymous_id",
      ]),
      tenant: "tenant",
      flagId: "flag_id",
      variant: "arm",
      byChance: "by_chance",
      subject: "subject",
      userId: "coalesce(user_id, '')",
      anonymousId: "anonymous_id",
      firstAt: iso("first_at"),
      lastAt: iso("last_at"),
    })}
    from moved order by 3
    on conflict (${tables.column(exposure, "exposureHash")}) do update set
      ${widened("firstAt", "least")}, ${widened("lastAt", "greatest")}`,

    `with moved as (delete from halyard_flag_link returning *)
    ${insert("featureFlagLink", {
      linkHash: "encode(sha256(convert_to(anonymous_id, 'UTF8')), 'hex')",
      anonymousId: "anonymous_id",
      userId: "user_id",
      at: iso("at"),
    })}
    from moved order by 2
    on conflict do nothing`,
  ].join(";\n");

  const events = `with moved as (
    delete from halyard_flag_event
    where ctid = any (array(select ctid from halyard_flag_event limit ${CHUNK})) returning *
  ), stored as (
    ${insert("featureFlagEvent", {
      eventId: "id::text",
      tenant: "tenant",
      flagKey: "flag_key",
      event: "event",
      variant: "nullif(variant, '')",
      userId: "user_id",
      organizationId: "organization_id",
      value: "value::text",
      properties: "properties::text",
      at: iso("at"),
      receivedAt: iso("received_at"),
      sampleRate: "sample_rate::text",
      idempotencyKey: "idempotency_key",
      flagId: "flag_id",
      anonymousId: "anonymous_id",
      subject: "subject",
    })}
    from moved on conflict do nothing
  ) select count(*)::float8 as n from moved`;

  /** The option may never have been on. */
  async function hasTables(): Promise<boolean> {
    const [row] = await tables.query(EVENTS_TIMEOUT_MS, "select to_regclass('halyard_flag_log') as name");
    return typeof row?.["name"] === "string";
  }

  return {
    async start() {
      if (await hasTables()) await tables.query(TIMEOUT_MS, `${claimLog("adapter")};\n${pending}`);
    },
    isInUse: async () => (await hasTables()) && isLogInUse(tables, "adapter"),
    async pending() {
      await tables.query(TIMEOUT_MS, pending);
    },
    async someEvents() {
      const [row] = await tables.query(EVENTS_TIMEOUT_MS, events);
      return Number(row?.["n"] ?? 0) === CHUNK;
    },
  };
}

/** ISO 8601 as JavaScript writes it. */
function iso(time: string): string {
  return `to_char((${time}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/** The time in ms, as 12 hexadecimal digits. */
function hexMs(time: string): string {
  return `lpad(to_hex(floor(extract(epoch from ${time}) * 1000)::bigint), 12, '0')`;
}

/** The SHA-256 of texts and booleans as a JSON array, in hex. */
function sha256(texts: readonly string[]): string {
  const json = texts.map((text) => `coalesce(to_json(${text})::text, 'null')`).join(" || ',' || ");
  return `encode(sha256(convert_to('[' || ${json} || ']', 'UTF8')), 'hex')`;
}

function rollupId(texts: readonly string[]): string {
  return `to_char(hour at time zone 'UTC', 'YYYYMMDDHH24') || left(${sha256(texts)}, 40)`;
}

/** Within the safe integers of JavaScript. */
function integer(amount: string): string {
  return `least(greatest(round(${amount}), -8e15), 8e15)::bigint`;
}

function ofReason(reason: string): string {
  return integer(`coalesce(sum(count) filter (where reason = '${reason}'), 0)`);
}

/** A UUID of version 7 with this time, from one of version 4. */
function uuidV7(time: string, random: string): string {
  const hex = hexMs(time);
  return `left(${hex}, 8) || '-' || right(${hex}, 4) || '-7' || substr(${random}, 16, 3) || '-' || substr(${random}, 20)`;
}
