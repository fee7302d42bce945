/** The health of one tenant's snapshot, and the metrics of all snapshots. */

/** `snapshots` counts all tenants in memory. The other fields cover tenants in use; the rest are not kept current. */
export interface SnapshotFigures {
  readonly snapshots: number;
  readonly stale: number;
  /** `Infinity` if a snapshot must be read again. */
  readonly oldestAgeMs: number;
  /** The largest known distance between a snapshot and the database, in revisions. */
  readonly revisionLag: number;
}

export interface SnapshotHealth {
  readonly revision: number;
  readonly snapshotAgeMs: number | null;
  readonly stale: boolean;
  readonly problem?: string;
}
