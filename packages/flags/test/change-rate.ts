/** Measures how many changes a second many tenants make together, over a network with a given round trip. */
import { overDrizzle } from "./contract/drizzle.ts";
import { by, type DatabaseKind, flagInput, fresh, openStoreHost } from "./contract/store-host.ts";
import { openTcpProxy } from "./contract/tcp-proxy.ts";
import { existingPostgres, freshPostgres } from "./databases.ts";

export interface RateOptions {
  readonly tenants: number;
  readonly writersPerTenant: number;
  /** Processes that the writers of a tenant are spread over, each with a pool of its own. */
  readonly processes: number;
  readonly poolSize: number;
  readonly roundTripMs: number;
  readonly forMs: number;
  readonly adapter: "pool" | "drizzle";
}

export interface ChangeRate {
  readonly perSecond: number;
  readonly medianMs: number;
  readonly longestMs: number;
  readonly failed: number;
}

export async function measureChangeRate(options: RateOptions): Promise<ChangeRate> {
  const { poolSize, roundTripMs, forMs } = options;
  const db = await freshPostgres();
  const line = await openTcpProxy(db.url, { roundTripMs });
  const kind: DatabaseKind = {
    open: async () => ({
      connect: () => existingPostgres(line.url).connect({ max: poolSize }),
      drop: db.drop,
    }),
    ...(options.adapter === "drizzle"
      ? { adapt: (pool, auth) => overDrizzle(pool, auth, { transaction: true }) }
      : { isAskedDirectly: true }),
  };
  const host = await openStoreHost(kind);
  try {
    const stores = [host.store];
    while (stores.length < options.processes) stores.push((await host.another()).store);
    const tenants = Array.from({ length: options.tenants }, () => fresh("tenant"));
    const flags = await Promise.all(
      tenants.map(async (tenant) => ({
        tenant,
        id: (await host.store.createFlag(by(tenant), flagInput())).id,
      })),
    );
    const timesMs: number[] = [];
    let failed = 0;
    const startMs = performance.now() + WARM_UP_MS;
    const untilMs = startMs + forMs;
    const write = async (store: (typeof stores)[number], { tenant, id }: (typeof flags)[number]) => {
      while (performance.now() < untilMs) {
        const startedAtMs = performance.now();
        try {
          await store.updateFlag(by(tenant), id, { description: `${startedAtMs}` });
        } catch {
          failed += 1;
        }
        const nowMs = performance.now();
        if (nowMs >= startMs && nowMs < untilMs) timesMs.push(nowMs - startedAtMs);
      }
    };
    const writers = Array.from({ length: options.writersPerTenant }, (_, writer) =>
      flags.map((flag) => write(stores[writer % stores.length] ?? host.store, flag)),
    );
    await Promise.all(writers.flat());
    timesMs.sort((a, b) => a - b);
    return {
      perSecond: Math.round((timesMs.length * 10_000) / forMs) / 10,
      medianMs: Math.round(timesMs[Math.floor(timesMs.length / 2)] ?? 0),
      longestMs: Math.round(timesMs.at(-1) ?? 0),
      failed,
    };
  } finally {
    await host.close();
    await line.close();
  }
}

/** Connections are opened, and snapshots read. */
const WARM_UP_MS = 4000;
