/** The health of one tenant's snapshot, and the metrics of all snapshots. */
import type { Entry } from "./entry.ts";

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

export function figuresOf(
  entries: Iterable<Entry<{ readonly revision: number }>>,
  times: { readonly nowMs: number; readonly idleAfterMs: number; readonly staleAfterMs: number },
): SnapshotFigures {
  let [snapshots, stale, oldestAgeMs, revisionLag] = [0, 0, 0, 0];
  for (const { snapshot, confirmedAtMs, usedAtMs, minRevision, databaseRevision } of entries) {
    snapshots += 1;
    if (times.nowMs - usedAtMs > times.idleAfterMs) continue;
    const ageMs = times.nowMs - confirmedAtMs;
    if (ageMs > times.staleAfterMs) stale += 1;
    oldestAgeMs = Math.max(oldestAgeMs, ageMs);
    revisionLag = Math.max(revisionLag, Math.max(minRevision, databaseRevision) - snapshot.revision);
  }
  return { snapshots, stale, oldestAgeMs, revisionLag };
}
