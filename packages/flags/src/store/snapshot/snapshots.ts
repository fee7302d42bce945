/** The snapshots of all tenants: decides when one may be served, and when it is checked first. */
import { within } from "@halyard/base";
import type { Snapshot, SnapshotReading } from "../flag-store.ts";
import { repeat } from "../wait.ts";
import type { ChainEnd } from "../writes/revision.ts";
import type { SnapshotSource, SnapshotsOptions } from "./contract.ts";
import { notLoaded } from "./errors.ts";
import type { Follower } from "./followers.ts";
import type { SnapshotFigures, SnapshotHealth } from "./health.ts";
import { inTime, Loading } from "./loading.ts";
import { IDLE_AFTER_MS, isBehind, MAX_AGE_MS, Memory, STALE_AFTER_MS } from "./memory.ts";

/** A snapshot that was confirmed longer ago than this is checked before it is served. */
export const CHECK_FIRST_MS: number = 30_000;
/** The longest that an evaluation with a snapshot waits for a newer one. */
export const WAIT_MS: number = 1000;

export class Snapshots<S extends Snapshot & ChainEnd = Snapshot & ChainEnd> {
  readonly #memory: Memory<S>;
  readonly #loading: Loading<S>;
  readonly #monotonicMs: () => number;
  readonly #pollMs: number;
  #polling: { stop(): void } | undefined;
  #isClosed = false;

  constructor(source: SnapshotSource<S>, options: SnapshotsOptions) {
    this.#memory = new Memory(options);
    this.#loading = new Loading(this.#memory, source, options, () => this.#startPolling());
    this.#monotonicMs = options.monotonicMs;
    this.#pollMs = options.pollMs;
  }

  /** The snapshot in memory, if it may be used without a read. */
  peek(tenant: string, minRevision = 0): SnapshotReading | undefined {
    const entry = this.#memory.use(tenant);
    if (entry === undefined || isBehind(entry, minRevision)) return undefined;
    return this.#monotonicMs() - entry.confirmedAtMs <= MAX_AGE_MS ? this.#memory.read(entry) : undefined;
  }

