/** The buckets of one process: found and made in constant time, a bounded number of them, without a timer. */
import type { LimitPrincipal, LimitRule } from "./limits.ts";

/** What one principal has used of one rule since the window began. */
export interface Bucket {
  readonly rule: LimitRule;
  readonly kind: LimitPrincipal["kind"];
  readonly id: string;
  used: number;
  endsAtMs: number;
  /** Nothing is left of it until its window ends. */
  spent: boolean;
  /** Where it stands among those that began before and after it. */
  older: Bucket | undefined;
  newer: Bucket | undefined;
}

export interface BucketTable {
  /** The principal's bucket as it is now: a new window where there was none or it has ended. */
  at(rule: LimitRule, principal: LimitPrincipal, windowMs: number, nowMs: number): Bucket;
  /** Says that nothing is left of a bucket, which makes it the last to be forgotten. */
  markSpent(bucket: Bucket): void;
  readonly size: number;
}

export interface BucketTableOptions {
  readonly maxBuckets: number;
  /** Called when a window that has not ended, and of which nothing is left, had to be forgotten. */
  readonly onForgotten: () => void;
}

/** All who have no address. */
const NOBODY = "";

export function createBucketTable({ maxBuckets, onForgotten }: BucketTableOptions): BucketTable {
  // By rule, kind and id, so that no key has to be put together on the way to an answer.
  const homes = new Map<LimitRule, Record<LimitPrincipal["kind"], Map<string, Bucket>>>();
  const open = createQueue();
  const spent = createQueue();
  let size = 0;

  function homeOf(rule: LimitRule, kind: LimitPrincipal["kind"]): Map<string, Bucket> {
    let home = homes.get(rule);
    if (home === undefined) {
      home = { user: new Map(), key: new Map(), address: new Map(), nobody: new Map() };
      homes.set(rule, home);
    }
    return home[kind];
  }

  function forget(bucket: Bucket): void {
    queueOf(bucket).remove(bucket);
    homeOf(bucket.rule, bucket.kind).delete(bucket.id);
    size--;
  }

  /** The oldest window goes first; one of which nothing is left, only when there is no other. */
  function makeRoom(nowMs: number): void {
    for (const { oldest } of [open, spent]) {
      if (oldest !== undefined && oldest.endsAtMs <= nowMs) forget(oldest);
    }
    if (size < maxBuckets) return;
    const oldest = open.oldest ?? spent.oldest;
    if (oldest === undefined) return;
    forget(oldest);
    if (oldest.spent && oldest.endsAtMs > nowMs) onForgotten();
  }

  const queueOf = (bucket: Bucket) => (bucket.spent ? spent : open);

  return {
    at(rule, principal, windowMs, nowMs) {
      const id = principal.kind === "nobody" ? NOBODY : principal.id;
      const home = homeOf(rule, principal.kind);
      const known = home.get(id);
      if (known !== undefined) {
        if (nowMs < known.endsAtMs) return known;
        queueOf(known).remove(known);
        known.used = 0;
        known.endsAtMs = nowMs + windowMs;
        known.spent = false;
        open.append(known);
        return known;
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
      home.set(id, bucket);
      open.append(bucket);
      size++;
      return bucket;
    },
    markSpent(bucket) {
      if (bucket.spent) return;
      // One that was forgotten meanwhile stands in no queue.
      const isKept = homeOf(bucket.rule, bucket.kind).get(bucket.id) === bucket;
      if (isKept) open.remove(bucket);
      bucket.spent = true;
      if (isKept) spent.append(bucket);
    },
    get size() {
      return size;
    },
  };
}

/** Buckets in the order of their windows. A `Map` would do, but looks for its first entry among all that were removed. */
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
