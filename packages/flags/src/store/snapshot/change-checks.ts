/** Checks tenants after bus notifications. Notifications during a check are merged, and checks take at most half of the time. */
import { later } from "@halyard/base";

export interface ChangeCheckOptions {
  /** Brings the tenant's flags to this revision. Never rejects. */
  readonly check: (tenant: string, revision: number) => Promise<void>;
  readonly monotonicMs: () => number;
}

/** Tenants that are checked at the same time. Polling covers the others. */
const MAX_TENANTS = 1000;

export function createChangeChecks({
  check,
  monotonicMs,
}: ChangeCheckOptions): (tenant: string, revision: number) => void {
  /** By tenant: the latest revision that was announced since its check began. */
  const busy = new Map<string, number | undefined>();

  async function run(tenant: string, revision: number): Promise<void> {
    const startedAtMs = monotonicMs();
    await check(tenant, revision);
    if (busy.get(tenant) === undefined) {
      busy.delete(tenant);
      return;
    }
    // Pauses for as long as the check took, so that frequent changes do not cause continuous reads.
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
