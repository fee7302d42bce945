/** What differs between two snapshots of a tenant. */
import type { FollowedSnapshot } from "../flag-store.ts";
import type { SnapshotOverride } from "./entities.ts";

export interface SnapshotDifference {
  /** Keys of flags that were created, deleted or compiled again. Their answers may be the same. */
  readonly keys: readonly string[];
  /** Keys of the other flags of which some override differs. */
  readonly overrideKeys: readonly string[];
  /** Those of `overrideKeys` whose override for this user differs. */
  overridden(userId: string): readonly string[];
}

type Overrides = ReadonlyMap<string, SnapshotOverride>;

/** By the earlier snapshot, then by the later one. Neither is kept in memory by it. */
const known = new WeakMap<FollowedSnapshot, WeakMap<FollowedSnapshot, SnapshotDifference>>();

/** Made once for each pair of snapshots: many sessions need the same one. */
export function differenceOf(previous: FollowedSnapshot, current: FollowedSnapshot): SnapshotDifference {
  let byCurrent = known.get(previous);
  if (byCurrent === undefined) {
    byCurrent = new WeakMap();
    known.set(previous, byCurrent);
  }
  let difference = byCurrent.get(current);
  if (difference === undefined) {
    difference = compare(previous, current);
    byCurrent.set(current, difference);
  }
  return difference;
}

function compare(previous: FollowedSnapshot, current: FollowedSnapshot): SnapshotDifference {
  const keys = new Set<string>();
  for (const [key, { compiled, flag }] of current.flags) {
    const before = previous.flags.get(key);
    // Another flag may have taken the key.
    if (before?.compiled !== compiled || before.flag !== flag) keys.add(key);
  }
  for (const key of previous.flags.keys()) if (!current.flags.has(key)) keys.add(key);
  const overrides = changedOverrides(previous, current, keys);
  return {
    keys: [...keys],
    overrideKeys: overrides.map(([key]) => key),
    overridden(userId) {
      const changed: string[] = [];
      for (const [key, before, after] of overrides) {
        if (before?.get(userId) !== after?.get(userId)) changed.push(key);
      }
      return changed;
    },
  };
}

/** The flags with another map of overrides: maps that did not change are shared between snapshots. */
function changedOverrides(
  previous: FollowedSnapshot,
  current: FollowedSnapshot,
  changed: ReadonlySet<string>,
): readonly (readonly [string, Overrides | undefined, Overrides | undefined])[] {
  const found: [string, Overrides | undefined, Overrides | undefined][] = [];
  for (const [key, { flag }] of current.flags) {
    if (changed.has(key)) continue;
    const before = previous.contents.overrides.get(flag.id);
    const after = current.contents.overrides.get(flag.id);
    if (before !== after) found.push([key, before, after]);
  }
  return found;
}

/** When the next override of the user expires after `afterMs`, in wall-clock time. `Infinity` if none does. */
export function nextExpiry({ contents }: FollowedSnapshot, userId: string, afterMs: number): number {
  let next = Number.POSITIVE_INFINITY;
  for (const overrides of contents.overrides.values()) {
    const expiresAtMs = overrides.get(userId)?.expiresAtMs ?? next;
    if (expiresAtMs > afterMs && expiresAtMs < next) next = expiresAtMs;
  }
  return next;
}

/** Keys of the flags whose override for the user has expired after one time, up to another. */
export function expiredKeys(
  { contents }: FollowedSnapshot,
  userId: string,
  { afterMs, upToMs }: { readonly afterMs: number; readonly upToMs: number },
): string[] {
  const keys: string[] = [];
  for (const [flagId, overrides] of contents.overrides) {
    const expiresAtMs = overrides.get(userId)?.expiresAtMs;
    const key = contents.flags.get(flagId)?.key;
    if (expiresAtMs === undefined || key === undefined) continue;
    if (expiresAtMs > afterMs && expiresAtMs <= upToMs) keys.push(key);
  }
  return keys;
}
