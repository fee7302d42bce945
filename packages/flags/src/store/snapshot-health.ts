/** How the snapshots are: of one tenant, and of all. */

/** Of all tenants in memory; the last three only of those in use, because the others are not kept current. */
export interface SnapshotFigures {
  readonly snapshots: number;
  readonly stale: number;
  /** Infinite when one must be read anew. */
  readonly oldestAgeMs: number;
  /** The most revisions that a snapshot is known to be behind the database. */
  readonly revisionLag: number;
}

export interface SnapshotHealth {
  readonly revision: number;
  readonly snapshotAgeMs: number | null;
  readonly stale: boolean;
  readonly problem?: string;
}
