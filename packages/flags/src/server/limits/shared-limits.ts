/**
 * Rate limits that several processes share. Each process takes blocks of tokens from the store and spends them locally,
 * so the processes together never exceed the limit, and a request waits only if its process has no token. Unused tokens
 * expire with the window.
 */
import { areRequestsIsolated } from "../../store/isolated-requests.ts";
import { type Bucket, createBucketTable } from "./bucket-table.ts";
import type { LimitRule, Limits, LimitVerdict, RateLimitQuota } from "./limits.ts";
import { ALLOWED, evictionWarning, MAX_BUCKETS, refusal } from "./memory-limits.ts";
import type { QuotaOf } from "./rules.ts";
import type { RateLimitGrant, RateLimitStore, RateLimitWindow } from "./store.ts";
import { createStoreWatch } from "./store-watch.ts";

export interface SharedLimitsOptions {
  readonly quotaOf: QuotaOf;
  readonly store: RateLimitStore;
  readonly maxWaitMs: number;
  readonly warnOnce: (message: string) => void;
  readonly warn: (message: string, error: unknown) => void;
  readonly monotonicMs?: () => number;
}

export interface SharedLimits extends Limits {
  /** The store fails, and this process counts alone. */
  readonly isAlone: boolean;
}

/** The tokens of a bucket that this process holds. */
interface Lease {
  tokens: number;
  /** When the tokens expire. */
  endsAtMs: number;
  /** Requests without a token, in the order of arrival. */
  waiting: Waiting;
  isTaking: boolean;
}

type Waiting = ((verdict: LimitVerdict) => void)[];

/** These requests cause database writes, so every request is counted in the store. */
const EXACT: ReadonlySet<LimitRule> = new Set(["admin", "off"]);
const BLOCKS_PER_WINDOW = 10;

