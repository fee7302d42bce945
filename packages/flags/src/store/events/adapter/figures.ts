/** Reads statistics from roll-ups, exposures and events through the adapter, in chunks of rows. */
import type { Where } from "@better-auth/core/db/adapter";
import type { EvaluationReason } from "../../../engine/definition.ts";
import type { EvaluationCountRow, EventCountRow, EventRow, ExposureRow } from "../../../model/event-rows.ts";
import { type Adapter, type Match, scanRows } from "../../rows/queries.ts";
import type { CountedReason } from "../evaluation-counter.ts";
import type {
  ActivityScope,
  FigureFlag,
  FigureWindow,
  FlagFigures,
  HourlyArm,
  HourlyReason,
} from "../event-log.ts";
import { hourOf, hourStart } from "../hour.ts";
import { idFloor } from "../ids.ts";
import { MAX_EVENT_AGE_MS, MAX_EVENT_AHEAD_MS } from "../limits.ts";
import type { CountedUsage } from "../storage.ts";
import { DistinctCounter } from "./distinct.ts";
import { Experiment } from "./experiment.ts";
import { EXPOSURES } from "./exposure-rows.ts";
import {
  EVALUATION_COUNTS,
  EVENT_COUNTS,
  hourOfRollup,
  MILLION,
  REASON_FIELDS,
  rollupRange,
  weightOf,
} from "./rollup.ts";
import { firstExposuresOf, withSubjects } from "./subjects.ts";

const REASONS = Object.entries(REASON_FIELDS) as [CountedReason, (typeof REASON_FIELDS)[CountedReason]][];

export async function readFlagFigures(
  adapter: Adapter,
  { id: flagId, unit, environment }: FigureFlag,
  window: FigureWindow,
): Promise<FlagFigures> {
  const byReason = new Map<EvaluationReason, number>();
  const byHour = new Map<string, number>();
  for await (const row of scanEvaluations(adapter, { flagId }, window)) {
    for (const [reason, field] of REASONS) {
      const count = Number(row[field]);
      if (count > 0) byReason.set(reason, (byReason.get(reason) ?? 0) + count);
    }
    addTo(byHour, hourOfRollup(row.rollupId), evaluationsIn(row));
  }

  const experiment = new Experiment();
  const ofEnvironment: Match = environment === undefined ? { flagId } : { flagId, environment };
  const exposures = scanExposures(adapter, ofEnvironment, window);
  for await (const rows of withSubjects(adapter, unit, exposures)) {
    for (const [row, subject] of rows) {
      const { variant: arm, byChance, firstAt } = row;
      const atMs = Math.max(Date.parse(firstAt), window.startMs);
      experiment.expose({ who: userOf(row, subject), arm, byChance, atMs });
    }
  }
  for await (const rows of withSubjects(adapter, unit, scanEvents(adapter, ofEnvironment, window))) {
    const firsts = await firstExposuresOf(adapter, rows);
    for (const [index, [row, subject]] of rows.entries()) {
      experiment.credit({
        who: subject === "" ? undefined : subject,
        first: firsts[index],
        name: row.event,
        value: row.value === null ? undefined : Number(row.value),
        weight: weightOf(Number(row.sampleRate)),
      });
    }
  }
  return { byReason, byHour, ...experiment.figures() };
}

export async function readSummaries(
  adapter: Adapter,
  flags: readonly FigureFlag[],
  window: FigureWindow,
): Promise<Map<string, { evaluations: number; uniqueUsers: number }>> {
  const summaries = new Map(flags.map(({ id }) => [id, { evaluations: 0, users: new DistinctCounter() }]));
  if (flags.length === 0) return new Map();
  for await (const row of scanEvaluations(adapter, {}, window, among([...summaries.keys()]))) {
    const summary = summaries.get(row.flagId);
    if (summary !== undefined) summary.evaluations += evaluationsIn(row);
  }
  for (const unit of ["userId", "anonymousId", "other"] as const) {
    const ids = flags.filter((flag) => flag.unit === unit).map(({ id }) => id);
    if (ids.length === 0) continue;
    const exposures = scanExposures(adapter, {}, window, among(ids));
    for await (const rows of withSubjects(adapter, unit, exposures)) {
      for (const [row, subject] of rows) summaries.get(row.flagId)?.users.add(userOf(row, subject));
    }
  }
  return new Map(
    Array.from(summaries, ([id, { evaluations, users }]) => [
      id,
      { evaluations, uniqueUsers: users.count() },
    ]),
  );
}

export async function readHourlyEvaluations(
  adapter: Adapter,
  tenant: string,
  flagIds: readonly string[],
  window: FigureWindow,
): Promise<Map<string, Map<string, number>>> {
  const byFlag = new Map<string, Map<string, number>>();
  if (flagIds.length === 0) return byFlag;
  for await (const row of scanEvaluations(adapter, { tenant }, window, among(flagIds))) {
    const byHour = byFlag.get(row.flagId) ?? new Map<string, number>();
    byFlag.set(row.flagId, byHour);
    addTo(byHour, hourOfRollup(row.rollupId), evaluationsIn(row));
  }
  return byFlag;
}

