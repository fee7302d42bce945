/** Reads statistics from roll-ups, exposures and events on PostgreSQL. */
import type { EvaluationReason } from "../../../engine/definition.ts";
import { type PostgresPool, type PostgresRow, runQuery } from "../../postgres/pool.ts";
import type { EventFigures, EventLog, FigureWindow, FlagFigures } from "../event-log.ts";
import { hourOf } from "../hour.ts";
import type { EventStorage } from "../storage.ts";
import {
  ACTIVITY,
  ARM_ACTIVITY,
  EVALUATIONS,
  EVALUATIONS_OF_MANY,
  EVENTS,
  EXPOSURES,
  HOURLY_EVALUATIONS,
  USAGE_BY_FLAG,
  USAGE_BY_HOUR,
  USAGE_EVENTS,
  USERS_OF_MANY,
} from "./figure-queries.ts";

export interface PostgresFigures {
  ofFlag: EventLog["flagFigures"];
  summaries: EventLog["summaries"];
  hourlyEvaluations: EventLog["hourlyEvaluations"];
  usage: EventStorage["usageFigures"];
  activity: EventLog["activity"];
  armActivity: EventLog["armActivity"];
}

/** Statistics take longer than writes. */
const TIMEOUT_MS = 30_000;

/** The parameters `$1` and `$2`. */
const isoWindow = ({ startMs, endMs }: FigureWindow) => [
  new Date(startMs).toISOString(),
  new Date(endMs).toISOString(),
];

export function createPostgresFigures(pool: PostgresPool): PostgresFigures {
  const ask = (text: string, window: FigureWindow, values: unknown[]) =>
    runQuery(pool, TIMEOUT_MS, { text, values: [...isoWindow(window), ...values] });

  return {
    async ofFlag({ id, unit, environment = null }, window) {
      const [evaluations, exposures, events] = await Promise.all([
        ask(EVALUATIONS, window, [id]),
        ask(EXPOSURES, window, [id, unit, environment]),
        ask(EVENTS, window, [id, unit, environment]),
      ]);
      return { ...evaluationsOf(evaluations), ...armsOf(exposures, events) };
    },
    async summaries(flags, window) {
      const ids = flags.map(({ id }) => id);
      const [evaluated, exposed] = await Promise.all([
        ask(EVALUATIONS_OF_MANY, window, [ids]),
        ask(USERS_OF_MANY, window, [ids, flags.map(({ unit }) => unit)]),
      ]);
      const evaluations = new Map(evaluated.map((row) => [text(row, "flag_id"), number(row, "evaluations")]));
      const users = new Map(exposed.map((row) => [text(row, "flag_id"), number(row, "users")]));
      return new Map(
        ids.map((id) => [id, { evaluations: evaluations.get(id) ?? 0, uniqueUsers: users.get(id) ?? 0 }]),
      );
    },
    async hourlyEvaluations(tenant, flagIds, window) {
      const byFlag = new Map<string, Map<string, number>>();
      for (const row of await ask(HOURLY_EVALUATIONS, window, [tenant, [...flagIds]])) {
        const flagId = text(row, "flag_id");
        const byHour = byFlag.get(flagId) ?? new Map<string, number>();
        byFlag.set(flagId, byHour.set(hourOf(number(row, "hour_ms")), number(row, "count")));
      }
      return byFlag;
    },
    async activity(about, window) {
      const rows =
        about !== "all" && "flagId" in about
          ? await ask(EVALUATIONS, window, [about.flagId])
          : await ask(ACTIVITY, window, [about === "all" ? null : about.tenant]);
      return rows.map((row) => ({
        hour: hourOf(number(row, "hour_ms")),
        reason: text(row, "reason") as EvaluationReason,
        count: number(row, "count"),
      }));
    },
    async armActivity(flagId, window) {
      const rows = await ask(ARM_ACTIVITY, window, [flagId]);
      return rows.map((row) => ({
        hour: hourOf(number(row, "hour_ms")),
        arm: text(row, "arm"),
        count: number(row, "count"),
      }));
    },
    async usage(tenant, window) {
      const only = tenant === "all" ? null : tenant;
      const [flags, hours, [events]] = await Promise.all([
        ask(USAGE_BY_FLAG, window, [only]),
        ask(USAGE_BY_HOUR, window, [only]),
        ask(USAGE_EVENTS, window, [only]),
      ]);
      const byFlag = flags.map((row) => ({
        flagId: text(row, "flag_id"),
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

function evaluationsOf(rows: readonly PostgresRow[]): Pick<FlagFigures, "byReason" | "byHour"> {
  const byReason = new Map<EvaluationReason, number>();
  const byHour = new Map<string, number>();
  for (const row of rows) {
    const reason = text(row, "reason") as EvaluationReason;
    const hour = hourOf(number(row, "hour_ms"));
    byReason.set(reason, (byReason.get(reason) ?? 0) + number(row, "count"));
    byHour.set(hour, (byHour.get(hour) ?? 0) + number(row, "count"));
  }
  return { byReason, byHour };
}

class Arms {
  readonly exposures = new Map<string, { exposures: number; uniqueUsers: number }>();
  readonly events = new Map<string, Map<string, EventFigures>>();
}

function armsOf(
  exposureRows: readonly PostgresRow[],
  eventRows: readonly PostgresRow[],
): Omit<FlagFigures, "byReason" | "byHour"> {
  const [subjects, excluded] = [new Arms(), new Arms()];
  let uniqueUsers = 0;
  for (const row of exposureRows) {
    const users = number(row, "users");
    if (row["arm"] === null) uniqueUsers = users;
    else {
      const { exposures } = row["by_chance"] === true ? subjects : excluded;
      exposures.set(text(row, "arm"), { exposures: number(row, "exposures"), uniqueUsers: users });
    }
  }
  for (const row of eventRows) {
    const { events } = row["by_chance"] === true ? subjects : excluded;
    const arm = text(row, "arm");
    const named = events.get(arm) ?? new Map<string, EventFigures>();
    events.set(arm, named);
    named.set(text(row, "event"), {
      count: number(row, "count"),
      sum: number(row, "sum"),
      valued: number(row, "valued"),
      converters: number(row, "converters"),
    });
  }
  return { uniqueUsers, ...subjects, excluded };
}

function text(row: PostgresRow, column: string): string {
  return String(row[column]);
}

function number(row: PostgresRow, column: string): number {
  return Number(row[column]);
}
