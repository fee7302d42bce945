/** Statistics of all flags: `GET /feature-flags/admin/metrics/usage`. */
import type { FlagUsage } from "../../model/stats.ts";
import { type FeatureFlagUsageQuery, parseWindow } from "../../model/stats-query.ts";
import { admitToTenants } from "../access/admission.ts";
import { integer, listOf, number, objectOf, string } from "../http/openapi.ts";
import type { Get, Operation } from "./definition.ts";
import { figureWindow, seriesOf, writeCounts } from "./figures.ts";
import { SERIES_SCHEMA, WINDOW_SCHEMA } from "./schemas.ts";

const MAX_TOP = 10;

/** Gives how much all flags are used, and how many are not. Needs `read`. */
export const getFeatureFlagUsage: Operation<
  Get<"/feature-flags/admin/metrics/usage", FeatureFlagUsageQuery>
> = {
  summary: "Statistics of all flags",
  method: "GET",
  path: "/feature-flags/admin/metrics/usage",
  scope: "server",
  action: "read",
  rateLimit: "admin",
  query: ["organizationId", "start", "end"],
  result: () =>
    objectOf({
      window: WINDOW_SCHEMA,
      asOf: string,
      flags: objectOf({ total: integer, enabled: integer, stale: integer }),
      evaluations: integer,
      events: number,
      top: listOf(objectOf({ flagId: string, flagKey: string, evaluations: integer })),
      series: SERIES_SCHEMA,
    }),
  async run(call) {
    const { service, request } = call;
    const tenants = await admitToTenants(call);
    const window = parseWindow(request.query, Date.now());
    await writeCounts(service);
    const figures = await service.events.usageFigures(
      tenants === "all" ? tenants : tenants.tenant,
      figureWindow(window),
    );
    const byFlag = new Map(figures.byFlag.map(({ flagId, evaluations }) => [flagId, evaluations]));

    const startMs = Date.parse(window.start);
    const flags = { total: 0, enabled: 0, stale: 0 };
    let top: FlagUsage["top"] = [];
    await service.store.visitFlags(tenants, ({ id, key, enabled, createdAt }) => {
      const evaluations = byFlag.get(id) ?? 0;
      flags.total += 1;
      if (enabled) flags.enabled += 1;
      // A flag that is younger than the window cannot be stale yet.
      if (evaluations === 0 && createdAt.getTime() < startMs) flags.stale += 1;
      if (evaluations > 0) top = withFlag(top, { flagId: id, flagKey: key, evaluations });
    });
    return {
      window,
      asOf: new Date(figures.asOfMs).toISOString(),
      flags,
      evaluations: figures.evaluations,
      events: figures.events,
      top,
      series: seriesOf(figures.byHour),
    };
  },
};

/** The list with the flag added, cut to the most evaluated flags. */
function withFlag(top: FlagUsage["top"], flag: FlagUsage["top"][number]): FlagUsage["top"] {
  const last = top.at(-1);
  if (top.length === MAX_TOP && last !== undefined && last.evaluations >= flag.evaluations) return top;
  return [...top, flag].sort((a, b) => b.evaluations - a.evaluations).slice(0, MAX_TOP);
}
