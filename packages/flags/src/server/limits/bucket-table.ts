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

export interface BucketTableOptions {
  readonly maxBuckets: number;
  /** Called when a spent bucket is evicted before its window ends. */
  readonly onEvicted: () => void;
}

/** The shared id of callers without an address. */
const NOBODY = "";

export class BucketTable {
  readonly #options: BucketTableOptions;
  /** Nested by rule, kind and id, so that a request does not build a key string. */
  readonly #buckets = new Map<LimitRule, Record<LimitPrincipal["kind"], Map<string, Bucket>>>();
  readonly #open = new Queue();
  readonly #spent = new Queue();
  #size = 0;

  constructor(options: BucketTableOptions) {
    this.#options = options;
  }

  /** Returns the principal's bucket. Starts a new window when the principal has no open one. */
  at(rule: LimitRule, principal: LimitPrincipal, windowMs: number, nowMs: number): Bucket {
    const id = idOf(principal);
    const buckets = this.#bucketsOf(rule, principal.kind);
    const existing = buckets.get(id);
    if (existing !== undefined) {
      if (nowMs < existing.endsAtMs) return existing;
      this.#queueOf(existing).remove(existing);
      existing.used = 0;
      existing.endsAtMs = nowMs + windowMs;
      existing.spent = false;
      this.#open.append(existing);
      return existing;
    }
    this.#makeRoom(nowMs);
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
    this.#open.append(bucket);
    this.#size++;
    return bucket;
  }

  /** The principal's bucket if it has an open window. Changes nothing. */
  find(rule: LimitRule, principal: LimitPrincipal, nowMs: number): Bucket | undefined {
    const bucket = this.#bucketsOf(rule, principal.kind).get(idOf(principal));
    return bucket !== undefined && nowMs < bucket.endsAtMs ? bucket : undefined;
  }

  /** Marks a bucket as spent. Spent buckets are evicted last. */
  markSpent(bucket: Bucket): void {
    if (bucket.spent) return;
    // A bucket that was evicted since is in no queue.
    const isKept = this.#bucketsOf(bucket.rule, bucket.kind).get(bucket.id) === bucket;
    if (isKept) this.#open.remove(bucket);
    bucket.spent = true;
    if (isKept) this.#spent.append(bucket);
  }

  #bucketsOf(rule: LimitRule, kind: LimitPrincipal["kind"]): Map<string, Bucket> {
    let byKind = this.#buckets.get(rule);
    if (byKind === undefined) {
      byKind = { user: new Map(), key: new Map(), address: new Map(), nobody: new Map() };
      this.#buckets.set(rule, byKind);
    }
    return byKind[kind];
  }

  #queueOf({ spent }: Bucket): Queue {
    return spent ? this.#spent : this.#open;
  }

  #evict(bucket: Bucket): void {
    this.#queueOf(bucket).remove(bucket);
    this.#bucketsOf(bucket.rule, bucket.kind).delete(bucket.id);
    this.#size--;
  }

  /** Evicts the oldest window. Spent buckets are evicted only if there are no others. */
  #makeRoom(nowMs: number): void {
    for (const { oldest } of [this.#open, this.#spent]) {
      if (oldest !== undefined && oldest.endsAtMs <= nowMs) this.#evict(oldest);
    }
    if (this.#size < this.#options.maxBuckets) return;
    const oldest = this.#open.oldest ?? this.#spent.oldest;
    if (oldest === undefined) return;
    this.#evict(oldest);
    if (oldest.spent && oldest.endsAtMs > nowMs) this.#options.onEvicted();
  }
}

function idOf(principal: LimitPrincipal): string {
  return principal.kind === "nobody" ? NOBODY : principal.id;
}

/** A linked list of buckets in the order of window start. Finding the first entry of a `Map` is slow after many removals. */
class Queue {
  oldest: Bucket | undefined;
  #newest: Bucket | undefined;

  append(bucket: Bucket): void {
    bucket.older = this.#newest;
    bucket.newer = undefined;
    if (this.#newest === undefined) this.oldest = bucket;
    else this.#newest.newer = bucket;
    this.#newest = bucket;
  }

  remove(bucket: Bucket): void {
    const { older, newer } = bucket;
    if (older === undefined) this.oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    bucket.older = undefined;
    bucket.newer = undefined;
  }
}
