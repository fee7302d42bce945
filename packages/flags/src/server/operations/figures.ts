/** The figures behind statistics: what `include=stats` adds to a list of flags, and what stats and usage share. */
import type { FeatureFlag, ListedFeatureFlag } from "../../model/flag.ts";
import { NO_TENANT } from "../../model/flag.ts";
import type { FlagStats, FlagSummary, StatsWindow } from "../../model/stats.ts";
import type { FigureWindow } from "../../store/events/event-log.ts";
import { DAY_MS, HOUR_MS, hourStart } from "../../store/events/hour.ts";
import { within } from "../../store/wait.ts";
import type { Service } from "../service.ts";

const WRITE_WAIT_MS = 1000;

/** The flags of a list, each with the figures of the last 24 hours. */
export async function withSummaries(
  service: Service,
  flags: readonly FeatureFlag[],
): Promise<ListedFeatureFlag[]> {
  const nowMs = Date.now();
  const window = { start: new Date(nowMs - DAY_MS).toISOString(), end: new Date(nowMs + 1).toISOString() };
  const groups = new Map<string, { tenant: string; window: FigureWindow; flags: FeatureFlag[] }>();
  for (const flag of flags) {
    const tenant = service.options.multiTenant === true ? (flag.organizationId ?? NO_TENANT) : NO_TENANT;
    const from = figureWindow(window, flag);
    const key = JSON.stringify([tenant, from.startMs]);
    const group = groups.get(key) ?? { tenant, window: from, flags: [] };
    group.flags.push(flag);
    groups.set(key, group);
  }
  await writeCounts(service);
  const stats = new Map<string, FlagSummary>();
  for (const group of groups.values()) {
    const keys = group.flags.map(({ key }) => key);
    const summaries = await service.events.summaries(group.tenant, keys, group.window);
    for (const { id, key } of group.flags) {
      stats.set(id, summaries.get(key) ?? { evaluations: 0, uniqueUsers: 0 });
    }
  }
  return flags.map((flag) => ({ ...flag, stats: stats.get(flag.id) ?? { evaluations: 0, uniqueUsers: 0 } }));
}

/**
 * Writes this process's counts, so that statistics include them; counts of other processes follow within 10 s. The wait
 * is bounded: inside a transaction of the host, a database with one connection has none left to write with.
 */
export async function writeCounts({ tally, exposures }: Service): Promise<void> {
  const writing = Promise.all([tally.flush(), exposures.flush()]);
  await within(writing, WRITE_WAIT_MS, "The counts are written later.").catch(() => undefined);
}

/** The window, clamped to times that rows can have. It starts no earlier than the flag, whose key may have been used before. */
export function figureWindow(
  { start, end }: StatsWindow,
  flag?: Pick<FeatureFlag, "createdAt">,
): FigureWindow {
  const latestMs = Date.now() + HOUR_MS;
  const earliestMs = flag === undefined ? 0 : hourStart(flag.createdAt.getTime());
  const bound = (ms: number) => Math.min(Math.max(ms, earliestMs), latestMs);
  return { startMs: bound(Date.parse(start)), endMs: bound(Date.parse(end)) };
}

export function seriesOf(byHour: ReadonlyMap<string, number>): FlagStats["series"] {
  return Array.from(byHour, ([at, evaluations]) => ({ at, evaluations })).sort((a, b) =>
    a.at < b.at ? -1 : 1,
  );
}
