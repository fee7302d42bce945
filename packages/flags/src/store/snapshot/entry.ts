/** The snapshot of one tenant in memory, and what is known about its age. */

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
}
