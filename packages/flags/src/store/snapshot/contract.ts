/** What the snapshots in memory need: a source, a clock, and where to report. */
import type { CountedChanges, Counts } from "../writes/change-counter.ts";
import type { ChainEnd } from "../writes/revision.ts";

/** Reads revisions and snapshots. */
export interface SnapshotSource<Loaded extends ChainEnd> {
  readRevision(tenant: string): Promise<ChainEnd>;
  /** The revisions of all these tenants, in one query. */
  readRevisions(tenants: readonly string[]): Promise<ReadonlyMap<string, ChainEnd>>;
  /** The revisions of the tenants that changed after the numbers `since` of the change counters. */
  readCounted(since: Counts): Promise<CountedChanges>;
  /** Throws `BadSnapshot` if the stored flags are invalid. */
  load(tenant: string, end: ChainEnd, previous: Loaded | undefined): Promise<Loaded>;
}

export interface SnapshotsOptions {
  readonly warn: (message: string, error: unknown) => void;
  readonly monotonicMs: () => number;
  /** 0 turns polling off. */
  readonly pollMs: number;
}
