/** Statistics of a flag: `GET /feature-flags/admin/flags/:id/stats`. */
import { QueryReader } from "../../model/list-query.ts";
import type { FlagArmStats, FlagVariantStats } from "../../model/stats.ts";
import { type FeatureFlagStatsQuery, parseWindow } from "../../model/stats-query.ts";
import type { ArmFigures, EventFigures, FlagFigures } from "../../store/events/event-log.ts";
import { admitToEntity } from "../access/admission.ts";
import { figureFlag } from "../evaluation/assignment.ts";
import { anyObject, integer, objectOf, string } from "../http/openapi.ts";
import { entityId } from "../http/parameters.ts";
import type { EntityQuery, Get, Operation } from "./definition.ts";
import { figureWindow, seriesOf, writeCounts } from "./figures.ts";
import { ENTITY_QUERY, SERIES_SCHEMA, WINDOW_SCHEMA } from "./schemas.ts";

/** Events have free names, so a variant may have any number of them. The most frequent are returned. */
const MAX_EVENT_NAMES = 1000;

/** Gives how often a flag was evaluated, for how many users, and their events. The id may be the key. Needs `read`. */
export const getFeatureFlagStats: Operation<
  Get<"/feature-flags/admin/flags/:id/stats", EntityQuery & FeatureFlagStatsQuery>
> = {
  summary: "Statistics of a flag",
  method: "GET",
  path: "/feature-flags/admin/flags/:id/stats",
  scope: "server",
  action: "read",
  rateLimit: "admin",
  query: [...ENTITY_QUERY, "start", "end", "environment"],
  result: () =>
    objectOf({
      flagId: string,
      window: WINDOW_SCHEMA,
      asOf: string,
      evaluations: integer,
      uniqueUsers: integer,
      byReason: anyObject,
      byVariant: anyObject,
      series: SERIES_SCHEMA,
    }),
  async run(call) {
    const { service, request } = call;
    const { scope, id } = await admitToEntity(call, "flag", () => entityId(request, "id"));
    const nowMs = Date.now();
    const window = parseWindow(request.query, nowMs);
    const flag = await service.store.getFlag(scope.tenant, id);
    await writeCounts(service);
    const environment = new QueryReader(request.query).line("environment");
    const figures = await service.events.flagFigures(
      { ...figureFlag(flag), environment },
      figureWindow(window),
    );
    const { byReason, byHour, uniqueUsers } = figures;
    return {
      flagId: flag.id,
      window,
      // Figures by arm are computed from the events themselves.
      asOf: new Date(nowMs).toISOString(),
      evaluations: [...byReason.values()].reduce((sum, count) => sum + count, 0),
      uniqueUsers,
      byReason: Object.fromEntries(byReason),
      byVariant: variantsOf(figures),
      series: seriesOf(byHour),
    };
  },
};

function variantsOf({ excluded, ...subjects }: FlagFigures): Record<string, FlagVariantStats> {
  const arms = new Set([...armsIn(subjects), ...armsIn(excluded)]);
  const excludedArms = new Set(armsIn(excluded));
  return Object.fromEntries(
    Array.from(arms, (arm) => [
      arm,
      { ...armOf(subjects, arm), ...(excludedArms.has(arm) && { excluded: armOf(excluded, arm) }) },
    ]),
  );
}

const armsIn = ({ exposures, events }: ArmFigures) => [...exposures.keys(), ...events.keys()];

function armOf({ exposures, events }: ArmFigures, arm: string): FlagArmStats {
  return {
    exposures: exposures.get(arm)?.exposures ?? 0,
    uniqueUsers: exposures.get(arm)?.uniqueUsers ?? 0,
    events: eventsOf(events.get(arm) ?? new Map()),
  };
}

function eventsOf(named: ReadonlyMap<string, EventFigures>): FlagArmStats["events"] {
  const most = Array.from(named)
    .sort(([, a], [, b]) => b.count - a.count)
    .slice(0, MAX_EVENT_NAMES);
  return Object.fromEntries(
    most.map(([name, { count, sum, valued, converters }]) => [
      name,
      { count, sum, mean: valued > 0 ? sum / valued : 0, uniqueConverters: converters },
    ]),
  );
}
