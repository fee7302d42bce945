/** Compares snapshots with the database and loads newer ones: one check at a time per tenant, never a bad snapshot. */
import { RETRY_MS, within } from "@halyard/base";
import type { Snapshot } from "../flag-store.ts";
import { areRequestsIsolated } from "../isolated-requests.ts";
import { createLimit } from "../wait.ts";
import type { ChainEnd } from "../writes/revision.ts";
import { createChangeCursor } from "./change-cursor.ts";
import type { SnapshotSource, SnapshotsOptions } from "./contract.ts";
import { BadSnapshot, LoadFailure } from "./errors.ts";
import { MAX_AGE_MS, MAX_TENANTS, type Memory } from "./memory.ts";
import { createOutage, GIVE_UP_MS, type Outage } from "./outage.ts";

/** A bad snapshot is read again after this time, because an operator may have repaired the rows. */
const RETRY_BAD_MS = 10_000;
/**
 * Tenants whose flags are read for the first time at the same time, and as many whose flags are updated: after a start
 * or an outage all of them must be read, and a change must not wait for first reads.
 */
const MAX_LOADS = 8;

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

type Turns = <Result>(work: () => Promise<Result>) => Promise<Result>;

const runNow: Turns = (work) => work();

/** Rejects after the timeout. A snapshot that is loaded later is still used. */
export function inTime<Result>(work: Promise<Result>): Promise<Result> {
  return within(work, GIVE_UP_MS, "The database did not answer in time.");
}

export class Loading<S extends Snapshot & ChainEnd> {
  /** Isolated requests cannot share checks, and cannot run them in the background. */
  readonly isIsolated: boolean = areRequestsIsolated();
  readonly #memory: Memory<S>;
  readonly #source: SnapshotSource<S>;
  readonly #options: SnapshotsOptions;
  readonly #loaded: () => void;
  readonly #checks = new Map<string, Check>();
  readonly #refusals = new Map<string, Refusal>();
  readonly #outage: Outage;
  readonly #cursor: ReturnType<typeof createChangeCursor>;
  readonly #firstLoads: Turns = this.isIsolated ? runNow : createLimit(MAX_LOADS);
  readonly #updates: Turns = this.isIsolated ? runNow : createLimit(MAX_LOADS);

  /** `loaded` is called after each load. */
  constructor(memory: Memory<S>, source: SnapshotSource<S>, options: SnapshotsOptions, loaded: () => void) {
    this.#loaded = loaded;
    this.#memory = memory;
    this.#source = source;
    this.#options = options;
    this.#outage = createOutage(options);
    this.#cursor = createChangeCursor(source);
  }

  /** Why the tenant, or every tenant, is not read. */
  problem(tenant: string): string | undefined {
    return this.#refusals.get(tenant)?.error.message ?? this.outage();
  }

  outage(): string | undefined {
    return this.#outage.message();
  }

  running(tenant: string): Check | undefined {
    return this.#checks.get(tenant);
  }

