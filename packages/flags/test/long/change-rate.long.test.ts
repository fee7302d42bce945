/** Many tenants change flags at the same time while each round trip to PostgreSQL takes 80 ms. */
import { recordEvidence } from "@halyard/services/evidence";
import { afterAll, expect, test } from "vitest";
import { type ChangeRate, measureChangeRate, type RateOptions } from "../change-rate.ts";

const SIZE = { tenants: 16, writersPerTenant: 3, poolSize: 40, roundTripMs: 80, forMs: 60_000 };
/** Five round trips while the tenant's row is held permit 40. The rest is the work of one process for all of them. */
const LEAST_PER_SECOND = 30;

const SETTINGS: readonly (Pick<RateOptions, "adapter" | "processes"> & { name: string; least: number })[] = [
  { name: "pool, three processes", adapter: "pool", processes: 3, least: LEAST_PER_SECOND },
  { name: "pool, one process", adapter: "pool", processes: 1, least: LEAST_PER_SECOND },
  { name: "Drizzle, three processes", adapter: "drizzle", processes: 3, least: 0 },
];

const figures: Record<string, Record<string, number>> = {};

test.each(SETTINGS)("$name: 16 tenants with three writers each", { timeout: 300_000 }, async (setting) => {
  const { name, adapter, processes, least } = setting;
  const rate: ChangeRate = await measureChangeRate({ ...SIZE, adapter, processes });
  console.log(name, rate);
  expect(rate.failed).toBe(0);
  expect(rate.perSecond).toBeGreaterThanOrEqual(least);
  figures[name] = {
    "changes a second": rate.perSecond,
    "median of a change, ms": rate.medianMs,
    "longest change, ms": rate.longestMs,
    "failed changes": rate.failed,
  };
});

afterAll(() => {
  if (Object.keys(figures).length < SETTINGS.length) return;
  recordEvidence("flag-change-rate", {
    what: "Writers change flags as fast as they can, through a proxy that makes each round trip to PostgreSQL take 80 ms. The writers of a tenant are in three processes, or in one.",
    size: `${SIZE.tenants} tenants with ${SIZE.writersPerTenant} writers each, ${SIZE.forMs / 1000} s for each column, pools of ${SIZE.poolSize} connections.`,
    checked:
      "No change failed, and with a pool as `database` all tenants together made at least 30 changes a second. The changes of a tenant follow each other, and each holds the tenant's row for five round trips of 80 ms, so 40 is the limit. The rest is the time of the simulated processes and the proxy, which share one event loop.",
    suite: "packages/flags/test/long/change-rate.long.test.ts",
    figures,
  });
});
