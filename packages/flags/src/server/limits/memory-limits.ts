/** Rate limits of one process, counted in memory. */
import { BucketTable } from "./bucket-table.ts";
import type { LimitPrincipal, LimitRule, Limits, LimitVerdict } from "./limits.ts";
import type { QuotaOf } from "./rules.ts";

export const MAX_BUCKETS = 100_000;

export interface MemoryLimitsOptions {
  readonly quotaOf: QuotaOf;
  readonly warnOnce: (message: string) => void;
  readonly monotonicMs?: () => number;
  readonly maxBuckets?: number;
}

export const ALLOWED: LimitVerdict = { allowed: true };

export class MemoryLimits implements Limits {
  readonly #quotaOf: QuotaOf;
  readonly #monotonicMs: () => number;
  readonly #table: BucketTable;

  constructor(options: MemoryLimitsOptions) {
    const { quotaOf, warnOnce, monotonicMs = () => performance.now(), maxBuckets = MAX_BUCKETS } = options;
    this.#quotaOf = quotaOf;
    this.#monotonicMs = monotonicMs;
    this.#table = new BucketTable({ maxBuckets, onEvicted: () => warnOnce(evictionWarning(maxBuckets)) });
  }

  consume(rule: LimitRule, principal: LimitPrincipal): LimitVerdict {
    const quota = this.#quotaOf(rule, principal.kind);
    if (quota === undefined) return ALLOWED;
    const nowMs = this.#monotonicMs();
    const windowMs = quota.windowSeconds * 1000;
    const bucket = this.#table.at(rule, principal, windowMs, nowMs);
    if (bucket.used >= quota.max) return refusal(bucket.endsAtMs - nowMs, windowMs);
    bucket.used++;
    if (bucket.used === quota.max) this.#table.markSpent(bucket);
    return ALLOWED;
  }

  peek(rule: LimitRule, principal: LimitPrincipal): LimitVerdict {
    const quota = this.#quotaOf(rule, principal.kind);
    if (quota === undefined) return ALLOWED;
    const nowMs = this.#monotonicMs();
    const bucket = this.#table.find(rule, principal, nowMs);
    if (bucket === undefined || bucket.used < quota.max) return ALLOWED;
    return refusal(bucket.endsAtMs - nowMs, quota.windowSeconds * 1000);
  }

  async close(): Promise<void> {}
}

/** Whole seconds until the window ends: at least 1 and at most the window, even if the clock jumps. */
export function refusal(leftMs: number, windowMs: number): LimitVerdict {
  const withinMs = Math.min(Math.max(leftMs, 1), windowMs);
  return { allowed: false, retryAfterSeconds: Math.ceil(withinMs / 1000) };
}

export function evictionWarning(maxBuckets: number): string {
  return `More than ${maxBuckets} callers are over their rate limit at the same time, so the oldest limits are reset. Block these callers at a proxy.`;
}
