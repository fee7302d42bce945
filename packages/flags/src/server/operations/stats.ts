/** Statistics of a flag: `GET /feature-flags/admin/flags/:id/stats`. */
import type { FlagStats, FlagVariantStats } from "../../model/stats.ts";
import { type FeatureFlagStatsQuery, parseWindow } from "../../model/stats-query.ts";
import type { FlagFigures } from "../../store/events/event-log.ts";
import { admitToEntity } from "../access/admission.ts";
import { anyObject, integer, objectOf, string } from "../http/openapi.ts";
import { pathId } from "../http/parameters.ts";
import type { Get, Operation } from "./definition.ts";
import { figureWindow, seriesOf, writeCounts } from "./figures.ts";
import { SERIES_SCHEMA, WINDOW_SCHEMA } from "./schemas.ts";

/** Events have free names, so a variant may have any number of them. The most frequent are returned. */
const MAX_EVENT_NAMES = 1000;

/** Gives how often a flag was evaluated, for how many users, and their events. Needs `read`. */
export const getFeatureFlagStats: Operation<
  Get<"/feature-flags/admin/flags/:id/stats", FeatureFlagStatsQuery, FlagStats>
> = {
  summary: "Statistics of a flag",
  method: "GET",
  path: "/feature-flags/admin/flags/:id/stats",
  scope: "server",
  action: "read",
  rateLimit: "admin",
  query: ["start", "end"],
  result: () =>
    objectOf({
      flagId: string,
      window: WINDOW_SCHEMA,
      evaluations: integer,
      uniqueUsers: integer,
      byReason: anyObject,
      byVariant: anyObject,
      series: SERIES_SCHEMA,
    }),
  async run(call) {
    const { service, request } = call;
    const { scope, id } = await admitToEntity(call, "flag", () => pathId(request, "id"));
    const window = parseWindow(request.query, Date.now());
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
  },
};

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
