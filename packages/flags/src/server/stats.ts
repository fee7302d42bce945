/** Statistics of a flag: `GET /feature-flags/admin/flags/:id/stats`, and what `include=stats` adds to a list. */
import type { FeatureFlag, ListedFeatureFlag } from "../model/flag.ts";
import { NO_TENANT } from "../model/flag.ts";
import type { FlagStats, FlagSummary, FlagVariantStats, StatsWindow } from "../model/stats.ts";
import { parseWindow } from "../model/stats-query.ts";
import type { FigureWindow, FlagFigures } from "../store/events/event-log.ts";
import { DAY_MS, HOUR_MS, hourStart } from "../store/events/hour.ts";
import { within } from "../store/wait.ts";
import { admitToEntity } from "./access.ts";
import { answer, type Call } from "./call.ts";
import { pathId } from "./request.ts";
import { ROUTES } from "./routes.ts";
import type { Service } from "./service.ts";

/** Event names are free, so there may be any number; these many of a variant's are told, the most frequent. */
const MAX_EVENT_NAMES = 1000;
const WRITE_WAIT_MS = 1000;

export function getStats(service: Service, call: Call): Promise<FlagStats> {
  return answer(call, "STORAGE_ERROR", async () => {
    const { action } = ROUTES.getFeatureFlagStats;
    const { scope, id } = await admitToEntity(service, call, action, "flag", () => pathId(call, "id"));
    const window = parseWindow(call.query, Date.now());
    const flag = await service.store.getFlag(scope.tenant, id);
    await writeCounts(service);
    const figures = await service.events.flagFigures(scope.tenant, flag.key, figureWindow(window, flag));
    const { byReason, byHour, uniqueUsers } = figures;
    return {
      flagId: flag.id,
      window,
      evaluations: [...byReason.values()].reduce((sum, count) => sum + count, 0),
      uniqueUsers,
      byReason: Object.fromEntries(byReason),
      byVariant: variantsOf(figures),
      series: seriesOf(byHour),
    };
  });
}

/** The flags of a list, each with its last 24 hours. */
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
 * What this process has counted is told at once, what others have comes within ten seconds. It is not waited for for
 * ever: around a call inside a transaction of the host's, a database with one connection has none left to write with.
 */
export async function writeCounts({ tally, exposures }: Service): Promise<void> {
  const writing = Promise.all([tally.flush(), exposures.flush()]);
  await within(writing, WRITE_WAIT_MS, "It is written later.").catch(() => undefined);
}

/** The window, bound to times that rows can have; since the flag was made, not counting one of the same key before it. */
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

function variantsOf({ exposures, events }: FlagFigures): Record<string, FlagVariantStats> {
  const variants = new Set([...exposures.keys(), ...events.keys()]);
  return Object.fromEntries(
    Array.from(variants, (variant) => [
      variant,
      {
        exposures: exposures.get(variant)?.exposures ?? 0,
        uniqueUsers: exposures.get(variant)?.uniqueUsers ?? 0,
        events: eventsOf(events.get(variant) ?? new Map()),
      },
    ]),
  );
}

type EventFigures = FlagFigures["events"] extends ReadonlyMap<string, infer Named> ? Named : never;

function eventsOf(named: EventFigures): FlagVariantStats["events"] {
  const most = Array.from(named)
    .sort(([, a], [, b]) => b.count - a.count)
    .slice(0, MAX_EVENT_NAMES);
  return Object.fromEntries(
    most.map(([name, { count, sum, valued }]) => [name, { count, sum, mean: valued > 0 ? sum / valued : 0 }]),
  );
}