export function createSharedLimits(options: SharedLimitsOptions): SharedLimits {
  const { quotaOf, store, maxWaitMs, warn, warnOnce, monotonicMs = () => performance.now() } = options;
  const table = createBucketTable({
    maxBuckets: MAX_BUCKETS,
    onEvicted: () => warnOnce(evictionWarning(MAX_BUCKETS)),
  });
  const leases = new WeakMap<Bucket, Lease>();
  const watch = createStoreWatch({ store, maxWaitMs, monotonicMs, warn });
  // With isolated requests, every request takes its own tokens, and no request starts work after its response.
  const isolated = areRequestsIsolated();

  function leaseOf(bucket: Bucket, nowMs: number): Lease {
    let lease = leases.get(bucket);
    if (lease === undefined) {
      lease = { tokens: 0, endsAtMs: 0, waiting: [], isTaking: false };
      leases.set(bucket, lease);
    }
    if (nowMs >= lease.endsAtMs) lease.tokens = 0;
    return lease;
  }

  function pass(bucket: Bucket, { max }: RateLimitQuota): LimitVerdict {
    bucket.used++;
    if (bucket.used >= max) table.markSpent(bucket);
    return ALLOWED;
  }

  /** Used while the store fails: this process permits the full limit. */
  function passAlone(bucket: Bucket, quota: RateLimitQuota, nowMs: number): LimitVerdict {
    return bucket.used < quota.max ? pass(bucket, quota) : refuse(bucket, quota, nowMs);
  }

  /** Takes tokens for the waiting requests. */
  async function takeTokens(
    bucket: Bucket,
    lease: Lease,
    quota: RateLimitQuota,
    waiting: Waiting,
  ): Promise<void> {
    lease.isTaking = !isolated;
    const window = windowOf(bucket.rule, quota);
    const { blockSize } = window;
    const blocks = Math.max(1, Math.ceil(waiting.length / blockSize));
    const tokens = Math.min(blocks * blockSize, quota.max);
    const sentAtMs = monotonicMs();
    const grant = await watch.take(nameOf(bucket), tokens, window);
    lease.isTaking = false;
    if (grant === undefined) {
      const nowMs = monotonicMs();
      for (const resolve of waiting.splice(0)) resolve(passAlone(bucket, quota, nowMs));
      return;
    }
    const isEmpty = grant.granted < tokens;
    receive(bucket, lease, quota, grant, isEmpty, sentAtMs);
    handOut(bucket, lease, quota, waiting);
    // If the end of the window is unknown, tokens may expire at any time, so they are not kept.
    if (grant.resetMs === undefined) lease.tokens = 0;
    if (waiting.length === 0) return;
    if (!isEmpty) return takeTokens(bucket, lease, quota, waiting);
    const nowMs = monotonicMs();
    for (const resolve of waiting.splice(0)) resolve(refuse(bucket, quota, nowMs));
  }

  /** Takes tokens for later requests, in the background. */
  function takeAhead(bucket: Bucket, lease: Lease, quota: RateLimitQuota): void {
    void takeTokens(bucket, lease, quota, lease.waiting);
  }

  function receive(
    bucket: Bucket,
    lease: Lease,
    quota: RateLimitQuota,
    { granted, resetMs }: RateLimitGrant,
    isEmpty: boolean,
    sentAtMs: number,
  ): void {
    // The remaining tokens belong to a window that has ended since.
    if (monotonicMs() >= lease.endsAtMs) lease.tokens = 0;
    // Measured from the time of the request, so that the lease never reaches into the next window.
    lease.endsAtMs = sentAtMs + (resetMs ?? quota.windowSeconds * 1000);
    bucket.endsAtMs = Math.min(bucket.endsAtMs, lease.endsAtMs);
    lease.tokens += granted;
    if (isEmpty && resetMs !== undefined) table.markSpent(bucket);
  }

  function handOut(bucket: Bucket, lease: Lease, quota: RateLimitQuota, waiting: Waiting): void {
    for (const resolve of waiting.splice(0, lease.tokens)) {
      lease.tokens--;
      resolve(pass(bucket, quota));
    }
  }

  return {
    consume(rule, principal) {
      const quota = quotaOf(rule, principal.kind);
      if (quota === undefined) return ALLOWED;
      const nowMs = monotonicMs();
      const bucket = table.at(rule, principal, quota.windowSeconds * 1000, nowMs);
      const lease = leaseOf(bucket, nowMs);
      // While the store failed, this process may have permitted more requests than it had tokens for.
      if (lease.tokens > 0 && bucket.used < quota.max) {
        lease.tokens--;
        const isLow = !isolated && !EXACT.has(rule) && lease.tokens <= blockSizeOf(rule, quota) / 2;
        const verdict = pass(bucket, quota);
        if (isLow && !bucket.spent && !lease.isTaking && !watch.isDown) takeAhead(bucket, lease, quota);
        return verdict;
      }
      // More waiting requests than the limit permits would only be refused later.
      if (bucket.spent || bucket.used + lease.waiting.length >= quota.max)
        return refuse(bucket, quota, nowMs);
      if (watch.isDown) {
        const isTry = watch.isTimeToTry() && !lease.isTaking;
        if (isTry && !isolated) takeAhead(bucket, lease, quota);
        if (!(isTry && isolated)) return passAlone(bucket, quota, nowMs);
      }
      return new Promise((resolve) => {
        const waiting = isolated ? [] : lease.waiting;
        waiting.push(resolve);
        if (!lease.isTaking) void takeTokens(bucket, lease, quota, waiting);
      });
    },
    peek(rule, principal) {
      const quota = quotaOf(rule, principal.kind);
      if (quota === undefined) return ALLOWED;
      const nowMs = monotonicMs();
      const bucket = table.find(rule, principal, nowMs);
      return bucket?.spent === true ? refuse(bucket, quota, nowMs) : ALLOWED;
    },
    get isAlone() {
      return watch.isDown;
    },
    close: async () => {},
  };
}

function refuse(bucket: Bucket, { windowSeconds }: RateLimitQuota, nowMs: number): LimitVerdict {
  return refusal(bucket.endsAtMs - nowMs, windowSeconds * 1000);
}

function windowOf(rule: LimitRule, quota: RateLimitQuota): RateLimitWindow {
  return { ...quota, blockSize: blockSizeOf(rule, quota) };
}

/** Must be the same in every process, because a store may count blocks. */
function blockSizeOf(rule: LimitRule, { max }: RateLimitQuota): number {
  return EXACT.has(rule) ? 1 : Math.max(1, Math.floor(max / BLOCKS_PER_WINDOW));
}

function nameOf({ rule, kind, id }: Bucket): string {
  return `${rule}:${kind}:${id}`;
}
