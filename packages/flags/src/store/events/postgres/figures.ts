/** Reads statistics from roll-ups and exposures on PostgreSQL. */
import type { EvaluationReason } from "../../../engine/definition.ts";
import { type PostgresPool, type PostgresRow, runQuery } from "../../postgres/pool.ts";
import type { EventLog, FigureWindow, FlagFigures } from "../event-log.ts";
import { hourOf } from "../hour.ts";

export interface PostgresFigures {
  ofFlag: EventLog["flagFigures"];
  summaries: EventLog["summaries"];
  usage: EventLog["usageFigures"];
}

/** Statistics take longer than writes. */
const TIMEOUT_MS = 30_000;

/** The parameters `$1` and `$2`. */
const isoWindow = ({ startMs, endMs }: FigureWindow) => [
  new Date(startMs).toISOString(),
  new Date(endMs).toISOString(),
];
/** Hours that overlap the window. */
const HOURS = "hour > $1::timestamptz - interval '1 hour' and hour < $2::timestamptz";
/** An exposure counts at its first time of a day. */
const TIMES = `day >= ($1::timestamptz at time zone 'UTC')::date and day <= ($2::timestamptz at time zone 'UTC')::date
  and at >= $1::timestamptz and at < $2::timestamptz`;
/** As a float, because hosts may change how `pg` parses times and large numbers. */
const HOUR_MS = "(extract(epoch from hour) * 1000)::float8 as hour_ms";

export function createPostgresFigures(pool: PostgresPool): PostgresFigures {
  const ask = (text: string, window: FigureWindow, values: unknown[]) =>
    runQuery(pool, TIMEOUT_MS, { text, values: [...isoWindow(window), ...values] });

  return {
    async ofFlag(tenant, flagKey, window) {
      const [evaluations, exposures, events] = await Promise.all([
        ask(EVALUATIONS, window, [tenant, flagKey]),
        ask(EXPOSURES, window, [tenant, flagKey]),
        ask(EVENTS, window, [tenant, flagKey]),
      ]);
      return flagFiguresOf(evaluations, exposures, events);
    },
    async summaries(tenant, flagKeys, window) {
      const [evaluated, exposed] = await Promise.all([
        ask(EVALUATIONS_OF_MANY, window, [tenant, flagKeys]),
        ask(USERS_OF_MANY, window, [tenant, flagKeys]),
      ]);
      const evaluations = new Map(
        evaluated.map((row) => [text(row, "flag_key"), number(row, "evaluations")]),
      );
      const users = new Map(exposed.map((row) => [text(row, "flag_key"), number(row, "users")]));
      return new Map(
        flagKeys.map((key) => [
          key,
          { evaluations: evaluations.get(key) ?? 0, uniqueUsers: users.get(key) ?? 0 },
        ]),
      );
    },
    async usage(tenant, window) {
      const only = tenant === "all" ? null : tenant;
      const [flags, hours, [events]] = await Promise.all([
        ask(USAGE_BY_FLAG, window, [only]),
        ask(USAGE_BY_HOUR, window, [only]),
        ask(USAGE_EVENTS, window, [only]),
      ]);
      const byFlag = flags.map((row) => ({
        tenant: text(row, "tenant"),
        flagKey: text(row, "flag_key"),
        evaluations: number(row, "evaluations"),
      }));
      return {
        evaluations: byFlag.reduce((sum, { evaluations }) => sum + evaluations, 0),
        events: events === undefined ? 0 : number(events, "events"),
        byFlag,
        byHour: new Map(hours.map((row) => [hourOf(number(row, "hour_ms")), number(row, "evaluations")])),
      };
    },
  };
}

const OF_FLAG = "tenant = $3 and flag_key = $4";
const OF_FLAGS = "tenant = $3 and flag_key = any($4::text[])";
const OF_TENANT = "($3::text is null or tenant = $3)";

const EVALUATIONS = `select ${HOUR_MS}, reason, sum(count) as count
from halyard_flag_evaluation_hour where ${OF_FLAG} and ${HOURS} group by hour, reason`;

/** The row with a null variant is the total of all variants. */
const EXPOSURES = `select variant, count(*)::float8 as exposures, count(distinct user_id)::float8 as users
from halyard_flag_exposure where ${OF_FLAG} and ${TIMES} group by grouping sets ((variant), ())`;

const EVENTS = `select variant, event, sum(count) as count, sum(sum)::float8 as sum, sum(valued) as valued
from halyard_flag_event_hour where ${OF_FLAG} and ${HOURS} group by variant, event`;

const EVALUATIONS_OF_MANY = `select flag_key, sum(count) as evaluations
from halyard_flag_evaluation_hour where ${OF_FLAGS} and ${HOURS} group by flag_key`;

const USERS_OF_MANY = `select flag_key, count(distinct user_id)::float8 as users
from halyard_flag_exposure where ${OF_FLAGS} and ${TIMES} group by flag_key`;

const USAGE_BY_FLAG = `select tenant, flag_key, sum(count) as evaluations
from halyard_flag_evaluation_hour where ${OF_TENANT} and ${HOURS} group by tenant, flag_key`;

const USAGE_BY_HOUR = `select ${HOUR_MS}, sum(count) as evaluations
from halyard_flag_evaluation_hour where ${OF_TENANT} and ${HOURS} group by hour`;

const USAGE_EVENTS = `select coalesce(sum(count), 0) as events
from halyard_flag_event_hour where ${OF_TENANT} and ${HOURS}`;

function flagFiguresOf(
  evaluations: readonly PostgresRow[],
  exposureRows: readonly PostgresRow[],
  eventRows: readonly PostgresRow[],
): FlagFigures {
  const byReason = new Map<EvaluationReason, number>();
  const byHour = new Map<string, number>();
  for (const row of evaluations) {
    const reason = text(row, "reason") as EvaluationReason;
    const hour = hourOf(number(row, "hour_ms"));
    byReason.set(reason, (byReason.get(reason) ?? 0) + number(row, "count"));
    byHour.set(hour, (byHour.get(hour) ?? 0) + number(row, "count"));
  }
  let uniqueUsers = 0;
  const exposures = new Map<string, { exposures: number; uniqueUsers: number }>();
  for (const row of exposureRows) {
    const users = number(row, "users");
    if (row["variant"] === null) uniqueUsers = users;
    else exposures.set(text(row, "variant"), { exposures: number(row, "exposures"), uniqueUsers: users });
  }
  const events = new Map<string, Map<string, { count: number; sum: number; valued: number }>>();
  for (const row of eventRows) {
    const variant = text(row, "variant");
    const ofVariant = events.get(variant) ?? new Map();
    events.set(variant, ofVariant);
    const counts = { count: number(row, "count"), sum: number(row, "sum"), valued: number(row, "valued") };
    ofVariant.set(text(row, "event"), counts);
  }
  return { byReason, byHour, uniqueUsers, exposures, events };
}

function text(row: PostgresRow, column: string): string {
  return String(row[column]);
}

function number(row: PostgresRow, column: string): number {
  return Number(row[column]);
}