export async function readUsageFigures(
  adapter: Adapter,
  tenant: string | undefined,
  window: FigureWindow,
): Promise<CountedUsage> {
  const match: Match = tenant === undefined ? {} : { tenant };
  const byFlag = new Map<string, number>();
  const byHour = new Map<string, number>();
  let evaluations = 0;
  for await (const row of scanEvaluations(adapter, match, window)) {
    const count = evaluationsIn(row);
    addTo(byFlag, row.flagId, count);
    evaluations += count;
    addTo(byHour, hourOfRollup(row.rollupId), count);
  }
  let millionths = 0;
  for await (const row of scanEventCounts(adapter, match, window)) millionths += Number(row.count);
  return {
    evaluations,
    events: millionths / MILLION,
    byFlag: Array.from(byFlag, ([flagId, count]) => ({ flagId, evaluations: count })),
    byHour,
  };
}

export async function readActivity(
  adapter: Adapter,
  about: ActivityScope,
  window: FigureWindow,
): Promise<readonly HourlyReason[]> {
  const counts = new Map<string, HourlyReason>();
  for await (const row of scanEvaluations(adapter, about === "all" ? {} : about, window)) {
    const hour = hourOfRollup(row.rollupId);
    for (const [reason, field] of REASONS) {
      const more = Number(row[field]);
      if (more === 0) continue;
      const key = `${hour} ${reason}`;
      counts.set(key, { hour, reason, count: (counts.get(key)?.count ?? 0) + more });
    }
  }
  return [...counts.values()];
}

export async function readArmActivity(
  adapter: Adapter,
  flagId: string,
  window: FigureWindow,
): Promise<readonly HourlyArm[]> {
  const counts = new Map<string, HourlyArm>();
  for await (const { firstAt, variant: arm } of scanExposures(adapter, { flagId }, window)) {
    const hour = hourOf(Date.parse(firstAt));
    const key = `${hour} ${arm}`;
    counts.set(key, { hour, arm, count: (counts.get(key)?.count ?? 0) + 1 });
  }
  return [...counts.values()];
}

/** The user that an exposure is counted for. All visitors without an id count as one. */
function userOf({ userId, anonymousId }: ExposureRow, subject: string | undefined): string {
  return subject || userId || (anonymousId ?? "");
}

function scanEvaluations(adapter: Adapter, match: Match, window: FigureWindow, also: Where[] = []) {
  return scanRows<EvaluationCountRow>(adapter, EVALUATION_COUNTS, "rollupId", match, {
    also: [...between("rollupId", rollupRange(window)), ...also],
  });
}

function scanEventCounts(adapter: Adapter, match: Match, window: FigureWindow) {
  return scanRows<EventCountRow>(adapter, EVENT_COUNTS, "rollupId", match, {
    also: between("rollupId", rollupRange(window)),
  });
}

/** The exposures in the window. A window within one hour also has those from before it to after it. */
async function* scanExposures(
  adapter: Adapter,
  match: Match,
  { startMs, endMs }: FigureWindow,
  also: Where[] = [],
): AsyncGenerator<ExposureRow> {
  const [start, end] = [new Date(startMs).toISOString(), new Date(endMs).toISOString()];
  const rows = scanRows<ExposureRow>(adapter, EXPOSURES, "exposureId", match, {
    also: [...between("exposureId", [idFloor(hourStart(startMs)), idFloor(endMs)]), ...also],
  });
  for await (const row of rows) if (row.firstAt < end && row.lastAt >= start) yield row;
}

/** Ids have the time of receipt, so the range is wider than the window. */
async function* scanEvents(
  adapter: Adapter,
  match: Match,
  { startMs, endMs }: FigureWindow,
): AsyncGenerator<EventRow> {
  const [start, end] = [new Date(startMs).toISOString(), new Date(endMs).toISOString()];
  const range = [idFloor(startMs - MAX_EVENT_AHEAD_MS), idFloor(endMs + MAX_EVENT_AGE_MS)] as const;
  const select = [
    "eventId",
    "flagId",
    "environment",
    "event",
    "value",
    "userId",
    "anonymousId",
    "subject",
    "at",
    "sampleRate",
  ];
  const rows = scanRows<EventRow>(adapter, "featureFlagEvent", "eventId", match, {
    also: between("eventId", range),
    select,
  });
  for await (const row of rows) if (row.at >= start && row.at < end) yield row;
}

/** Not for an empty list: an empty `in` is an error in SQL. */
function among(flagIds: readonly string[]): Where[] {
  return [{ field: "flagId", operator: "in", value: [...flagIds] }];
}

function between(field: string, [from, to]: readonly [string, string]): Where[] {
  return [
    { field, operator: "gte", value: from },
    { field, operator: "lt", value: to },
  ];
}

function evaluationsIn(row: EvaluationCountRow): number {
  return REASONS.reduce((sum, [, field]) => sum + Number(row[field]), 0);
}

function addTo(counts: Map<string, number>, key: string, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}
