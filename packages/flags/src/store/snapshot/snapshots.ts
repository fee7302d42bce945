/** Holds one snapshot per tenant in memory, decides when a snapshot is checked, and never replaces it with a bad one. */
import { RETRY_MS, within } from "@halyard/base";
import type { Snapshot, SnapshotReading } from "../flag-store.ts";
import { areRequestsIsolated } from "../isolated-requests.ts";
import { createLimit, repeat } from "../wait.ts";
import { type ChainEnd, isSameEnd } from "../writes/revision.ts";
import { createChangeCursor } from "./change-cursor.ts";
import type { SnapshotSource, Snapshots, SnapshotsOptions } from "./contract.ts";
import { confirmUnless, type Entry } from "./entry.ts";
import { BadSnapshot, LoadFailure, notLoaded } from "./errors.ts";
import { Followers } from "./followers.ts";
import { figuresOf } from "./health.ts";
import { createOutage, GIVE_UP_MS } from "./outage.ts";

/** A snapshot that was confirmed longer ago is served, and checked in the background. */
export const MAX_AGE_MS: number = 1000;
/** A snapshot that was confirmed longer ago than this is checked before it is served. */
export const CHECK_FIRST_MS: number = 30_000;
export const STALE_AFTER_MS: number = 2000;
/** The longest that an evaluation with a snapshot waits for a newer one. */
export const WAIT_MS: number = 1000;
/** A tenant that was not used for this time is not polled. Its next use checks it first. */
const IDLE_AFTER_MS = 60_000;
/** A bad snapshot is read again after this time, because an operator may have repaired the rows. */
const RETRY_BAD_MS = 10_000;
/**
 * Tenants whose flags are read for the first time at the same time, and as many whose flags are updated: after a start
 * or an outage all of them must be read, and a change must not wait for first reads.
 */
const MAX_LOADS = 8;
/** Snapshots in memory; the least recently used is evicted. */
const MAX_TENANTS = 10_000;

