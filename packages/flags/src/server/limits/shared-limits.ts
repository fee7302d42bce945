/**
 * Rate limits that several processes share. Each process takes blocks of tokens from the store and spends them locally,
 * so the processes together never exceed the limit, and a request waits only if its process has no token. Unused tokens
 * expire with the window.
 */
import { areRequestsIsolated } from "../../store/isolated-requests.ts";
import { type Bucket, BucketTable } from "./bucket-table.ts";
import type { LimitPrincipal, LimitRule, Limits, LimitVerdict, RateLimitQuota } from "./limits.ts";
import { ALLOWED, evictionWarning, MAX_BUCKETS, type MemoryLimitsOptions, refusal } from "./memory-limits.ts";
import type { QuotaOf } from "./rules.ts";
import type { RateLimitGrant, RateLimitWindow } from "./store.ts";
import { StoreWatch, type StoreWatchOptions } from "./store-watch.ts";

export interface SharedLimitsOptions
  extends Pick<MemoryLimitsOptions, "quotaOf" | "warnOnce" | "monotonicMs">,
    Omit<StoreWatchOptions, "monotonicMs"> {}

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

export class SharedLimits implements Limits {
  readonly #quotaOf: QuotaOf;
  readonly #monotonicMs: () => number;
  readonly #table: BucketTable;
  readonly #watch: StoreWatch;
  readonly #leases = new WeakMap<Bucket, Lease>();
  /** With isolated requests, every request takes its own tokens, and no request starts work after its response. */
  readonly #isolated: boolean = areRequestsIsolated();

  constructor({
    quotaOf,
    store,
    maxWaitMs,
    warn,
    warnOnce,
    monotonicMs = () => performance.now(),
  }: SharedLimitsOptions) {
    this.#quotaOf = quotaOf;
    this.#monotonicMs = monotonicMs;
    const onEvicted = () => warnOnce(evictionWarning(MAX_BUCKETS));
    this.#table = new BucketTable({ maxBuckets: MAX_BUCKETS, onEvicted });
    this.#watch = new StoreWatch({ store, maxWaitMs, monotonicMs, warn });
  }

  /** The store fails, and this process counts alone. */
  get isAlone(): boolean {
    return this.#watch.isDown;
  }

  consume(rule: LimitRule, principal: LimitPrincipal): LimitVerdict | Promise<LimitVerdict> {
    const quota = this.#quotaOf(rule, principal.kind);
    if (quota === undefined) return ALLOWED;
    const nowMs = this.#monotonicMs();
    const bucket = this.#table.at(rule, principal, quota.windowSeconds * 1000, nowMs);
    const lease = this.#leaseOf(bucket, nowMs);
    // While the store failed, this process may have permitted more requests than it had tokens for.
    if (lease.tokens > 0 && bucket.used < quota.max) {
      lease.tokens--;
      const isLow = !this.#isolated && !EXACT.has(rule) && lease.tokens <= blockSizeOf(rule, quota) / 2;
      const verdict = this.#pass(bucket, quota);
      if (isLow && !bucket.spent && !lease.isTaking && !this.isAlone) this.#takeAhead(bucket, lease, quota);
      return verdict;
    }
    // More waiting requests than the limit permits would only be refused later.
    if (bucket.spent || bucket.used + lease.waiting.length >= quota.max) return refuse(bucket, quota, nowMs);
    if (this.isAlone) {
      const isTry = this.#watch.isTimeToTry() && !lease.isTaking;
      if (isTry && !this.#isolated) this.#takeAhead(bucket, lease, quota);
      if (!(isTry && this.#isolated)) return this.#passAlone(bucket, quota, nowMs);
    }
    return new Promise((resolve) => {
      const waiting = this.#isolated ? [] : lease.waiting;
      waiting.push(resolve);
      if (!lease.isTaking) void this.#takeTokens(bucket, lease, quota, waiting);
    });
  }

  peek(rule: LimitRule, principal: LimitPrincipal): LimitVerdict {
    const quota = this.#quotaOf(rule, principal.kind);
    if (quota === undefined) return ALLOWED;
    const nowMs = this.#monotonicMs();
    const bucket = this.#table.find(rule, principal, nowMs);
    return bucket?.spent === true ? refuse(bucket, quota, nowMs) : ALLOWED;
  }

  async close(): Promise<void> {}

  #leaseOf(bucket: Bucket, nowMs: number): Lease {
    let lease = this.#leases.get(bucket);
    if (lease === undefined) {
      lease = { tokens: 0, endsAtMs: 0, waiting: [], isTaking: false };
      this.#leases.set(bucket, lease);
    }
    if (nowMs >= lease.endsAtMs) lease.tokens = 0;
    return lease;
  }

  #pass(bucket: Bucket, { max }: RateLimitQuota): LimitVerdict {
    bucket.used++;
    if (bucket.used >= max) this.#table.markSpent(bucket);
    return ALLOWED;
  }

  /** Used while the store fails: this process permits the full limit. */
  #passAlone(bucket: Bucket, quota: RateLimitQuota, nowMs: number): LimitVerdict {
    return bucket.used < quota.max ? this.#pass(bucket, quota) : refuse(bucket, quota, nowMs);
  }

