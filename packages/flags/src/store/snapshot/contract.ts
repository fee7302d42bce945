/** The interfaces of the snapshots in memory: towards the database, and towards the store. */
import type { Snapshot, SnapshotReading } from "../flag-store.ts";
import type { CountedChanges, Counts } from "../writes/change-counter.ts";
import type { ChainEnd } from "../writes/revision.ts";
import type { Follower } from "./followers.ts";
import type { SnapshotFigures, SnapshotHealth } from "./health.ts";

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

export interface Snapshots<S extends Snapshot = Snapshot> {
  /** The snapshot in memory, if it may be used without a read. */
  peek(tenant: string, minRevision?: number): SnapshotReading | undefined;
  /** The current snapshot, or the last good one during an outage. Rejects only if there has never been one. */
  get(tenant: string, minRevision?: number): Promise<SnapshotReading>;
  /** Reads a change that this process has committed. Never rejects. */
  refresh(tenant: string, revision: number): Promise<void>;
  /** Reads a change that another process has announced, if the tenant is in use. Never rejects. */
  wake(tenant: string, revision: number): Promise<void>;
  /** Polls the changes of all tenants in use now, without waiting for the interval. Never rejects. */
  poll(): Promise<void>;
  /** Keeps the tenant in use. Calls back with its snapshot in memory, if any, then with every new one. Returns a function that stops. */
  follow(tenant: string, follower: Follower<S>): () => void;
  health(tenant: string): SnapshotHealth;
  /** Whether the database could not be read at the last attempt. */
  isCutOff(): boolean;
  figures(): SnapshotFigures;
  close(): void;
}

export interface SnapshotsOptions {
  readonly warn: (message: string, error: unknown) => void;
  readonly monotonicMs: () => number;
  /** 0 turns polling off. */
  readonly pollMs: number;
}