  /** The current snapshot, or the last good one during an outage. Rejects only if there has never been one. */
  async get(tenant: string, minRevision = 0): Promise<SnapshotReading> {
    const current = this.peek(tenant, minRevision);
    if (current !== undefined) return current;
    const [memory, { isIsolated }] = [this.#memory, this.#loading];
    const entry = memory.use(tenant);
    if (entry === undefined) return this.#getFirst(tenant, minRevision);
    const now = this.#monotonicMs();
    const wasPolled = this.#polling === undefined || now - entry.usedAtMs <= IDLE_AFTER_MS;
    if (!isBehind(entry, minRevision) && wasPolled && now - entry.confirmedAtMs <= CHECK_FIRST_MS) {
      if (!isIsolated) this.#loading.checkInBackground(tenant);
      if (!isIsolated || now - entry.checkedAtMs < MAX_AGE_MS) return memory.read(entry);
    }
    entry.checkedAtMs = now;
    const wasChecked = await this.#checkFirst(tenant, minRevision);
    const latest = memory.get(tenant) ?? entry;
    return memory.read(latest, !wasChecked && isBehind(latest, minRevision));
  }

  /** Reads a change that this process has committed. Never rejects. */
  async refresh(tenant: string, revision: number): Promise<void> {
    const isDone = () => {
      const entry = this.#memory.get(tenant);
      return entry === undefined ? !this.#loading.running(tenant) : !isBehind(entry, revision);
    };
    // A running check may have read before the commit, so a second one may be needed.
    for (let round = 0; round < 2 && !isDone(); round++) {
      await inTime(this.#loading.check(tenant, { force: true })).catch(() => undefined);
    }
    const entry = this.#memory.get(tenant);
    // The change is committed, but this process could not read it. The next evaluation checks first.
    if (entry === undefined || !isBehind(entry, revision)) return;
    entry.minRevision = Math.max(entry.minRevision, revision);
    entry.confirmedAtMs = Number.NEGATIVE_INFINITY;
  }

  /** Reads a change that another process has announced, if the tenant is in use. Never rejects. */
  async wake(tenant: string, revision: number): Promise<void> {
    // Unused tenants are not kept current. The next use checks first.
    if (this.#memory.isInUse(tenant) && this.#isStillBehind(tenant, revision))
      await this.#checkFirst(tenant, revision);
  }

  /** Polls the changes of all tenants in use now, without waiting for the interval. Never rejects. */
  poll(): Promise<void> {
    return this.#loading.poll();
  }

  /** Keeps the tenant in use. Calls back with its snapshot in memory, if any, then with every new one. Returns a function that stops. */
  follow(tenant: string, follower: Follower<S>): () => void {
    const stop = this.#memory.followers.add(tenant, follower);
    const entry = this.#memory.get(tenant);
    if (entry === undefined) this.#loading.checkInBackground(tenant);
    else follower(entry.snapshot, undefined);
    this.#startPolling();
    return stop;
  }

  health(tenant: string): SnapshotHealth {
    const entry = this.#memory.get(tenant);
    const problem = this.#loading.problem(tenant);
    const problemField = problem === undefined ? {} : { problem };
    if (entry === undefined) return { revision: 0, snapshotAgeMs: null, stale: true, ...problemField };
    const ageMs = this.#monotonicMs() - entry.confirmedAtMs;
    return {
      revision: entry.snapshot.revision,
      snapshotAgeMs: Number.isFinite(ageMs) ? Math.round(ageMs) : null,
      stale: ageMs > STALE_AFTER_MS,
      ...problemField,
    };
  }

  /** Whether the database could not be read at the last attempt. */
  isCutOff(): boolean {
    return this.#loading.outage() !== undefined;
  }

  figures(): SnapshotFigures {
    return this.#memory.figures();
  }

  close(): void {
    this.#isClosed = true;
    this.#polling?.stop();
    this.#polling = undefined;
  }

  #startPolling(): void {
    if (this.#pollMs === 0 || this.#isClosed || this.#loading.isIsolated) return;
    this.#polling ??= repeat(this.#pollMs, () => this.poll());
  }

  /** Waits for a check at most `WAIT_MS`. Does not join a check that already runs for longer. */
  async #checkFirst(tenant: string, minRevision: number): Promise<boolean> {
    const startedAtMs = this.#monotonicMs();
    const running = this.#loading.running(tenant);
    if (running !== undefined && startedAtMs - running.startedAtMs >= WAIT_MS) return false;
    const check = (leftMs: number) =>
      within(this.#loading.check(tenant), leftMs, "The database has not answered yet.");
    try {
      await check(WAIT_MS);
      if (running !== undefined && this.#isStillBehind(tenant, minRevision))
        await check(Math.max(0, WAIT_MS - (this.#monotonicMs() - startedAtMs)));
      return true;
    } catch {
      return false;
    }
  }

  /** A check that was already running may have read before the change that the caller has seen. */
  #isStillBehind(tenant: string, minRevision: number): boolean {
    const entry = this.#memory.get(tenant);
    return entry !== undefined && isBehind(entry, minRevision);
  }

  async #getFirst(tenant: string, minRevision: number): Promise<SnapshotReading> {
    const wasRunning = this.#loading.running(tenant) !== undefined;
    // A load that is still waiting for its turn keeps it, for the caller's next attempt.
    await inTime(this.#loading.check(tenant)).catch((error) => {
      throw notLoaded(error);
    });
    const wasChecked =
      !(wasRunning && this.#isStillBehind(tenant, minRevision)) ||
      (await this.#checkFirst(tenant, minRevision));
    const loaded = this.#memory.get(tenant);
    if (loaded === undefined)
      throw notLoaded(new Error("The snapshot of the tenant was evicted right after it was loaded."));
    return this.#memory.read(loaded, !wasChecked && isBehind(loaded, minRevision));
  }
}