  /** Takes tokens for later requests, in the background. */
  #takeAhead(bucket: Bucket, lease: Lease, quota: RateLimitQuota): void {
    void this.#takeTokens(bucket, lease, quota, lease.waiting);
  }

  /** Takes tokens for the waiting requests. */
  async #takeTokens(bucket: Bucket, lease: Lease, quota: RateLimitQuota, waiting: Waiting): Promise<void> {
    lease.isTaking = !this.#isolated;
    const window = windowOf(bucket.rule, quota);
    const { blockSize } = window;
    const blocks = Math.max(1, Math.ceil(waiting.length / blockSize));
    const tokens = Math.min(blocks * blockSize, quota.max);
    const sentAtMs = this.#monotonicMs();
    const grant = await this.#watch.take(nameOf(bucket), tokens, window);
    lease.isTaking = false;
    if (grant === undefined) {
      const nowMs = this.#monotonicMs();
      for (const resolve of waiting.splice(0)) resolve(this.#passAlone(bucket, quota, nowMs));
      return;
    }
    const isEmpty = grant.granted < tokens;
    this.#receive(bucket, lease, quota, grant, isEmpty, sentAtMs);
    this.#handOut(bucket, lease, quota, waiting);
    // If the end of the window is unknown, tokens may expire at any time, so they are not kept.
    if (grant.resetMs === undefined) lease.tokens = 0;
    if (waiting.length === 0) return;
    if (!isEmpty) return this.#takeTokens(bucket, lease, quota, waiting);
    const nowMs = this.#monotonicMs();
    for (const resolve of waiting.splice(0)) resolve(refuse(bucket, quota, nowMs));
  }

  #receive(
    bucket: Bucket,
    lease: Lease,
    quota: RateLimitQuota,
    { granted, resetMs }: RateLimitGrant,
    isEmpty: boolean,
    sentAtMs: number,
  ): void {
    // The remaining tokens belong to a window that has ended since.
    if (this.#monotonicMs() >= lease.endsAtMs) lease.tokens = 0;
    // Measured from the time of the request, so that the lease never reaches into the next window.
    lease.endsAtMs = sentAtMs + (resetMs ?? quota.windowSeconds * 1000);
    bucket.endsAtMs = Math.min(bucket.endsAtMs, lease.endsAtMs);
    lease.tokens += granted;
    if (isEmpty && resetMs !== undefined) this.#table.markSpent(bucket);
  }

  #handOut(bucket: Bucket, lease: Lease, quota: RateLimitQuota, waiting: Waiting): void {
    for (const resolve of waiting.splice(0, lease.tokens)) {
      lease.tokens--;
      resolve(this.#pass(bucket, quota));
    }
  }
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