  /** Runs one check at a time per tenant. Concurrent callers share it. */
  check(tenant: string, { force = false }: { readonly force?: boolean } = {}): Promise<void> {
    const running = this.#checks.get(tenant);
    if (running !== undefined) return running.done;
    const { monotonicMs } = this.#options;
    const attempt = () =>
      this.#outage.attempt(() => this.#confirmInTime(tenant, monotonicMs(), force), { force });
    // All reads of a first load wait for its turn, so that a cold start leaves connections to the host.
    const done = this.#memory.has(tenant) ? attempt() : this.#firstLoads(attempt);
    if (this.isIsolated) return done;
    const cleared = done.finally(() => this.#checks.delete(tenant));
    this.#checks.set(tenant, { startedAtMs: monotonicMs(), done: cleared });
    return cleared;
  }

  checkInBackground(tenant: string): void {
    // The failure has been logged. A caller without a snapshot checks again and gets the error.
    this.check(tenant).catch(() => undefined);
  }

  /** Checks which of the tenants in use have changed. Never rejects. */
  async poll(): Promise<void> {
    const memory = this.#memory;
    const readAtMs = this.#options.monotonicMs();
    const tenants = [...memory.tenants()].filter((tenant) => memory.isInUse(tenant, readAtMs));
    for (const tenant of memory.followers.tenants()) if (!memory.has(tenant)) this.checkInBackground(tenant);
    if (tenants.length === 0) return;
    try {
      const reading = () => inTime(this.#cursor.read(tenants, readAtMs));
      const ends = await this.#outage.attempt(reading, { force: true });
      for (const tenant of memory.tenants()) {
        const end = ends.get(tenant);
        const isConfirmed =
          end === undefined
            ? memory.confirmUnnamed(tenant, ends.covers(tenant), readAtMs)
            : this.#isConfirmed(tenant, end, readAtMs);
        if (!isConfirmed && memory.isInUse(tenant, readAtMs)) this.checkInBackground(tenant);
      }
    } catch {
      // The outage has logged it. The snapshots become stale with time.
    }
  }

  async #confirmInTime(tenant: string, startedAtMs: number, force: boolean): Promise<void> {
    const progress: Progress = { end: undefined, isLoading: false };
    try {
      await inTime(this.#confirm(tenant, startedAtMs, { force, progress }));
    } catch (error) {
      // Reading the revision tells whether the database answers. A failed load concerns one tenant only.
      const { end, isLoading } = progress;
      if (end === undefined || error instanceof BadSnapshot || error instanceof LoadFailure) throw error;
      const failure = new LoadFailure("The flags cannot be read from the database.", { cause: error });
      // A tenant that is still waiting for its turn has not failed.
      if (isLoading) this.#refuse(tenant, end.revision, failure);
      throw failure;
    }
  }

  async #confirm(
    tenant: string,
    startedAtMs: number,
    { force, progress }: { force: boolean; progress: Progress },
  ): Promise<void> {
    let end = await this.#source.readRevision(tenant);
    // This process may have read a later change in the meantime. A second read decides.
    if (this.#isOlder(tenant, end)) end = await this.#source.readRevision(tenant);
    if (this.#isOlder(tenant, end)) throw this.#wentBack(tenant, end);
    if (this.#isConfirmed(tenant, end, startedAtMs)) return;
    const refusal = this.#refusals.get(tenant);
    if (refusal !== undefined && this.#isFinal(refusal, end, force)) throw refusal.error;
    progress.end = end;
    try {
      const turn = this.#memory.has(tenant) ? this.#updates : runNow;
      await turn(() => {
        progress.isLoading = true;
        return inTime(this.#load(tenant, end, startedAtMs));
      });
    } catch (error) {
      if (error instanceof BadSnapshot) this.#refuse(tenant, end.revision, error);
      throw error;
    }
  }

  async #load(tenant: string, end: ChainEnd, startedAtMs: number): Promise<void> {
    // Another check may have loaded the snapshot while this one waited for its turn.
    if (this.#isConfirmed(tenant, end, startedAtMs)) return;
    const previous = this.#memory.get(tenant)?.snapshot;
    const snapshot = await this.#source.load(tenant, end, previous);
    this.#refusals.delete(tenant);
    this.#memory.install(tenant, snapshot, startedAtMs, this.#cursor.coveredAtMs());
    this.#loaded();
    await this.#confirmSlowLoad(tenant, startedAtMs);
    if (previous?.revision === end.revision && previous.auditHash !== end.auditHash) {
      const reason = new Error(
        `Revision ${end.revision} in the database is another change than the one in memory.`,
      );
      this.#options.warn(
        "The audit history in the database has changed, probably because a backup was restored. All flags were read again.",
        reason,
      );
    }
  }

  /** The revision was read before a load that took long. Another read prevents that its flags are stale already. */
  async #confirmSlowLoad(tenant: string, startedAtMs: number): Promise<void> {
    const readAtMs = this.#options.monotonicMs();
    if (readAtMs - startedAtMs <= MAX_AGE_MS) return;
    const end = await this.#source.readRevision(tenant).catch(() => undefined);
    if (end !== undefined) this.#isConfirmed(tenant, end, readAtMs);
  }

  #isConfirmed(tenant: string, end: ChainEnd, readAtMs: number): boolean {
    const isConfirmed = this.#memory.confirm(tenant, end, readAtMs);
    if (isConfirmed) this.#refusals.delete(tenant);
    return isConfirmed;
  }

  /** Whether the last refusal still holds, without another load. */
  #isFinal({ error, revision, atMs }: Refusal, end: ChainEnd, force: boolean): boolean {
    const ageMs = this.#options.monotonicMs() - atMs;
    if (error instanceof BadSnapshot) return revision === end.revision && ageMs < RETRY_BAD_MS;
    return !force && ageMs < RETRY_MS;
  }

  #isOlder(tenant: string, { revision }: ChainEnd): boolean {
    const entry = this.#memory.get(tenant);
    return entry !== undefined && revision < Math.max(entry.snapshot.revision, entry.minRevision);
  }

  /** A process never returns to a revision older than one it has served or committed. */
  #wentBack(tenant: string, { revision }: ChainEnd): BadSnapshot {
    const error = new BadSnapshot(
      `The database is at revision ${revision}, older than the flags in memory. If a backup was restored, restart this process.`,
    );
    this.#refuse(tenant, revision, error);
    return error;
  }

  #refuse(tenant: string, revision: number, error: BadSnapshot | LoadFailure): void {
    const { warn, monotonicMs } = this.#options;
    const last = this.#refusals.get(tenant);
    const isBad = error instanceof BadSnapshot;
    const isNews = last?.error.name !== error.name || (isBad && last.revision !== revision);
    if (this.#refusals.size >= MAX_TENANTS) this.#refusals.clear();
    this.#refusals.set(tenant, { revision, atMs: monotonicMs(), error });
    if (!isNews) return;
    if (isBad) warn("The flags in the database are invalid. The last good snapshot is used.", error);
    else warn("The flags of a tenant cannot be read. Its last good snapshot is used until they can.", error);
  }
}
