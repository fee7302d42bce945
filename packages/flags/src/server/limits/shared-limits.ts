/**
 * Rate limits that several processes keep together. Each takes tokens from the shared store in blocks and hands them
 * out by itself, so that the sum never exceeds the limit and a call waits only where no token is at hand: on the
 * first one of a window, and in a burst that outruns the next block. What is left of a block when its window ends is
 * lost.
 */
import { areRequestsIsolated } from "../../store/isolated-requests.ts";
import { type Bucket, createBucketTable } from "./bucket-table.ts";
import type { LimitRule, Limits, LimitVerdict } from "./limits.ts";
import { ALLOWED, forgottenWarning, MAX_BUCKETS, refusal } from "./memory-limits.ts";
import type { QuotaOf, RateLimitQuota } from "./rules.ts";
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
  /** The store fails, and this process counts by itself. */
  readonly isAlone: boolean;
}

/** What this process holds of a bucket. */
interface Lease {
  tokens: number;
  /** When the tokens are void. */
  endsAtMs: number;
  /** Callers without a token, in the order in which they came. */
  waiting: Waiting;
  isAsking: boolean;
}

type Waiting = ((verdict: LimitVerdict) => void)[];

/** These cost the database something, so every call is counted where all can see it. */
const EXACT: ReadonlySet<LimitRule> = new Set(["admin", "off"]);
const BLOCKS_PER_WINDOW = 10;

export function createSharedLimits(options: SharedLimitsOptions): SharedLimits {
  const { quotaOf, store, maxWaitMs, warn, warnOnce, monotonicMs = () => performance.now() } = options;
  const table = createBucketTable({
    maxBuckets: MAX_BUCKETS,
    onForgotten: () => warnOnce(forgottenWarning(MAX_BUCKETS)),
  });
  const leases = new WeakMap<Bucket, Lease>();
  const watch = createStoreWatch({ store, maxWaitMs, monotonicMs, warn });
  // There, every request asks for itself, and nothing is asked behind an answer.
  const isolated = areRequestsIsolated();

  function leaseOf(bucket: Bucket, nowMs: number): Lease {
    let lease = leases.get(bucket);
    if (lease === undefined) {
      lease = { tokens: 0, endsAtMs: 0, waiting: [], isAsking: false };
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

  /** For when the store fails: the full limit, for this process. */
  function passAlone(bucket: Bucket, quota: RateLimitQuota, nowMs: number): LimitVerdict {
    return bucket.used < quota.max ? pass(bucket, quota) : refuse(bucket, quota, nowMs);
  }

  /** `waiting`: those for whom it is asked. */
  async function ask(bucket: Bucket, lease: Lease, quota: RateLimitQuota, waiting: Waiting): Promise<void> {
    lease.isAsking = !isolated;
    const window = windowOf(bucket.rule, quota);
    const { blockSize } = window;
    const blocks = Math.max(1, Math.ceil(waiting.length / blockSize));
    const tokens = Math.min(blocks * blockSize, quota.max);
    const sentAtMs = monotonicMs();
    const grant = await watch.take(nameOf(bucket), tokens, window);
    lease.isAsking = false;
    if (grant === undefined) {
      const nowMs = monotonicMs();
      for (const resolve of waiting.splice(0)) resolve(passAlone(bucket, quota, nowMs));
      return;
    }
    const isEmpty = grant.granted < tokens;
    receive(bucket, lease, quota, grant, isEmpty, sentAtMs);
    handOut(bucket, lease, quota, waiting);
    // Without its end, the window may be over at any time: the next call asks again.
    if (grant.resetMs === undefined) lease.tokens = 0;
    if (waiting.length === 0) return;
    if (!isEmpty) return ask(bucket, lease, quota, waiting);
    const nowMs = monotonicMs();
    for (const resolve of waiting.splice(0)) resolve(refuse(bucket, quota, nowMs));
  }

  /** For whoever comes next. */
  function askBehind(bucket: Bucket, lease: Lease, quota: RateLimitQuota): void {
    void ask(bucket, lease, quota, lease.waiting);
  }

  function receive(
    bucket: Bucket,
    lease: Lease,
    quota: RateLimitQuota,
    { granted, resetMs }: RateLimitGrant,
    isEmpty: boolean,
    sentAtMs: number,
  ): void {
    // What was left is of a window that has ended meanwhile.
    if (monotonicMs() >= lease.endsAtMs) lease.tokens = 0;
    // From when it was asked, not answered: better too early than into the next window.
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
      // A process that has counted by itself for a while has passed more than it has had tokens for.
      if (lease.tokens > 0 && bucket.used < quota.max) {
        lease.tokens--;
        const isLow = !isolated && !EXACT.has(rule) && lease.tokens <= blockSizeOf(rule, quota) / 2;
        const verdict = pass(bucket, quota);
        if (isLow && !bucket.spent && !lease.isAsking && !watch.isDown) askBehind(bucket, lease, quota);
        return verdict;
      }
      // Whoever comes after as many as may pass would wait in vain.
      if (bucket.spent || bucket.used + lease.waiting.length >= quota.max)
        return refuse(bucket, quota, nowMs);
      if (watch.isDown) {
        const isTry = watch.isTimeToTry() && !lease.isAsking;
        if (isTry && !isolated) askBehind(bucket, lease, quota);
        if (!(isTry && isolated)) return passAlone(bucket, quota, nowMs);
      }
      return new Promise((resolve) => {
        const waiting = isolated ? [] : lease.waiting;
        waiting.push(resolve);
        if (!lease.isAsking) void ask(bucket, lease, quota, waiting);
      });
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

/** The same in every process, so that a store may count blocks. */
function blockSizeOf(rule: LimitRule, { max }: RateLimitQuota): number {
  return EXACT.has(rule) ? 1 : Math.max(1, Math.floor(max / BLOCKS_PER_WINDOW));
}

function nameOf({ rule, kind, id }: Bucket): string {
  return `${rule}:${kind}:${id}`;
}
