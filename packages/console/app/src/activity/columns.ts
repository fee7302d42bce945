/** Hours of activity as columns of a chart: by hour for a few days, by day beyond. */
import type { ActivityResponse } from "../api/types.ts";
import { locales } from "../texts.ts";

export interface Column {
  /** ISO 8601, the start of the column. */
  readonly at: string;
  readonly label: string;
  readonly values: Readonly<Record<string, number>>;
}

const HOUR_MS = 3_600_000;
/** More columns are too thin to see. */
const MOST_COLUMNS = 72;

const hour = new Intl.DateTimeFormat(locales, {
  weekday: "short",
  hour: "2-digit",
  minute: "2-digit",
  timeZone: "UTC",
});
const day = new Intl.DateTimeFormat(locales, { month: "short", day: "numeric", timeZone: "UTC" });

/** Empty hours and days are columns too, so that the time is even. Times are UTC, as the server counts. */
export function columnsOf(
  { window, hours }: ActivityResponse,
  read: (hour: ActivityResponse["hours"][number]) => Readonly<Record<string, number>> | undefined = ({
    byReason,
  }) => byReason,
): Column[] {
  const spanHours = (Date.parse(window.end) - Date.parse(window.start)) / HOUR_MS;
  const lengthMs = spanHours > MOST_COLUMNS ? 24 * HOUR_MS : HOUR_MS;
  const startMs = Math.floor(Date.parse(window.start) / lengthMs) * lengthMs;
  const columns = new Map<number, Record<string, number>>();
  for (let at = startMs; at < Date.parse(window.end); at += lengthMs) columns.set(at, {});
  for (const hour of hours) {
    const values = columns.get(Math.floor(Date.parse(hour.at) / lengthMs) * lengthMs);
    if (values === undefined) continue;
    for (const [name, count] of Object.entries(read(hour) ?? {})) values[name] = (values[name] ?? 0) + count;
  }
  const format = lengthMs === HOUR_MS ? hour : day;
  return [...columns].map(([at, values]) => ({
    at: new Date(at).toISOString(),
    label: format.format(at),
    values,
  }));
}
