/**
 * The sessions that this process follows. A change only marks sessions; one reader at a time then reads the marked ones
 * by value. A reading that began before a change is never the last one.
 */
import { later, RETRY_MS } from "@halyard/base";
import type { ChangeFeed } from "../changes/change-feed.ts";
import { type IdentityChange, isIdentityChange } from "../changes/identity-change.ts";
import { unavailable } from "../identify/errors.ts";
import { changedParts, type SessionCaller, type SessionReading } from "../identify/session-caller.ts";
import { type EndReason, LiveSession, type SessionListener, type Waiter } from "./live-session.ts";
import { SessionIndex, subjectsOf } from "./session-index.ts";
import type { SessionName, SessionReader } from "./session-reader.ts";

export interface LiveSessionsOptions {
  readonly feed: ChangeFeed;
  readonly reader: SessionReader;
  /** Called with the errors of listeners and of the session store. */
  readonly report: (error: unknown) => void;
}

/** Sessions in one reading. */
const MAX_BATCH = 500;
/** Longer than the handshake of a connection. */
const ENDED_MS = 60_000;
const MAX_ENDED = 10_000;
/** A session that has changed and cannot be read ends after this time. */
const MAX_UNREAD_MS = 5000;

export class LiveSessions {
  readonly #feed: ChangeFeed;
  readonly #reader: SessionReader;
  readonly #report: (error: unknown) => void;
  readonly #index = new SessionIndex();
  #marked = new Set<LiveSession>();
  #reading: Promise<void> | undefined;
  /** Sessions that ended a moment ago, for connections that are being opened. The oldest first. */
  readonly #endedAtMs = new Map<string, number>();
  /** No session expires before this. Wall-clock time. */
  nextExpiryMs: number = Number.POSITIVE_INFINITY;
  /** Called when a session is added. */
  onAdded: (() => void) | undefined;

  constructor({ feed, reader, report }: LiveSessionsOptions) {
    this.#feed = feed;
    this.#reader = reader;
    this.#report = report;
    feed.listeners.add((change) => {
      if (isIdentityChange(change)) this.#applyChange(change);
    });
  }

  get size(): number {
    return this.#index.size;
  }

  /** Sessions that are added later come last, also in an iteration that has begun. */
  all(): IterableIterator<LiveSession> {
    return this.#index.all();
  }

  /** The caller of a session, read after this call. Undefined when the session does not hold. Rejects when the store fails. */
  identify({ sessionId, token }: SessionName): Promise<SessionCaller | undefined> {
    const existing = this.#index.get(sessionId);
    const live = existing ?? new LiveSession(sessionId, token);
    live.token ??= token;
    live.usedAtMs = performance.now();
    if (existing === undefined) {
      this.#index.add(live);
      this.onAdded?.();
    }
    return new Promise((resolve, reject) => {
      live.wait({ resolve, reject });
      this.mark([live]);
    });
  }

  /** The same for a session that was verified before. Undefined also if it is not in memory with this token. */
  async identifyAgain(name: SessionName): Promise<SessionCaller | undefined> {
    return this.tokenOf(name.sessionId) === name.token ? this.identify(name) : undefined;
  }

  /**
   * Resolves to a function that stops. A session that is not known here is read first. The listener of a session that does
   * not hold is called before this resolves.
   */
  async follow(sessionId: string, listener: SessionListener): Promise<() => void> {
    let live = this.#index.get(sessionId);
    if (live === undefined && !this.#reader.isBatched) {
      // Without its token, the session cannot be read.
      listener.ended(this.#endedAtMs.has(sessionId) ? "ended" : "unavailable");
      return () => undefined;
    }
    if (live?.reading === undefined) {
      await this.identify({ sessionId, token: undefined });
      live = this.#index.get(sessionId);
    }
    if (live?.reading === undefined) {
      listener.ended("ended");
      return () => undefined;
    }
    live.addListener(listener);
    listener.current?.(live.reading.caller);
    return () => {
      live.usedAtMs = performance.now();
      live.removeListener(listener);
    };
  }

  /** The token of a session that is followed. A credential: it must not leave the process. */
  tokenOf(sessionId: string): string | undefined {
    return this.#index.get(sessionId)?.token;
  }

  /** Sessions to read by value. */
  mark(sessions: Iterable<LiveSession>): void {
    for (const live of sessions) this.#marked.add(live);
    if (this.#marked.size > 0) this.#reading ??= this.#readMarked();
  }

  /** Resolves when no marked session is left. */
  async settled(): Promise<void> {
    while (this.#reading !== undefined) await this.#reading;
  }

  /** The sessions that have expired by the clock. */
  takeExpired(wallMs: number): LiveSession[] {
    const expired: LiveSession[] = [];
    this.nextExpiryMs = Number.POSITIVE_INFINITY;
    for (const live of this.#index.all()) {
      const { expiresAt } = live.reading?.caller ?? { expiresAt: Number.POSITIVE_INFINITY };
      this.nextExpiryMs = Math.min(this.nextExpiryMs, expiresAt);
      if (expiresAt <= wallMs) expired.push(live);
    }
    return expired;
  }

  /** Stops following, without calling listeners. */
  drop(live: LiveSession): void {
    live.isEnded = true;
    this.#marked.delete(live);
    this.#index.remove(live);
  }

  #applyChange(change: IdentityChange): void {
    const concerned = this.#index.concernedBy(change);
    const nowMs = performance.now();
    for (const live of concerned) live.changedAtMs ??= nowMs;
    this.mark(concerned);
  }

  async #readMarked(): Promise<void> {
    // Changes of one write arrive together, and share one reading.
    await undefined;
    while (this.#marked.size > 0) {
      const batch: LiveSession[] = [];
      for (const live of this.#marked) {
        this.#marked.delete(live);
        if (batch.push(live) === MAX_BATCH) break;
      }
      await this.#readBatch(batch);
    }
    this.#reading = undefined;
  }

  async #readBatch(batch: readonly LiveSession[]): Promise<void> {
    const waiting = batch.map((live) => live.takeWaiters());
    const versions = batch.map(({ foundVersion }) => foundVersion);
    const startedAtMs = performance.now();
    const wallMs = Date.now();
    try {
      const readings = await this.#reader.read(batch);
      for (const [at, live] of batch.entries()) {
        live.readAtMs = startedAtMs;
        live.confirmedAtMs = wallMs;
        // Found before these rows were read: they are of this version, or of a later one that differs from it.
        live.version = versions[at] ?? live.version;
        this.#apply(live, readings.get(live.sessionId), startedAtMs, waiting[at] ?? []);
      }
    } catch (error) {
      this.#report(error);
      for (const [at, live] of batch.entries()) this.#fail(live, waiting[at] ?? [], error);
    }
  }

