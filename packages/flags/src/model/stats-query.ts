/** The time window of a statistics request. */
import { invalid, overLimit } from "./inputs.ts";
import { QueryReader } from "./list-query.ts";
import type { StatsWindow } from "./stats.ts";

type WindowQuery = {
  /** ISO 8601. `start` is inclusive, `end` is exclusive. Defaults: `end` is now, `start` is 7 days before `end`. */
  start?: string | undefined;
  /** ISO 8601, exclusive. Default: now. */
  end?: string | undefined;
};

/** The query of the statistics of a flag. */
export type FeatureFlagStatsQuery = WindowQuery & {
  /** Exposures and events of this environment only. Evaluations are those of all. Default: all. */
  environment?: string | undefined;
};

/** The query of the statistics of all flags. */
export type FeatureFlagUsageQuery = WindowQuery & {
  /** The organization whose flags are counted, when `multiTenant` is on. */
  organizationId?: string | undefined;
};

const DAY_MS = 24 * 60 * 60 * 1000;
const DEFAULT_DAYS = 7;
/** The retention of roll-ups. */
export const MAX_STATS_DAYS: number = 400;

export function parseWindow(query: unknown, nowMs: number): StatsWindow {
  const read = new QueryReader(query);
  // `end` is exclusive, so one is added to include the current millisecond.
  const end = read.time("end") ?? new Date(nowMs + 1).toISOString();
  const start = read.time("start") ?? new Date(Date.parse(end) - DEFAULT_DAYS * DAY_MS).toISOString();
  const lengthMs = Date.parse(end) - Date.parse(start);
  if (lengthMs <= 0) throw invalid([{ path: "end", message: "must be later than start" }]);
  if (lengthMs > MAX_STATS_DAYS * DAY_MS) {
    throw overLimit(
      "The time from start to end has too many days.",
      MAX_STATS_DAYS,
      "Request a shorter time.",
    );
  }
  return { start, end };
}
