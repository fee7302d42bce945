/** Stores the rate limit buckets of one process: constant-time access, a bounded number of buckets, no timer. */
import type { LimitPrincipal, LimitRule } from "./limits.ts";

/** The use of one rule by one principal in the current window. */
export interface Bucket {
  readonly rule: LimitRule;
  readonly kind: LimitPrincipal["kind"];
  readonly id: string;
  used: number;
  endsAtMs: number;
  /** The limit is reached until the window ends. */
  spent: boolean;
  /** Neighbours in the queue, which is in the order of window start. */
  older: Bucket | undefined;
  newer: Bucket | undefined;
}

export interface BucketTable {
  /** Returns the principal's bucket. Starts a new window when the principal has no open one. */
  at(rule: LimitRule, principal: LimitPrincipal, windowMs: number, nowMs: number): Bucket;
  /** The principal's bucket if it has an open window. Changes nothing. */
  find(rule: LimitRule, principal: LimitPrincipal, nowMs: number): Bucket | undefined;
  /** Marks a bucket as spent. Spent buckets are evicted last. */
  markSpent(bucket: Bucket): void;
  readonly size: number;
}

export interface BucketTableOptions {
  readonly maxBuckets: number;
  /** Called when a spent bucket is evicted before its window ends. */
  readonly onEvicted: () => void;
}

/** The shared id of callers without an address. */
const NOBODY = "";

export function createBucketTable({ maxBuckets, onEvicted }: BucketTableOptions): BucketTable {
  // Nested by rule, kind and id, so that a request does not build a key string.
  const bucketsByRule = new Map<LimitRule, Record<LimitPrincipal["kind"], Map<string, Bucket>>>();
  const open = createQueue();
  const spent = createQueue();
  let size = 0;

  function bucketsOf(rule: LimitRule, kind: LimitPrincipal["kind"]): Map<string, Bucket> {
    let byKind = bucketsByRule.get(rule);
    if (byKind === undefined) {
      byKind = { user: new Map(), key: new Map(), address: new Map(), nobody: new Map() };
      bucketsByRule.set(rule, byKind);
    }
    return byKind[kind];
  }

  function evict(bucket: Bucket): void {
    queueOf(bucket).remove(bucket);
    bucketsOf(bucket.rule, bucket.kind).delete(bucket.id);
    size--;
  }

  /** Evicts the oldest window. Spent buckets are evicted only if there are no others. */
  function makeRoom(nowMs: number): void {
    for (const { oldest } of [open, spent]) {
      if (oldest !== undefined && oldest.endsAtMs <= nowMs) evict(oldest);
    }
    if (size < maxBuckets) return;
    const oldest = open.oldest ?? spent.oldest;
    if (oldest === undefined) return;
    evict(oldest);
    if (oldest.spent && oldest.endsAtMs > nowMs) onEvicted();
  }

  const queueOf = (bucket: Bucket) => (bucket.spent ? spent : open);

  return {
    at(rule, principal, windowMs, nowMs) {
      const id = idOf(principal);
      const buckets = bucketsOf(rule, principal.kind);
      const existing = buckets.get(id);
      if (existing !== undefined) {
        if (nowMs < existing.endsAtMs) return existing;
        queueOf(existing).remove(existing);
        existing.used = 0;
        existing.endsAtMs = nowMs + windowMs;
        existing.spent = false;
        open.append(existing);
        return existing;
      }
      makeRoom(nowMs);
      const bucket: Bucket = {
        rule,
        kind: principal.kind,
        id,
        used: 0,
        endsAtMs: nowMs + windowMs,
        spent: false,
        older: undefined,
        newer: undefined,
      };
      buckets.set(id, bucket);
      open.append(bucket);
      size++;
      return bucket;
    },
    find(rule, principal, nowMs) {
      const bucket = bucketsOf(rule, principal.kind).get(idOf(principal));
      return bucket !== undefined && nowMs < bucket.endsAtMs ? bucket : undefined;
    },
    markSpent(bucket) {
      if (bucket.spent) return;
      // A bucket that was evicted since is in no queue.
      const isKept = bucketsOf(bucket.rule, bucket.kind).get(bucket.id) === bucket;
      if (isKept) open.remove(bucket);
      bucket.spent = true;
      if (isKept) spent.append(bucket);
    },
    get size() {
      return size;
    },
  };
}

function idOf(principal: LimitPrincipal): string {
  return principal.kind === "nobody" ? NOBODY : principal.id;
}

/** A linked list of buckets in the order of window start. Finding the first entry of a `Map` is slow after many removals. */
interface Queue {
  readonly oldest: Bucket | undefined;
  append(bucket: Bucket): void;
  remove(bucket: Bucket): void;
}

function createQueue(): Queue {
  let oldest: Bucket | undefined;
  let newest: Bucket | undefined;
  return {
    get oldest() {
      return oldest;
    },
    append(bucket) {
      bucket.older = newest;
      bucket.newer = undefined;
      if (newest === undefined) oldest = bucket;
      else newest.newer = bucket;
      newest = bucket;
    },
    remove(bucket) {
      const { older, newer } = bucket;
      if (older === undefined) oldest = newer;
      else older.newer = newer;
      if (newer === undefined) newest = older;
      else newer.older = older;
      bucket.older = undefined;
      bucket.newer = undefined;
    },
  };
}
