/** Rate limits of one process, counted in memory. */
import { createBucketTable } from "./bucket-table.ts";
import type { Limits, LimitVerdict } from "./limits.ts";
import type { QuotaOf } from "./rules.ts";

export const MAX_BUCKETS = 100_000;

export interface MemoryLimitsOptions {
  readonly quotaOf: QuotaOf;
  readonly warnOnce: (message: string) => void;
  readonly monotonicMs?: () => number;
  readonly maxBuckets?: number;
}

export const ALLOWED: LimitVerdict = { allowed: true };

export function createMemoryLimits(options: MemoryLimitsOptions): Limits {
  const { quotaOf, warnOnce, monotonicMs = () => performance.now(), maxBuckets = MAX_BUCKETS } = options;
  const table = createBucketTable({ maxBuckets, onEvicted: () => warnOnce(evictionWarning(maxBuckets)) });
  return {
    consume(rule, principal) {
      const quota = quotaOf(rule, principal.kind);
      if (quota === undefined) return ALLOWED;
      const nowMs = monotonicMs();
      const windowMs = quota.windowSeconds * 1000;
      const bucket = table.at(rule, principal, windowMs, nowMs);
      if (bucket.used >= quota.max) return refusal(bucket.endsAtMs - nowMs, windowMs);
      bucket.used++;
      if (bucket.used === quota.max) table.markSpent(bucket);
      return ALLOWED;
    },
    peek(rule, principal) {
      const quota = quotaOf(rule, principal.kind);
      if (quota === undefined) return ALLOWED;
      const nowMs = monotonicMs();
      const bucket = table.find(rule, principal, nowMs);
      if (bucket === undefined || bucket.used < quota.max) return ALLOWED;
      return refusal(bucket.endsAtMs - nowMs, quota.windowSeconds * 1000);
    },
    close: async () => {},
  };
}

/** Whole seconds until the window ends: at least 1 and at most the window, even if the clock jumps. */
export function refusal(leftMs: number, windowMs: number): LimitVerdict {
  const withinMs = Math.min(Math.max(leftMs, 1), windowMs);
  return { allowed: false, retryAfterSeconds: Math.ceil(withinMs / 1000) };
}

export function evictionWarning(maxBuckets: number): string {
  return `More than ${maxBuckets} callers are over their rate limit at the same time, so the oldest limits are reset. Block these callers at a proxy.`;
}
