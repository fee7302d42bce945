/** The snapshots in memory, what is known about their age, and the code that follows them. */
import type { SnapshotReading } from "../flag-store.ts";
import { type ChainEnd, isSameEnd } from "../writes/revision.ts";
import type { SnapshotsOptions } from "./contract.ts";
import { Followers } from "./followers.ts";
import type { SnapshotFigures } from "./health.ts";

/** A snapshot that was confirmed longer ago is served, and checked in the background. */
export const MAX_AGE_MS: number = 1000;
export const STALE_AFTER_MS: number = 2000;
/** A tenant that was not used for this time is not polled. Its next use checks it first. */
export const IDLE_AFTER_MS = 60_000;
/** Snapshots in memory; the least recently used is evicted. */
export const MAX_TENANTS = 10_000;

/** The snapshot of one tenant. */
export interface Entry<S> {
  snapshot: S;
  /** Start of the last read that confirmed the snapshot. */
  confirmedAtMs: number;
  usedAtMs: number;
  /** A revision that this process has committed but could not read. Older snapshots are behind. */
  minRevision: number;
  /** The latest revision that was read from the database. */
  databaseRevision: number;
  /** Start of the last check by a request, where requests are isolated. */
  checkedAtMs: number;
  /** Start of the last read that found another revision, or did not cover the tenant. Only a later read confirms it. */
  doubtedAtMs: number;
}

export function isBehind({ snapshot, minRevision }: Entry<ChainEnd>, revision = 0): boolean {
  return snapshot.revision < Math.max(revision, minRevision);
}

export class Memory<S extends SnapshotReading["snapshot"] & ChainEnd> {
  readonly followers: Followers<S> = new Followers<S>();
  /** Sorted by use, the least recently used first. */
  readonly #entries = new Map<string, Entry<S>>();
  readonly #monotonicMs: () => number;

  constructor({ monotonicMs }: Pick<SnapshotsOptions, "monotonicMs">) {
    this.#monotonicMs = monotonicMs;
  }

  has(tenant: string): boolean {
    return this.#entries.has(tenant);
  }

  get(tenant: string): Entry<S> | undefined {
    return this.#entries.get(tenant);
  }

  /** The entry, which moves to the end of those that are evicted. */
  use(tenant: string): Entry<S> | undefined {
    const entry = this.#entries.get(tenant);
    if (entry !== undefined && this.#monotonicMs() - entry.usedAtMs > MAX_AGE_MS) {
      this.#entries.delete(tenant);
      this.#entries.set(tenant, entry);
    }
    return entry;
  }

  /** Marks the snapshot as used. Not earlier, because its idle time decides whether it is checked first. */
  read(entry: Entry<S>, isOlder = false): SnapshotReading {
    const now = this.#monotonicMs();
    entry.usedAtMs = now;
    return { snapshot: entry.snapshot, stale: isOlder || now - entry.confirmedAtMs > STALE_AFTER_MS };
  }

  isInUse(tenant: string, nowMs: number = this.#monotonicMs()): boolean {
    const entry = this.#entries.get(tenant);
    return entry !== undefined && (nowMs - entry.usedAtMs <= IDLE_AFTER_MS || this.followers.has(tenant));
  }

  tenants(): IterableIterator<string> {
    return this.#entries.keys();
  }

  /** `coveredAtMs`: when the last poll began. A poll during the load of a new tenant did not know it. */
  install(tenant: string, snapshot: S, startedAtMs: number, coveredAtMs: number): void {
    const entry = this.#entries.get(tenant);
    if (entry === undefined) {
      this.#entries.set(tenant, {
        snapshot,
        confirmedAtMs: startedAtMs,
        usedAtMs: this.#monotonicMs(),
        checkedAtMs: startedAtMs,
        minRevision: 0,
        databaseRevision: 0,
        doubtedAtMs: coveredAtMs,
      });
      if (this.#entries.size > MAX_TENANTS) this.#evictOldest();
      this.followers.notify(tenant, snapshot, undefined);
    } else if (snapshot.revision >= entry.snapshot.revision) {
      const previous = entry.snapshot;
      entry.snapshot = snapshot;
      entry.confirmedAtMs = Math.max(entry.confirmedAtMs, startedAtMs);
      this.followers.notify(tenant, snapshot, previous);
    }
  }

  /** Whether the snapshot has the revision and the history of the database. Marks it as confirmed if so. */
  confirm(tenant: string, end: ChainEnd, readAtMs: number): boolean {
    const entry = this.#entries.get(tenant);
    if (entry === undefined) return false;
    entry.databaseRevision = Math.max(entry.databaseRevision, end.revision);
    if (!isSameEnd(entry.snapshot, end) || end.revision < entry.minRevision) {
      entry.doubtedAtMs = Math.max(entry.doubtedAtMs, readAtMs);
      return false;
    }
    entry.confirmedAtMs = Math.max(entry.confirmedAtMs, readAtMs);
    return true;
  }

  /**
   * Whether a poll that did not name the tenant confirms its snapshot. `isCovered`: the poll would have named it if it had
   * changed since the poll before.
   */
  confirmUnnamed(tenant: string, isCovered: boolean, readAtMs: number): boolean {
    const entry = this.#entries.get(tenant);
    if (entry === undefined) return false;
    if (!isCovered) entry.doubtedAtMs = Math.max(entry.doubtedAtMs, readAtMs);
    if (isBehind(entry, entry.databaseRevision) || entry.confirmedAtMs < entry.doubtedAtMs) return false;
    entry.confirmedAtMs = Math.max(entry.confirmedAtMs, readAtMs);
    return true;
  }

  figures(): SnapshotFigures {
    const nowMs = this.#monotonicMs();
    let [stale, oldestAgeMs, revisionLag] = [0, 0, 0];
    for (const {
      snapshot,
      confirmedAtMs,
      usedAtMs,
      minRevision,
      databaseRevision,
    } of this.#entries.values()) {
      if (nowMs - usedAtMs > IDLE_AFTER_MS) continue;
      const ageMs = nowMs - confirmedAtMs;
      if (ageMs > STALE_AFTER_MS) stale += 1;
      oldestAgeMs = Math.max(oldestAgeMs, ageMs);
      revisionLag = Math.max(revisionLag, Math.max(minRevision, databaseRevision) - snapshot.revision);
    }
    return { snapshots: this.#entries.size, stale, oldestAgeMs, revisionLag };
  }

  #evictOldest(): void {
    for (const tenant of this.#entries.keys())
      if (!this.followers.has(tenant)) return void this.#entries.delete(tenant);
  }
}
