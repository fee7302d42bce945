/** The figures behind statistics: what `include=stats` adds to a list of flags, and what stats and usage share. */
import { within } from "@halyard/base";
import type { FeatureFlag, ListedFeatureFlag } from "../../model/flag.ts";
import type { FlagStats, StatsWindow } from "../../model/stats.ts";
import type { FigureWindow } from "../../store/events/event-log.ts";
import { DAY_MS, HOUR_MS } from "../../store/events/hour.ts";
import type { TenantFilter } from "../../store/flag-store.ts";
import { figureFlag } from "../evaluation/assignment.ts";
import type { Service } from "../service.ts";

const WRITE_WAIT_MS = 1000;

/** The flags of a list, each with the figures of the last 24 hours and the number of its rules. */
export async function withSummaries(
  service: Service,
  tenants: TenantFilter,
  flags: readonly FeatureFlag[],
): Promise<ListedFeatureFlag[]> {
  const nowMs = Date.now();
  await writeCounts(service);
  const window = { startMs: nowMs - DAY_MS, endMs: nowMs + 1 };
  const [summaries, rulesOf] = await Promise.all([
    service.events.summaries(flags.map(figureFlag), window),
    tenants === "all"
      ? undefined
      : service.store.countRules(tenants.tenant, service.options.environments?.default),
  ]);
  return flags.map((flag) => ({
    ...flag,
    ...(rulesOf && { ruleCount: rulesOf(flag.id) }),
    stats: summaries.get(flag.id) ?? { evaluations: 0, uniqueUsers: 0 },
  }));
}

/**
 * Writes this process's counts, so that statistics include them; counts of other processes follow within 60 s. The wait
 * is bounded: inside a transaction of the host, a database with one connection has none left to write with.
 */
export async function writeCounts({ tally, exposures }: Service): Promise<void> {
  const writing = Promise.all([tally.flush(), exposures.flush()]);
  await within(writing, WRITE_WAIT_MS, "The counts are written later.").catch(() => undefined);
}

/** The window, clamped to times that rows can have. */
export function figureWindow({ start, end }: StatsWindow): FigureWindow {
  const latestMs = Date.now() + HOUR_MS;
  const bound = (ms: number) => Math.min(Math.max(ms, 0), latestMs);
  return { startMs: bound(Date.parse(start)), endMs: bound(Date.parse(end)) };
}

export function seriesOf(byHour: ReadonlyMap<string, number>): FlagStats["series"] {
  return Array.from(byHour, ([at, evaluations]) => ({ at, evaluations })).sort((a, b) =>
    a.at < b.at ? -1 : 1,
  );
}
