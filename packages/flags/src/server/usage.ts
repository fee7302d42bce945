/** Statistics of all flags: `GET /feature-flags/admin/metrics/usage` and `auth.api.getFeatureFlagUsage`. */
import { parseQueriedOrganization } from "../model/list-query.ts";
import type { FlagUsage } from "../model/stats.ts";
import { parseWindow } from "../model/stats-query.ts";
import { admitToList, refuseLabel } from "./access.ts";
import { answer, type Call } from "./call.ts";
import { ROUTES } from "./routes.ts";
import type { Service } from "./service.ts";
import { figureWindow, seriesOf, writeCounts } from "./stats.ts";

const MAX_TOP = 10;

export function getUsage(service: Service, call: Call): Promise<FlagUsage> {
  return answer(call, "STORAGE_ERROR", async () => {
    const organization = () => parseQueriedOrganization(call.query);
    const tenants = await admitToList(service, call, ROUTES.getFeatureFlagUsage.action, organization);
    refuseLabel(service, organization());
    const window = parseWindow(call.query, Date.now());
    await writeCounts(service);
    const tenant = tenants === "all" ? tenants : tenants.tenant;
    const figures = await service.events.usageFigures(tenant, figureWindow(window));
    const byFlag = new Map(
      figures.byFlag.map(({ tenant, flagKey, evaluations }) => [keyOf(tenant, flagKey), evaluations]),
    );

    const startMs = Date.parse(window.start);
    const flags = { total: 0, enabled: 0, stale: 0 };
    let top: FlagUsage["top"] = [];
    await service.store.visitFlags(tenants, ({ id, tenant, key, enabled, createdAt }) => {
      const evaluations = byFlag.get(keyOf(tenant, key)) ?? 0;
      flags.total += 1;
      if (enabled) flags.enabled += 1;
      // A flag that is younger than the window has not had its time yet.
      if (evaluations === 0 && createdAt.getTime() < startMs) flags.stale += 1;
      if (evaluations > 0) top = withFlag(top, { flagId: id, flagKey: key, evaluations });
    });
    return {
      window,
      flags,
      evaluations: figures.evaluations,
      events: figures.events,
      top,
      series: seriesOf(figures.byHour),
    };
  });
}

const keyOf = (tenant: string, flagKey: string) => JSON.stringify([tenant, flagKey]);

/** The list with one more flag, as far as it is among the first. */
function withFlag(top: FlagUsage["top"], flag: FlagUsage["top"][number]): FlagUsage["top"] {
  const last = top.at(-1);
  if (top.length === MAX_TOP && last !== undefined && last.evaluations >= flag.evaluations) return top;
  return [...top, flag].sort((a, b) => b.evaluations - a.evaluations).slice(0, MAX_TOP);
}
