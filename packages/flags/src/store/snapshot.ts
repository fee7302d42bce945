/** The tenants' flags in memory, which is where evaluation reads them: how old they may be, and what happens when they get older. */
import { createOutage } from "./outage.ts";
import type { SnapshotReading } from "./store.ts";
import { BadSnapshot } from "./tenant-snapshot.ts";
import { repeat, within } from "./wait.ts";

/** Where snapshots come from. */
export interface SnapshotSource<Held extends { readonly revision: number }> {
  readRevision(tenant: string): Promise<number>;
  /** The revisions of all these tenants, in one query. */
  readRevisions(tenants: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Throws `BadSnapshot` when what it finds cannot be used. */
  load(tenant: string, revision: number, known: Held | undefined): Promise<Held>;
}

export interface Snapshots {
  /** The snapshot in memory, if nobody needs to be asked before it is used. */
  peek(tenant: string, minRevision?: number): SnapshotReading | undefined;
  /** The current snapshot; the last good one while the source fails. Rejects only when there has never been one. */
  get(tenant: string, minRevision?: number): Promise<SnapshotReading>;
  /** Reads what a change on this node has just committed. Never rejects. */
  refresh(tenant: string, revision: number): Promise<void>;
  health(tenant: string): SnapshotHealth;
  close(): void;
}

export interface SnapshotHealth {
  readonly revision: number;
  readonly snapshotAgeMs: number | null;
  readonly stale: boolean;
  readonly problem?: string;
}

export interface SnapshotsOptions {
  readonly warn: (message: string, error: unknown) => void;
  readonly monotonicMs: () => number;
  /** 0: never. */
  readonly pollMs: number;
}

/** A snapshot confirmed longer ago is checked behind the answer that it gives. */
export const MAX_AGE_MS: number = 1000;
/** One confirmed longer ago still is checked before it gives an answer. */
export const CHECK_FIRST_MS: number = 30_000;
export const STALE_AFTER_MS: number = 2000;
/** The longest an evaluation that has a snapshot waits for a newer one. */
export const WAIT_MS: number = 1000;
/** The longest anything waits for the source. */
const GIVE_UP_MS = 10_000;
/** Tenants nobody has asked for in this time are not polled; the next reader has them checked first. */
const IDLE_AFTER_MS = 60_000;
/** A bad snapshot is looked at again after this time, in case somebody has mended it by hand. */
const RETRY_BAD_MS = 10_000;
/** Tenants in memory. */
const MAX_TENANTS = 10_000;

interface Held<S> {
  snapshot: S;
  /** When the source was last asked and agreed, taken before the asking. */
  confirmedAtMs: number;
  usedAtMs: number;
}

interface Check {
  readonly startedAtMs: number;
  readonly done: Promise<void>;
}

interface Refusal {
  readonly revision: number;
  readonly atMs: number;
  readonly error: BadSnapshot;
}

export function createSnapshots<S extends SnapshotReading["snapshot"]>(
  source: SnapshotSource<S>,
  { warn, monotonicMs, pollMs }: SnapshotsOptions,
): Snapshots {
  /** The least recently used first. */
  const held = new Map<string, Held<S>>();
  const checks = new Map<string, Check>();
  const refusals = new Map<string, Refusal>();
  const outage = createOutage({ warn, monotonicMs });
  let polling: { stop(): void } | undefined;
  let closed = false;

  function find(tenant: string): Held<S> | undefined {
    const known = held.get(tenant);
    const now = monotonicMs();
    if (known !== undefined && now - known.usedAtMs > MAX_AGE_MS) {
      held.delete(tenant);
      held.set(tenant, known);
    }
    return known;
  }

  /** Marks it as used: only now, because how long it lay idle decides whether it is checked first. */
  function reading(known: Held<S>, isBehind = false): SnapshotReading {
    const now = monotonicMs();
    known.usedAtMs = now;
    return { snapshot: known.snapshot, stale: isBehind || now - known.confirmedAtMs > STALE_AFTER_MS };
  }

  /** An answer that comes too late counts as none for those who wait; the snapshot it brings is used all the same. */
  function ask<Result>(work: () => Promise<Result>, options: { force: boolean }): Promise<Result> {
    return outage.attempt(() => within(work(), GIVE_UP_MS, "The database did not answer in time."), options);
  }

  /** One check at a time per tenant, shared by everyone who waits for it. */
  function check(tenant: string, { force = false } = {}): Promise<void> {
    const running = checks.get(tenant);
    if (running !== undefined) return running.done;
    const startedAtMs = monotonicMs();
    const done = ask(() => confirm(tenant, startedAtMs), { force }).finally(() => checks.delete(tenant));
    checks.set(tenant, { startedAtMs, done });
    return done;
  }

  function checkBehind(tenant: string): void {
    // What went wrong has been reported; whoever has no snapshot will ask again and be told.
    check(tenant).catch(() => undefined);
  }

  async function confirm(tenant: string, startedAtMs: number): Promise<void> {
    let revision = await source.readRevision(tenant);
    // Perhaps this was read before a later change that this node has learned of meanwhile: a second look can tell.
    if (isOlder(tenant, revision)) revision = await source.readRevision(tenant);
    if (isOlder(tenant, revision)) throw wentBack(tenant, revision);
    if (agree(tenant, revision, startedAtMs)) return;
    const refusal = refusals.get(tenant);
    if (refusal?.revision === revision && monotonicMs() - refusal.atMs < RETRY_BAD_MS) throw refusal.error;
    try {
      install(tenant, await source.load(tenant, revision, held.get(tenant)?.snapshot), startedAtMs);
    } catch (error) {
      if (error instanceof BadSnapshot) refuse(tenant, revision, error);
      throw error;
    }
  }

  function isOlder(tenant: string, revision: number): boolean {
    return revision < (held.get(tenant)?.snapshot.revision ?? 0);
  }

  /** A node never goes back to a revision older than one it has served. */
  function wentBack(tenant: string, revision: number): BadSnapshot {
    const error = new BadSnapshot(
      `The database is at revision ${revision} and has been further. Was an older copy restored? Restart to use it.`,
    );
    refuse(tenant, revision, error);
    return error;
  }

  /** Whether the snapshot in memory is the one of this revision. */
  function agree(tenant: string, revision: number, askedAtMs: number): boolean {
    const known = held.get(tenant);
    if (known?.snapshot.revision !== revision) return false;
    known.confirmedAtMs = Math.max(known.confirmedAtMs, askedAtMs);
    refusals.delete(tenant);
    return true;
  }

  function install(tenant: string, snapshot: S, startedAtMs: number): void {
    const known = held.get(tenant);
    refusals.delete(tenant);
    if (known === undefined) {
      held.set(tenant, { snapshot, confirmedAtMs: startedAtMs, usedAtMs: monotonicMs() });
      for (const oldest of held.keys()) {
        if (held.size <= MAX_TENANTS) break;
        held.delete(oldest);
      }
      startPolling();
    } else if (snapshot.revision >= known.snapshot.revision) {
      known.snapshot = snapshot;
      known.confirmedAtMs = Math.max(known.confirmedAtMs, startedAtMs);
    }
  }

  function refuse(tenant: string, revision: number, error: BadSnapshot): void {
    const isNews = refusals.get(tenant)?.revision !== revision;
    if (refusals.size >= MAX_TENANTS) refusals.clear();
    refusals.set(tenant, { revision, atMs: monotonicMs(), error });
    if (isNews) warn("The flags in the database cannot be used; the last good ones go on being used.", error);
  }

  function startPolling(): void {
    if (pollMs === 0 || closed) return;
    polling ??= repeat(pollMs, poll);
  }

  async function poll(): Promise<void> {
    const askedAtMs = monotonicMs();
    const tenants: string[] = [];
    for (const [tenant, { usedAtMs }] of held) {
      if (askedAtMs - usedAtMs <= IDLE_AFTER_MS) tenants.push(tenant);
    }
    if (tenants.length === 0) return;
    try {
      const revisions = await ask(() => source.readRevisions(tenants), { force: true });
      for (const [tenant, revision] of revisions) {
        if (held.has(tenant) && !agree(tenant, revision, askedAtMs)) checkBehind(tenant);
      }
    } catch {
      // Reported by the outage; the snapshots grow stale by themselves.
    }
  }

  const isBehind = (known: Held<S>, minRevision: number) => known.snapshot.revision < minRevision;

  function peek(tenant: string, minRevision = 0): SnapshotReading | undefined {
    const known = find(tenant);
    if (known === undefined || isBehind(known, minRevision)) return undefined;
    return monotonicMs() - known.confirmedAtMs <= MAX_AGE_MS ? reading(known) : undefined;
  }

  /** Waits for a check, but not for one that has already kept somebody waiting. */
  async function checkFirst(tenant: string): Promise<boolean> {
    const running = checks.get(tenant);
    const waited = running === undefined ? 0 : monotonicMs() - running.startedAtMs;
    if (waited >= WAIT_MS) return false;
    try {
      await within(check(tenant), WAIT_MS, "There was no answer yet.");
      return true;
    } catch {
      return false;
    }
  }

  return {
    peek,
    async get(tenant, minRevision = 0) {
      const current = peek(tenant, minRevision);
      if (current !== undefined) return current;
      const known = find(tenant);
      if (known === undefined) {
        await check(tenant);
        const loaded = held.get(tenant);
        if (loaded === undefined) throw new Error("The flags were read, and dropped for other tenants'.");
        return reading(loaded);
      }
      const now = monotonicMs();
      const wasPolled = polling === undefined || now - known.usedAtMs <= IDLE_AFTER_MS;
      if (!isBehind(known, minRevision) && wasPolled && now - known.confirmedAtMs <= CHECK_FIRST_MS) {
        checkBehind(tenant);
        return reading(known);
      }
      const wasChecked = await checkFirst(tenant);
      const latest = held.get(tenant) ?? known;
      return reading(latest, !wasChecked && isBehind(latest, minRevision));
    },
    async refresh(tenant, revision) {
      const isDone = () => {
        const known = held.get(tenant);
        return known === undefined ? !checks.has(tenant) : !isBehind(known, revision);
      };
      // A check that is already running may have read before the commit, so it may take a second one.
      for (let round = 0; round < 2 && !isDone(); round++) {
        await check(tenant, { force: true }).catch(() => undefined);
      }
      const known = held.get(tenant);
      // The change is committed; what failed is only this node's view of it, so the next evaluation asks first.
      if (known !== undefined && isBehind(known, revision)) known.confirmedAtMs = Number.NEGATIVE_INFINITY;
    },
    health(tenant) {
      const known = held.get(tenant);
      const problem = refusals.get(tenant)?.error.message ?? outage.message();
      const shown = problem === undefined ? {} : { problem };
      if (known === undefined) return { revision: 0, snapshotAgeMs: null, stale: true, ...shown };
      const ageMs = monotonicMs() - known.confirmedAtMs;
      return {
        revision: known.snapshot.revision,
        snapshotAgeMs: Number.isFinite(ageMs) ? Math.round(ageMs) : null,
        stale: ageMs > STALE_AFTER_MS,
        ...shown,
      };
    },
    close() {
      closed = true;
      polling?.stop();
      polling = undefined;
    },
  };
}
