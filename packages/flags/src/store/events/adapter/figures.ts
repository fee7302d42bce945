/** Reads statistics from roll-ups and exposures through the adapter, in chunks of rows. */
import type { Where } from "@better-auth/core/db/adapter";
import type { EvaluationReason } from "../../../engine/definition.ts";
import type { EvaluationCountRow, EventCountRow, ExposureRow } from "../../../model/event-rows.ts";
import { type Adapter, type Match, scanRows } from "../../rows/queries.ts";
import type { CountedReason } from "../evaluation-counter.ts";
import type { FigureWindow, FlagFigures, UsageFigures } from "../event-log.ts";
import { DistinctCounter } from "./distinct.ts";
import { EXPOSURES } from "./exposure-rows.ts";
import { idFloor } from "./id-time.ts";
import {
  EVALUATION_COUNTS,
  EVENT_COUNTS,
  hourOfRollup,
  MILLION,
  REASON_FIELDS,
  rollupRange,
} from "./rollup.ts";

/** Counts in millionths; sums in whole units and millionths, so that no precision is lost. */
type EventSums = { count: number; valued: number; units: number; millionths: number };

const REASONS = Object.entries(REASON_FIELDS) as [CountedReason, (typeof REASON_FIELDS)[CountedReason]][];

export async function readFlagFigures(
  adapter: Adapter,
  tenant: string,
  flagKey: string,
  window: FigureWindow,
): Promise<FlagFigures> {
  const match = { tenant, flagKey };
  const byReason = new Map<EvaluationReason, number>();
  const byHour = new Map<string, number>();
  for await (const row of scanEvaluations(adapter, match, window)) {
    for (const [reason, field] of REASONS) {
      const count = Number(row[field]);
      if (count > 0) byReason.set(reason, (byReason.get(reason) ?? 0) + count);
    }
    addTo(byHour, hourOfRollup(row.rollupId), evaluationsIn(row));
  }
  const events = new Map<string, Map<string, EventSums>>();
  for await (const row of scanEvents(adapter, match, window)) {
    const named = getOrMake(events, row.variant, () => new Map<string, EventSums>());
    const sums = getOrMake(named, row.event, () => ({ count: 0, valued: 0, units: 0, millionths: 0 }));
    sums.count += Number(row.count);
    sums.valued += Number(row.valued);
    sums.units += Number(row.sumUnits);
    sums.millionths += Number(row.sumMillionths);
  }
  const users = new DistinctCounter();
  const variants = new Map<string, { exposures: number; users: DistinctCounter }>();
  for await (const { variant, userId } of scanExposures(adapter, match, window)) {
    const ofVariant = getOrMake(variants, variant, () => ({ exposures: 0, users: new DistinctCounter() }));
    ofVariant.exposures += 1;
    ofVariant.users.add(userId);
    users.add(userId);
  }
  const exposures = new Map(
    Array.from(variants, ([variant, ofVariant]) => [
      variant,
      { exposures: ofVariant.exposures, uniqueUsers: ofVariant.users.count() },
    ]),
  );
  const figures = new Map(
    Array.from(events, ([variant, named]) => [
      variant,
      new Map(Array.from(named, ([name, sums]) => [name, figuresOf(sums)])),
    ]),
  );
  return { byReason, byHour, uniqueUsers: users.count(), exposures, events: figures };
}

export async function readSummaries(
  adapter: Adapter,
  tenant: string,
  flagKeys: readonly string[],
  window: FigureWindow,
): Promise<Map<string, { evaluations: number; uniqueUsers: number }>> {
  const summaries = new Map(flagKeys.map((key) => [key, { evaluations: 0, users: new DistinctCounter() }]));
  // An empty `in` is an error in SQL.
  if (flagKeys.length === 0) return new Map();
  const among: Where[] = [{ field: "flagKey", operator: "in", value: [...flagKeys] }];
  for await (const row of scanEvaluations(adapter, { tenant }, window, among)) {
    const summary = summaries.get(row.flagKey);
    if (summary !== undefined) summary.evaluations += evaluationsIn(row);
  }
  for await (const { flagKey, userId } of scanExposures(adapter, { tenant }, window, among)) {
    summaries.get(flagKey)?.users.add(userId);
  }
  return new Map(
    Array.from(summaries, ([key, { evaluations, users }]) => [
      key,
      { evaluations, uniqueUsers: users.count() },
    ]),
  );
}

export async function readUsageFigures(
  adapter: Adapter,
  tenant: string | undefined,
  window: FigureWindow,
): Promise<UsageFigures> {
  const match: Match = tenant === undefined ? {} : { tenant };
  const byFlag = new Map<string, { tenant: string; flagKey: string; evaluations: number }>();
  const byHour = new Map<string, number>();
  let evaluations = 0;
  for await (const row of scanEvaluations(adapter, match, window)) {
    const count = evaluationsIn(row);
    const { tenant, flagKey } = row;
    const flag = getOrMake(byFlag, JSON.stringify([tenant, flagKey]), () => ({
      tenant,
      flagKey,
      evaluations: 0,
    }));
    flag.evaluations += count;
    evaluations += count;
    addTo(byHour, hourOfRollup(row.rollupId), count);
  }
  let millionths = 0;
  for await (const row of scanEvents(adapter, match, window)) millionths += Number(row.count);
  return { evaluations, events: millionths / MILLION, byFlag: [...byFlag.values()], byHour };
}

function scanEvaluations(adapter: Adapter, match: Match, window: FigureWindow, also: Where[] = []) {
  return scanRows<EvaluationCountRow>(adapter, EVALUATION_COUNTS, "rollupId", match, {
    also: [...between("rollupId", rollupRange(window)), ...also],
  });
}

function scanEvents(adapter: Adapter, match: Match, window: FigureWindow) {
  return scanRows<EventCountRow>(adapter, EVENT_COUNTS, "rollupId", match, {
    also: between("rollupId", rollupRange(window)),
  });
}

function scanExposures(adapter: Adapter, match: Match, { startMs, endMs }: FigureWindow, also: Where[] = []) {
  return scanRows<ExposureRow>(adapter, EXPOSURES, "exposureId", match, {
    also: [...between("exposureId", [idFloor(startMs), idFloor(endMs)]), ...also],
  });
}

function between(field: string, [from, to]: readonly [string, string]): Where[] {
  return [
    { field, operator: "gte", value: from },
    { field, operator: "lt", value: to },
  ];
}

function figuresOf({ count, valued, units, millionths }: EventSums) {
  return { count: count / MILLION, valued: valued / MILLION, sum: units + millionths / MILLION };
}

function evaluationsIn(row: EvaluationCountRow): number {
  return REASONS.reduce((sum, [, field]) => sum + Number(row[field]), 0);
}

function addTo(counts: Map<string, number>, key: string, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}

function getOrMake<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  const existing = map.get(key);
  if (existing !== undefined) return existing;
  const value = make();
  map.set(key, value);
  return value;
}
