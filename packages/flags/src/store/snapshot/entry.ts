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
  /** Start of the last read that found another revision, or did not cover the tenant. Only a later read confirms it. */
  doubtedAtMs: number;
}

/**
 * Whether a poll that did not name the tenant confirms its snapshot. `isCovered`: the poll would have named it if it had
 * changed since the poll before.
 */
export function confirmUnless(
  entry: Entry<{ readonly revision: number }>,
  isCovered: boolean,
  readAtMs: number,
): boolean {
  if (!isCovered) entry.doubtedAtMs = Math.max(entry.doubtedAtMs, readAtMs);
  const isBehind = entry.snapshot.revision < Math.max(entry.minRevision, entry.databaseRevision);
  if (isBehind || entry.confirmedAtMs < entry.doubtedAtMs) return false;
  entry.confirmedAtMs = Math.max(entry.confirmedAtMs, readAtMs);
  return true;
}
