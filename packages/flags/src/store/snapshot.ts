/** The tenants' flags in memory, which is where evaluation reads them: how old they may be, and what happens when they get older. */
import { BadSnapshot, LoadFailure } from "./bad-snapshot.ts";
import { areRequestsIsolated } from "./isolated-requests.ts";
import { createOutage } from "./outage.ts";
import { type ChainEnd, isSameEnd } from "./revision.ts";
import type { SnapshotFigures, SnapshotHealth } from "./snapshot-health.ts";
import type { Snapshot, SnapshotReading } from "./store.ts";
import { createLimit, repeat, within } from "./wait.ts";

/** Where snapshots come from. */
export interface SnapshotSource<Held extends ChainEnd> {
  readRevision(tenant: string): Promise<ChainEnd>;
  /** The revisions of all these tenants, in one query. */
  readRevisions(tenants: readonly string[]): Promise<ReadonlyMap<string, ChainEnd>>;
  /** Throws `BadSnapshot` when what it finds cannot be used. */
  load(tenant: string, end: ChainEnd, known: Held | undefined): Promise<Held>;
}

export interface Snapshots {
  /** The snapshot in memory, if nobody needs to be asked before it is used. */
  peek(tenant: string, minRevision?: number): SnapshotReading | undefined;
  /** The current snapshot; the last good one while the source fails. Rejects only when there has never been one. */
  get(tenant: string, minRevision?: number): Promise<SnapshotReading>;
  /** Reads what a change on this node has just committed. Never rejects. */
  refresh(tenant: string, revision: number): Promise<void>;
  /** Reads what a change elsewhere is said to have committed, if the tenant is in use. Never rejects. */
  wake(tenant: string, revision: number): Promise<void>;
  /** Asks for the revisions of all tenants in use, between the times when that is done anyway. Never rejects. */
  poll(): Promise<void>;
  health(tenant: string): SnapshotHealth;
  figures(): SnapshotFigures;
  close(): void;
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
/** A tenant whose flags could not be read is left alone this long, while others are read. */
const RETRY_LOAD_MS = 250;
/** Tenants whose flags are read at the same time: after an outage, all of them want to be. */
const MAX_LOADS = 8;
/** Tenants in memory. */
const MAX_TENANTS = 10_000;

interface Held<S> {
  snapshot: S;
  /** When the source was last asked and agreed, taken before the asking. */
  confirmedAtMs: number;
  usedAtMs: number;
  /** A revision that this node has committed and could not read: nothing older is current. */
  needs: number;
  /** The latest revision the database is known to have had. */
  seen: number;
  /** When a request last set out to check it, where each checks for itself. */
  checkedAtMs: number;
}

/** How far a check has come. */
interface Progress {
  /** What the database is at, once that is read, and unless the snapshot in memory is the same. */
  end: ChainEnd | undefined;
  isLoading: boolean;
}

interface Check {
  readonly startedAtMs: number;
  readonly done: Promise<void>;
}

interface Refusal {
  readonly revision: number;
  readonly atMs: number;
  readonly error: BadSnapshot | LoadFailure;
}

export function createSnapshots<S extends Snapshot & ChainEnd>(
  source: SnapshotSource<S>,
  { warn, monotonicMs, pollMs }: SnapshotsOptions,
): Snapshots {
  /** The least recently used first. */
  const held = new Map<string, Held<S>>();
  const checks = new Map<string, Check>();
  const refusals = new Map<string, Refusal>();
  const outage = createOutage({ warn, monotonicMs });
  // Where requests are isolated, nobody waits for another's check, and none goes on behind an answer.
  const isolated = areRequestsIsolated();
  const limited: <Result>(work: () => Promise<Result>) => Promise<Result> = isolated
    ? (work) => work()
    : createLimit(MAX_LOADS);
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
  function inTime<Result>(work: Promise<Result>): Promise<Result> {
    return within(work, GIVE_UP_MS, "The database did not answer in time.");
  }

  /** One check at a time per tenant, shared by everyone who waits for it. */
  function check(tenant: string, { force = false } = {}): Promise<void> {
    const running = checks.get(tenant);
    if (running !== undefined) return running.done;
    const startedAtMs = monotonicMs();
    const done = outage.attempt(() => confirmInTime(tenant, startedAtMs, force), { force });
    if (isolated) return done;
    const cleared = done.finally(() => checks.delete(tenant));
    checks.set(tenant, { startedAtMs, done: cleared });
    return cleared;
  }

  async function confirmInTime(tenant: string, startedAtMs: number, force: boolean): Promise<void> {
    const progress: Progress = { end: undefined, isLoading: false };
    try {
      await inTime(confirm(tenant, startedAtMs, { force, progress }));
    } catch (error) {
      // Only the revision says whether the database answers; the rest is one tenant's, and must not stop all others.
      const { end, isLoading } = progress;
      if (end === undefined || error instanceof BadSnapshot || error instanceof LoadFailure) throw error;
      const failure = new LoadFailure("The flags cannot be read from the database.", { cause: error });
      // One that is still waiting for its turn has nothing wrong with it.
      if (isLoading) refuse(tenant, end.revision, failure);
      throw failure;
    }
  }

  function checkBehind(tenant: string): void {
    // What went wrong has been reported; whoever has no snapshot will ask again and be told.
    check(tenant).catch(() => undefined);
  }

  async function confirm(
    tenant: string,
    startedAtMs: number,
    { force, progress }: { force: boolean; progress: Progress },
  ): Promise<void> {
    let end = await source.readRevision(tenant);
    // Perhaps this was read before a later change that this node has learned of meanwhile: a second look can tell.
    if (isOlder(tenant, end)) end = await source.readRevision(tenant);
    if (isOlder(tenant, end)) throw wentBack(tenant, end);
    if (agree(tenant, end, startedAtMs)) return;
    const refusal = refusals.get(tenant);
    if (refusal !== undefined && isFinal(refusal, end, force)) throw refusal.error;
    progress.end = end;
    try {
      await limited(() => {
        progress.isLoading = true;
        return inTime(load(tenant, end, startedAtMs));
      });
    } catch (error) {
      if (error instanceof BadSnapshot) refuse(tenant, end.revision, error);
      throw error;
    }
  }

  async function load(tenant: string, end: ChainEnd, startedAtMs: number): Promise<void> {
    // It may have waited for its turn, and another have brought the snapshot meanwhile.
    if (agree(tenant, end, startedAtMs)) return;
    const known = held.get(tenant)?.snapshot;
    const snapshot = await source.load(tenant, end, known);
    install(tenant, snapshot, startedAtMs);
    if (known?.revision === end.revision && known.auditHash !== end.auditHash) {
      const reason = new Error(`Two different changes have made revision ${end.revision}.`);
      warn(
        "The database has another history than before; was a copy restored? All flags were read anew.",
        reason,
      );
    }
  }

  /** Whether what was found wrong is taken to be so still. */
  function isFinal({ error, revision, atMs }: Refusal, end: ChainEnd, force: boolean): boolean {
    const ageMs = monotonicMs() - atMs;
    if (error instanceof BadSnapshot) return revision === end.revision && ageMs < RETRY_BAD_MS;
    return !force && ageMs < RETRY_LOAD_MS;
  }

  function isOlder(tenant: string, { revision }: ChainEnd): boolean {
    const known = held.get(tenant);
    return known !== undefined && revision < Math.max(known.snapshot.revision, known.needs);
  }

  /** A node never goes back to a revision older than one it has served or made. */
  function wentBack(tenant: string, { revision }: ChainEnd): BadSnapshot {
    const error = new BadSnapshot(
      `The database is at revision ${revision} and has been further. Was an older copy restored? Restart to use it.`,
    );
    refuse(tenant, revision, error);
    return error;
  }

  /** Whether the snapshot in memory is the one the database is at: of this revision, and of the same history. */
  function agree(tenant: string, end: ChainEnd, askedAtMs: number): boolean {
    const known = held.get(tenant);
    if (known === undefined) return false;
    known.seen = Math.max(known.seen, end.revision);
    if (!isSameEnd(known.snapshot, end) || end.revision < known.needs) return false;
    known.confirmedAtMs = Math.max(known.confirmedAtMs, askedAtMs);
    refusals.delete(tenant);
    return true;
  }

  function install(tenant: string, snapshot: S, startedAtMs: number): void {
    const known = held.get(tenant);
    refusals.delete(tenant);
    if (known === undefined) {
      const times = { confirmedAtMs: startedAtMs, usedAtMs: monotonicMs(), checkedAtMs: startedAtMs };
      held.set(tenant, { snapshot, ...times, needs: 0, seen: 0 });
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

  function refuse(tenant: string, revision: number, error: BadSnapshot | LoadFailure): void {
    const last = refusals.get(tenant);
    const isBad = error instanceof BadSnapshot;
    const isNews = last?.error.name !== error.name || (isBad && last.revision !== revision);
    if (refusals.size >= MAX_TENANTS) refusals.clear();
    refusals.set(tenant, { revision, atMs: monotonicMs(), error });
    if (!isNews) return;
    if (isBad) warn("The flags in the database cannot be used; the last good ones go on being used.", error);
    else warn("A tenant's flags cannot be read; the last good ones go on being used until they can.", error);
  }

  function startPolling(): void {
    if (pollMs === 0 || closed || isolated) return;
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
      const ends = await outage.attempt(() => inTime(source.readRevisions(tenants)), { force: true });
      for (const [tenant, end] of ends) {
        if (held.has(tenant) && !agree(tenant, end, askedAtMs)) checkBehind(tenant);
      }
    } catch {
      // Reported by the outage; the snapshots grow stale by themselves.
    }
  }

  const isBehind = ({ snapshot, needs }: Held<S>, minRevision: number) =>
    snapshot.revision < Math.max(minRevision, needs);

  function peek(tenant: string, minRevision = 0): SnapshotReading | undefined {
    const known = find(tenant);
    if (known === undefined || isBehind(known, minRevision)) return undefined;
    return monotonicMs() - known.confirmedAtMs <= MAX_AGE_MS ? reading(known) : undefined;
  }

  /** Waits for a check, but not for one that has already kept somebody waiting. */
  async function checkFirst(tenant: string, minRevision: number): Promise<boolean> {
    const startedAtMs = monotonicMs();
    const joined = checks.get(tenant);
    if (joined !== undefined && startedAtMs - joined.startedAtMs >= WAIT_MS) return false;
    try {
      await within(check(tenant), WAIT_MS, "There was no answer yet.");
      if (joined !== undefined && isStillBehind(tenant, minRevision)) {
        const leftMs = Math.max(0, WAIT_MS - (monotonicMs() - startedAtMs));
        await within(check(tenant), leftMs, "There was no answer yet.");
      }
      return true;
    } catch {
      return false;
    }
  }

  /** After a check that was already running: it may have read before the change that the caller has seen. */
  function isStillBehind(tenant: string, minRevision: number): boolean {
    const known = held.get(tenant);
    return known !== undefined && isBehind(known, minRevision);
  }

  async function getFirst(tenant: string, minRevision: number): Promise<SnapshotReading> {
    const joined = checks.has(tenant);
    await check(tenant);
    const wasChecked =
      !(joined && isStillBehind(tenant, minRevision)) || (await checkFirst(tenant, minRevision));
    const loaded = held.get(tenant);
    if (loaded === undefined) throw new Error("The flags were read, and dropped for other tenants'.");
    return reading(loaded, !wasChecked && isBehind(loaded, minRevision));
  }

  return {
    peek,
    async get(tenant, minRevision = 0) {
      const current = peek(tenant, minRevision);
      if (current !== undefined) return current;
      const known = find(tenant);
      if (known === undefined) return getFirst(tenant, minRevision);
      const now = monotonicMs();
      const wasPolled = polling === undefined || now - known.usedAtMs <= IDLE_AFTER_MS;
      if (!isBehind(known, minRevision) && wasPolled && now - known.confirmedAtMs <= CHECK_FIRST_MS) {
        if (!isolated) checkBehind(tenant);
        if (!isolated || now - known.checkedAtMs < MAX_AGE_MS) return reading(known);
      }
      known.checkedAtMs = now;
      const wasChecked = await checkFirst(tenant, minRevision);
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
      if (known === undefined || !isBehind(known, revision)) return;
      known.needs = Math.max(known.needs, revision);
      known.confirmedAtMs = Number.NEGATIVE_INFINITY;
    },
    async wake(tenant, revision) {
      const known = held.get(tenant);
      // Nothing is kept current that nobody uses; the next reader has it checked first.
      if (known === undefined || monotonicMs() - known.usedAtMs > IDLE_AFTER_MS) return;
      if (isBehind(known, revision)) await checkFirst(tenant, revision);
    },
    poll,
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
    figures() {
      const now = monotonicMs();
      let [stale, oldestAgeMs, revisionLag] = [0, 0, 0];
      for (const { snapshot, confirmedAtMs, usedAtMs, needs, seen } of held.values()) {
        if (now - usedAtMs > IDLE_AFTER_MS) continue;
        const ageMs = now - confirmedAtMs;
        if (ageMs > STALE_AFTER_MS) stale += 1;
        oldestAgeMs = Math.max(oldestAgeMs, ageMs);
        revisionLag = Math.max(revisionLag, needs - snapshot.revision, seen - snapshot.revision);
      }
      return { snapshots: held.size, stale, oldestAgeMs, revisionLag };
    },
    close() {
      closed = true;
      polling?.stop();
      polling = undefined;
    },
  };
}