  #apply(
    live: LiveSession,
    reading: SessionReading | undefined,
    startedAtMs: number,
    waiters: readonly Waiter[],
  ): void {
    if (live.isEnded || reading === undefined) {
      if (!live.isEnded) this.#end(live, "ended");
      for (const waiter of waiters) waiter.resolve(undefined);
      return;
    }
    this.#update(live, reading);
    // Its rows may have been read before a change.
    if (this.#feed.hasChanged(subjectsOf(live), startedAtMs)) {
      if (waiters.length > 0) live.waiters = [...waiters, ...live.takeWaiters()];
      this.#marked.add(live);
      return;
    }
    live.changedAtMs = undefined;
    for (const waiter of waiters) waiter.resolve(live.reading?.caller);
  }

  #update(live: LiveSession, reading: SessionReading): void {
    const previous = live.reading;
    if (reading === previous) return;
    const changed = previous ? changedParts(previous.caller, reading.caller) : [];
    const isRenewed = previous !== undefined && previous.caller.expiresAt !== reading.caller.expiresAt;
    // The same object means the same state.
    const isSame = previous !== undefined && changed.length === 0 && !isRenewed;
    this.#index.remove(live);
    live.reading = isSame ? { ...reading, caller: previous.caller } : reading;
    live.token = reading.token;
    this.nextExpiryMs = Math.min(this.nextExpiryMs, reading.caller.expiresAt);
    this.#index.add(live);
    for (const listener of live.listeners) {
      if (isRenewed) this.#guard(() => listener.renewed?.(reading.caller.expiresAt));
      if (previous === undefined || changed.length === 0) continue;
      this.#guard(() => listener.changed({ changed, previous: previous.caller, current: reading.caller }));
    }
  }

  #fail(live: LiveSession, waiters: readonly Waiter[], cause: unknown): void {
    for (const { reject } of waiters) reject(unavailable("The session could not be read. Try again.", cause));
    if (live.isEnded || live.changedAtMs === undefined) return;
    if (performance.now() - live.changedAtMs >= MAX_UNREAD_MS) return this.#end(live, "unavailable");
    later(() => {
      if (!live.isEnded) this.mark([live]);
    }, RETRY_MS);
  }

  #end(live: LiveSession, reason: EndReason): void {
    this.drop(live);
    const nowMs = performance.now();
    this.#endedAtMs.set(live.sessionId, nowMs);
    for (const [sessionId, endedAtMs] of this.#endedAtMs) {
      if (nowMs - endedAtMs <= ENDED_MS && this.#endedAtMs.size <= MAX_ENDED) break;
      this.#endedAtMs.delete(sessionId);
    }
    // Calls that came during the reading which ended it. No other reading follows.
    for (const { resolve, reject } of live.takeWaiters()) {
      if (reason === "ended") resolve(undefined);
      else reject(unavailable("The session could not be read. Try again."));
    }
    const { listeners } = live;
    live.listeners = [];
    for (const listener of listeners) this.#guard(() => listener.ended(reason));
  }

  #guard(call: () => unknown): void {
    try {
      const result = call();
      if (result instanceof Promise) result.catch((error: unknown) => this.#report(error));
    } catch (error) {
      this.#report(error);
    }
  }
}
