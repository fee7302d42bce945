/** The flags of an organization in memory, which is where evaluation reads them. */
import type { FeatureFlag } from "../model/flag.ts";

export interface Snapshot {
  readonly revision: number;
  readonly flags: ReadonlyMap<string, FeatureFlag>;
}

/** Where snapshots come from. */
export interface SnapshotSource {
  readRevision(organizationId: string): Promise<number>;
  readFlags(organizationId: string): Promise<FeatureFlag[]>;
}

export interface SnapshotReading {
  readonly snapshot: Snapshot;
  /** The source could not be asked for a newer revision for more than `STALE_AFTER_MS`. */
  readonly stale: boolean;
}

export interface Snapshots {
  /** The snapshot in memory, if it was current within the last `MAX_AGE_MS`. */
  fresh(organizationId: string): SnapshotReading | undefined;
  /** The current snapshot; the last good one while the source fails. Rejects only when there has never been one. */
  get(organizationId: string): Promise<SnapshotReading>;
  /** Reads what a change on this node has just committed. */
  refresh(organizationId: string): Promise<void>;
}

export const MAX_AGE_MS: number = 1000;
export const STALE_AFTER_MS: number = 2000;

interface Held {
  snapshot: Snapshot;
  /** When the source was last asked and agreed, taken before the asking. */
  confirmedAtMs: number;
}

export function createSnapshots(
  source: SnapshotSource,
  warn: (message: string, error: unknown) => void,
  nowMs: () => number = () => performance.now(),
): Snapshots {
  const held = new Map<string, Held>();
  const checks = new Map<string, Promise<Held>>();

  /** One check at a time per organization, shared by everyone who waits for it. */
  function check(organizationId: string): Promise<Held> {
    const running = checks.get(organizationId);
    if (running !== undefined) return running;
    const started = confirm(organizationId).finally(() => checks.delete(organizationId));
    checks.set(organizationId, started);
    return started;
  }

  async function confirm(organizationId: string): Promise<Held> {
    const confirmedAtMs = nowMs();
    const known = held.get(organizationId);
    const revision = await source.readRevision(organizationId);
    const snapshot =
      known?.snapshot.revision === revision
        ? known.snapshot
        : await loadSnapshot(source, organizationId, revision);
    const next = { snapshot, confirmedAtMs };
    held.set(organizationId, next);
    return next;
  }

  function reading({ snapshot, confirmedAtMs }: Held): SnapshotReading {
    return { snapshot, stale: nowMs() - confirmedAtMs > STALE_AFTER_MS };
  }

  function fresh(organizationId: string): SnapshotReading | undefined {
    const known = held.get(organizationId);
    return known && nowMs() - known.confirmedAtMs <= MAX_AGE_MS ? reading(known) : undefined;
  }

  return {
    fresh,
    async get(organizationId) {
      const current = fresh(organizationId);
      if (current !== undefined) return current;
      try {
        return reading(await check(organizationId));
      } catch (error) {
        const known = held.get(organizationId);
        if (known === undefined) throw error;
        warn("The flags could not be read; the last good ones go on being used.", error);
        return reading(known);
      }
    },
    async refresh(organizationId) {
      // A check that is already running may have read before the commit.
      await checks.get(organizationId)?.catch(() => undefined);
      try {
        await check(organizationId);
      } catch (error) {
        // The change is committed; what failed is only this node's view of it, so the next evaluation asks again.
        const known = held.get(organizationId);
        if (known !== undefined) known.confirmedAtMs = Number.NEGATIVE_INFINITY;
        warn("The flags were changed but could not be read again.", error);
      }
    },
  };
}

/** The revision is read before the flags: if they change in between, the snapshot's revision is behind and is read again. */
export async function loadSnapshot(
  source: SnapshotSource,
  organizationId: string,
  revision: number,
): Promise<Snapshot> {
  const flags = await source.readFlags(organizationId);
  return { revision, flags: new Map(flags.map((flag) => [flag.key, flag])) };
}