/** The progress of a check. */
interface Progress {
  /** The revision in the database, after it was read and differs from the snapshot. */
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
): Snapshots<S> {
  /** Sorted by use, the least recently used first. */
  const entries = new Map<string, Entry<S>>();
  const checks = new Map<string, Check>();
  const refusals = new Map<string, Refusal>();
  const outage = createOutage({ warn, monotonicMs });
  const followers = new Followers<S>();
  const cursor = createChangeCursor(source);
  // Isolated requests cannot share checks, and cannot run them in the background.
  const isolated = areRequestsIsolated();
  const [firstLoads, updates] = isolated
    ? [runNow, runNow]
    : [createLimit(MAX_LOADS), createLimit(MAX_LOADS)];
  let polling: { stop(): void } | undefined;
  let closed = false;

  function find(tenant: string): Entry<S> | undefined {
    const entry = entries.get(tenant);
    const now = monotonicMs();
    if (entry !== undefined && now - entry.usedAtMs > MAX_AGE_MS) {
      entries.delete(tenant);
      entries.set(tenant, entry);
    }
    return entry;
  }

  /** Marks the snapshot as used. Not earlier, because its idle time decides whether it is checked first. */
  function toReading(entry: Entry<S>, isBehind = false): SnapshotReading {
    const now = monotonicMs();
    entry.usedAtMs = now;
    return { snapshot: entry.snapshot, stale: isBehind || now - entry.confirmedAtMs > STALE_AFTER_MS };
  }

  /** Rejects after the timeout. A snapshot that is loaded later is still used. */
  function inTime<Result>(work: Promise<Result>): Promise<Result> {
    return within(work, GIVE_UP_MS, "The database did not answer in time.");
  }

  /** Runs one check at a time per tenant. Concurrent callers share it. */
  function check(tenant: string, { force = false } = {}): Promise<void> {
    const running = checks.get(tenant);
    if (running !== undefined) return running.done;
    const attempt = () => outage.attempt(() => confirmInTime(tenant, monotonicMs(), force), { force });
    // All reads of a first load wait for its turn, so that a cold start leaves connections to the host.
    const done = entries.has(tenant) ? attempt() : firstLoads(attempt);
    if (isolated) return done;
    const cleared = done.finally(() => checks.delete(tenant));
    checks.set(tenant, { startedAtMs: monotonicMs(), done: cleared });
    return cleared;
  }

  async function confirmInTime(tenant: string, startedAtMs: number, force: boolean): Promise<void> {
    const progress: Progress = { end: undefined, isLoading: false };
    try {
      await inTime(confirm(tenant, startedAtMs, { force, progress }));
    } catch (error) {
      // Reading the revision tells whether the database answers. A failed load concerns one tenant only.
      const { end, isLoading } = progress;
      if (end === undefined || error instanceof BadSnapshot || error instanceof LoadFailure) throw error;
      const failure = new LoadFailure("The flags cannot be read from the database.", { cause: error });
      // A tenant that is still waiting for its turn has not failed.
      if (isLoading) refuse(tenant, end.revision, failure);
      throw failure;
    }
  }

  function checkInBackground(tenant: string): void {
    // The failure has been logged. A caller without a snapshot checks again and gets the error.
    check(tenant).catch(() => undefined);
  }

  async function confirm(
    tenant: string,
    startedAtMs: number,
    { force, progress }: { force: boolean; progress: Progress },
  ): Promise<void> {
    let end = await source.readRevision(tenant);
    // This process may have read a later change in the meantime. A second read decides.
    if (isOlder(tenant, end)) end = await source.readRevision(tenant);
    if (isOlder(tenant, end)) throw wentBack(tenant, end);
    if (isConfirmed(tenant, end, startedAtMs)) return;
    const refusal = refusals.get(tenant);
    if (refusal !== undefined && isFinal(refusal, end, force)) throw refusal.error;
    progress.end = end;
    try {
      const turn = entries.has(tenant) ? updates : runNow;
      await turn(() => {
        progress.isLoading = true;
        return inTime(load(tenant, end, startedAtMs));
      });
    } catch (error) {
      if (error instanceof BadSnapshot) refuse(tenant, end.revision, error);
      throw error;
    }
  }

  async function load(tenant: string, end: ChainEnd, startedAtMs: number): Promise<void> {
    // Another check may have loaded the snapshot while this one waited for its turn.
    if (isConfirmed(tenant, end, startedAtMs)) return;
    const previous = entries.get(tenant)?.snapshot;
    const snapshot = await source.load(tenant, end, previous);
    install(tenant, snapshot, startedAtMs);
    await confirmSlowLoad(tenant, startedAtMs);
    if (previous?.revision === end.revision && previous.auditHash !== end.auditHash) {
      const reason = new Error(
        `Revision ${end.revision} in the database is another change than the one in memory.`,
      );
      warn(
        "The audit history in the database has changed, probably because a backup was restored. All flags were read again.",
        reason,
      );
    }
  }

  /** The revision was read before a load that took long. Another read prevents that its flags are stale already. */
  async function confirmSlowLoad(tenant: string, startedAtMs: number): Promise<void> {
    const readAtMs = monotonicMs();
    if (readAtMs - startedAtMs <= MAX_AGE_MS) return;
    const end = await source.readRevision(tenant).catch(() => undefined);
    if (end !== undefined) isConfirmed(tenant, end, readAtMs);
  }

  /** Whether the last refusal still holds, without another load. */
  function isFinal({ error, revision, atMs }: Refusal, end: ChainEnd, force: boolean): boolean {
    const ageMs = monotonicMs() - atMs;
    if (error instanceof BadSnapshot) return revision === end.revision && ageMs < RETRY_BAD_MS;
    return !force && ageMs < RETRY_MS;
  }

  function isOlder(tenant: string, { revision }: ChainEnd): boolean {
    const entry = entries.get(tenant);
    return entry !== undefined && revision < Math.max(entry.snapshot.revision, entry.minRevision);
  }

  /** A process never returns to a revision older than one it has served or committed. */
  function wentBack(tenant: string, { revision }: ChainEnd): BadSnapshot {
    const error = new BadSnapshot(
      `The database is at revision ${revision}, older than the flags in memory. If a backup was restored, restart this process.`,
    );
    refuse(tenant, revision, error);
    return error;
  }

  /** Whether the snapshot in memory has the revision and the history of the database. Marks it as confirmed if so. */
  function isConfirmed(tenant: string, end: ChainEnd, readAtMs: number): boolean {
    const entry = entries.get(tenant);
    if (entry === undefined) return false;
    entry.databaseRevision = Math.max(entry.databaseRevision, end.revision);
    if (!isSameEnd(entry.snapshot, end) || end.revision < entry.minRevision) {
      entry.doubtedAtMs = Math.max(entry.doubtedAtMs, readAtMs);
      return false;
    }
    entry.confirmedAtMs = Math.max(entry.confirmedAtMs, readAtMs);
    refusals.delete(tenant);
    return true;
  }

  function install(tenant: string, snapshot: S, startedAtMs: number): void {
    const entry = entries.get(tenant);
    refusals.delete(tenant);
    if (entry === undefined) {
      const times = { confirmedAtMs: startedAtMs, usedAtMs: monotonicMs(), checkedAtMs: startedAtMs };
      // A poll during the load did not know this tenant.
      const doubtedAtMs = cursor.coveredAtMs();
      entries.set(tenant, { snapshot, ...times, minRevision: 0, databaseRevision: 0, doubtedAtMs });
      if (entries.size > MAX_TENANTS) evictOldest();
      startPolling();
      followers.notify(tenant, snapshot, undefined);
    } else if (snapshot.revision >= entry.snapshot.revision) {
      const previous = entry.snapshot;
      entry.snapshot = snapshot;
      entry.confirmedAtMs = Math.max(entry.confirmedAtMs, startedAtMs);
      followers.notify(tenant, snapshot, previous);
    }
  }

  function evictOldest(): void {
    for (const tenant of entries.keys()) if (!followers.has(tenant)) return void entries.delete(tenant);
  }

  function isInUse(tenant: string, { usedAtMs }: Entry<S>, nowMs: number): boolean {
    return nowMs - usedAtMs <= IDLE_AFTER_MS || followers.has(tenant);
  }

  function refuse(tenant: string, revision: number, error: BadSnapshot | LoadFailure): void {
    const last = refusals.get(tenant);
    const isBad = error instanceof BadSnapshot;
    const isNews = last?.error.name !== error.name || (isBad && last.revision !== revision);
    if (refusals.size >= MAX_TENANTS) refusals.clear();
    refusals.set(tenant, { revision, atMs: monotonicMs(), error });
    if (!isNews) return;
    if (isBad) warn("The flags in the database are invalid. The last good snapshot is used.", error);
    else warn("The flags of a tenant cannot be read. Its last good snapshot is used until they can.", error);
  }

  function startPolling(): void {
    if (pollMs === 0 || closed || isolated) return;
    polling ??= repeat(pollMs, poll);
  }

  async function poll(): Promise<void> {
    const readAtMs = monotonicMs();
    const tenants: string[] = [];
    for (const [tenant, entry] of entries) if (isInUse(tenant, entry, readAtMs)) tenants.push(tenant);
    for (const tenant of followers.tenants()) if (!entries.has(tenant)) checkInBackground(tenant);
    if (tenants.length === 0) return;
    try {
      const ends = await outage.attempt(() => inTime(cursor.read(tenants, readAtMs)), { force: true });
      for (const [tenant, entry] of entries) {
        const end = ends.get(tenant);
        if (
          end === undefined
            ? confirmUnless(entry, ends.covers(tenant), readAtMs)
            : isConfirmed(tenant, end, readAtMs)
        )
          continue;
        if (isInUse(tenant, entry, readAtMs)) checkInBackground(tenant);
      }
    } catch {
      // The outage has logged it. The snapshots become stale with time.
    }
  }

  const isBehind = (entry: Entry<S>, minRevision: number) =>
    entry.snapshot.revision < Math.max(minRevision, entry.minRevision);

  function peek(tenant: string, minRevision = 0): SnapshotReading | undefined {
    const entry = find(tenant);
    if (entry === undefined || isBehind(entry, minRevision)) return undefined;
    return monotonicMs() - entry.confirmedAtMs <= MAX_AGE_MS ? toReading(entry) : undefined;
  }

  /** Waits for a check at most `WAIT_MS`. Does not join a check that already runs for longer. */
  async function checkFirst(tenant: string, minRevision: number): Promise<boolean> {
    const startedAtMs = monotonicMs();
    const runningCheck = checks.get(tenant);
    if (runningCheck !== undefined && startedAtMs - runningCheck.startedAtMs >= WAIT_MS) return false;
    try {
      await within(check(tenant), WAIT_MS, "The database has not answered yet.");
      if (runningCheck !== undefined && isStillBehind(tenant, minRevision)) {
        const leftMs = Math.max(0, WAIT_MS - (monotonicMs() - startedAtMs));
        await within(check(tenant), leftMs, "The database has not answered yet.");
      }
      return true;
    } catch {
      return false;
    }
  }

  /** A check that was already running may have read before the change that the caller has seen. */
  function isStillBehind(tenant: string, minRevision: number): boolean {
    const entry = entries.get(tenant);
    return entry !== undefined && isBehind(entry, minRevision);
  }

  async function getFirst(tenant: string, minRevision: number): Promise<SnapshotReading> {
    const wasRunning = checks.has(tenant);
    // A load that is still waiting for its turn keeps it, for the caller's next attempt.
    await inTime(check(tenant)).catch((error) => {
      throw notLoaded(error);
    });
    const wasChecked =
      !(wasRunning && isStillBehind(tenant, minRevision)) || (await checkFirst(tenant, minRevision));
    const loaded = entries.get(tenant);
    if (loaded === undefined)
      throw notLoaded(new Error("The snapshot of the tenant was evicted right after it was loaded."));
    return toReading(loaded, !wasChecked && isBehind(loaded, minRevision));
  }

  return {
    peek,
    async get(tenant, minRevision = 0) {
      const current = peek(tenant, minRevision);
      if (current !== undefined) return current;
      const entry = find(tenant);
      if (entry === undefined) return getFirst(tenant, minRevision);
      const now = monotonicMs();
      const wasPolled = polling === undefined || now - entry.usedAtMs <= IDLE_AFTER_MS;
      if (!isBehind(entry, minRevision) && wasPolled && now - entry.confirmedAtMs <= CHECK_FIRST_MS) {
        if (!isolated) checkInBackground(tenant);
        if (!isolated || now - entry.checkedAtMs < MAX_AGE_MS) return toReading(entry);
      }
      entry.checkedAtMs = now;
      const wasChecked = await checkFirst(tenant, minRevision);
      const latest = entries.get(tenant) ?? entry;
      return toReading(latest, !wasChecked && isBehind(latest, minRevision));
    },
    async refresh(tenant, revision) {
      const isDone = () => {
        const entry = entries.get(tenant);
        return entry === undefined ? !checks.has(tenant) : !isBehind(entry, revision);
      };
      // A running check may have read before the commit, so a second one may be needed.
      for (let round = 0; round < 2 && !isDone(); round++) {
        await inTime(check(tenant, { force: true })).catch(() => undefined);
      }
      const entry = entries.get(tenant);
      // The change is committed, but this process could not read it. The next evaluation checks first.
      if (entry === undefined || !isBehind(entry, revision)) return;
      entry.minRevision = Math.max(entry.minRevision, revision);
      entry.confirmedAtMs = Number.NEGATIVE_INFINITY;
    },
    async wake(tenant, revision) {
      const entry = entries.get(tenant);
      // Unused tenants are not kept current. The next use checks first.
      if (entry === undefined || !isInUse(tenant, entry, monotonicMs())) return;
      if (isBehind(entry, revision)) await checkFirst(tenant, revision);
    },
    poll,
    follow(tenant, follower) {
      const stop = followers.add(tenant, follower);
      const entry = entries.get(tenant);
      if (entry === undefined) checkInBackground(tenant);
      else follower(entry.snapshot, undefined);
      startPolling();
      return stop;
    },
    health(tenant) {
      const entry = entries.get(tenant);
      const problem = refusals.get(tenant)?.error.message ?? outage.message();
      const problemField = problem === undefined ? {} : { problem };
      if (entry === undefined) return { revision: 0, snapshotAgeMs: null, stale: true, ...problemField };
      const ageMs = monotonicMs() - entry.confirmedAtMs;
      return {
        revision: entry.snapshot.revision,
        snapshotAgeMs: Number.isFinite(ageMs) ? Math.round(ageMs) : null,
        stale: ageMs > STALE_AFTER_MS,
        ...problemField,
      };
    },
    isCutOff: () => outage.message() !== undefined,
    figures: () =>
      figuresOf(entries.values(), {
        nowMs: monotonicMs(),
        idleAfterMs: IDLE_AFTER_MS,
        staleAfterMs: STALE_AFTER_MS,
      }),
    close() {
      closed = true;
      polling?.stop();
      polling = undefined;
    },
  };
}

const runNow = <Result>(work: () => Promise<Result>): Promise<Result> => work();
