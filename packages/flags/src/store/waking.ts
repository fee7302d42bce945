/** Checks of tenants whose flags are said to have changed: each at most half of the time, however often it is said. */
import { later } from "./wait.ts";

export interface WakingOptions {
  /** Brings the tenant's flags to this revision. Never rejects. */
  readonly check: (tenant: string, revision: number) => Promise<void>;
  readonly monotonicMs: () => number;
}

/** Tenants at a time; those beyond are left to polling. */
const MAX_TENANTS = 1000;

export function createWaking({
  check,
  monotonicMs,
}: WakingOptions): (tenant: string, revision: number) => void {
  /** By tenant: the revision that was heard of since its check began, if any. */
  const busy = new Map<string, number | undefined>();

  async function run(tenant: string, revision: number): Promise<void> {
    const startedAtMs = monotonicMs();
    await check(tenant, revision);
    if (busy.get(tenant) === undefined) {
      busy.delete(tenant);
      return;
    }
    // As long a rest as the check took: a tenant whose flags change all the time is not read all the time.
    later(() => {
      const next = busy.get(tenant);
      busy.set(tenant, undefined);
      void run(tenant, next ?? revision);
    }, monotonicMs() - startedAtMs);
  }

  return (tenant, revision) => {
    if (busy.has(tenant)) {
      busy.set(tenant, Math.max(revision, busy.get(tenant) ?? 0));
    } else if (busy.size < MAX_TENANTS) {
      busy.set(tenant, undefined);
      void run(tenant, revision);
    }
  };
}
