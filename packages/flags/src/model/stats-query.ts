/** The window of time that statistics are asked for. */
import { invalid, overLimit } from "./inputs.ts";
import { readerOf } from "./list-query.ts";
import type { StatsWindow } from "./stats.ts";

/** What statistics of a flag can be asked for. */
export type FeatureFlagStatsQuery = {
  /** ISO 8601; `start` is included, `end` is not. Absent: the 7 days before `end`, and now. */
  start?: string | undefined;
  end?: string | undefined;
};

/** What statistics of all flags can be asked for. */
export type FeatureFlagUsageQuery = FeatureFlagStatsQuery & {
  /** Where `multiTenant` is on: the organization whose flags are meant. */
  organizationId?: string | undefined;
};

const DAY_MS = 24 * 60 * 60 * 1000;
const DEFAULT_DAYS = 7;
/** As long as counts are kept. */
const MAX_DAYS = 400;

export function parseWindow(query: unknown, nowMs: number): StatsWindow {
  const read = readerOf(query);
  // Until now, and `end` is not included: what was counted in this very millisecond is.
  const end = read.time("end") ?? new Date(nowMs + 1).toISOString();
  const start = read.time("start") ?? new Date(Date.parse(end) - DEFAULT_DAYS * DAY_MS).toISOString();
  const lengthMs = Date.parse(end) - Date.parse(start);
  if (lengthMs <= 0) throw invalid([{ path: "end", message: "must be later than start" }]);
  if (lengthMs > MAX_DAYS * DAY_MS) {
    throw overLimit("The time from start to end is too long, in days.", MAX_DAYS, "Ask for less at once.");
  }
  return { start, end };
}
