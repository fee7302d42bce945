/** The sessions that this process follows: who is told when one changes or ends. */
import type { ChangeFeed } from "../changes/change-feed.ts";
import { isIdentityChange } from "../changes/identity-change.ts";
import { changedParts, type SessionCaller, type SessionReading } from "../identify/session-caller.ts";
import { LiveSession } from "./live-session.ts";
import { SessionIndex, subjectsOf } from "./session-index.ts";
import type { EndReason, SessionListener } from "./session-listener.ts";
import type { SessionName, SessionReader } from "./session-reader.ts";
import { type Comparison, WatchedRows } from "./watched-rows.ts";

export interface LiveSessionsOptions {
  readonly feed: ChangeFeed;
  readonly reader: SessionReader;
  /** Empty where each session must be read. */
  readonly comparisons?: readonly Comparison<LiveSession>[] | undefined;
  /** Called with the errors of listeners and of the session store. */
  readonly report: (error: unknown) => void;
}

/** How long a session without listeners is kept for a connection that is being opened. */
const OPENING_MS = 30_000;
/** Longer than the handshake of a connection. */
const ENDED_MS = 60_000;
const MAX_ENDED = 10_000;

export class LiveSessions {
  readonly rows: WatchedRows<LiveSession, SessionReading>;
  readonly #reader: SessionReader;
  readonly #report: (error: unknown) => void;
  readonly #index = new SessionIndex();
  /** Sessions that ended a moment ago, for connections that are being opened. The oldest first. */
  readonly #endedAtMs = new Map<string, number>();
  /** No session expires before this. Wall-clock time. */
  #nextExpiryMs: number = Number.POSITIVE_INFINITY;
  /** Called when a session is added. */
  onAdded: (() => void) | undefined;

  constructor({ feed, reader, comparisons = [], report }: LiveSessionsOptions) {
    this.#reader = reader;
    this.#report = report;
    const kind = {
      read: (sessions: readonly LiveSession[]) => reader.read(sessions),
      comparisons,
      subjectsOf,
      apply: (live: LiveSession, reading: SessionReading | undefined) =>
        reading === undefined ? this.#end(live, "ended") : this.#update(live, reading),
      giveUp: (live: LiveSession) => this.#end(live, "unavailable"),
    };
    this.rows = new WatchedRows({ kind, feed, report });
    feed.listeners.add((change) => {
      if (isIdentityChange(change)) this.rows.markChanged(this.#index.concernedBy(change));
    });
  }

  get size(): number {
    return this.#index.size;
  }

  /** Sessions that are added later come last, also in an iteration that has begun. */
  all(): IterableIterator<LiveSession> {
    return this.#index.all();
  }

  /** The sessions in use. Drops the others. */
  inUse(): LiveSession[] {
    const nowMs = performance.now();
    const used: LiveSession[] = [];
    for (const live of this.#index.all()) {
      if (live.keptUntilMs <= nowMs) this.release(live);
      if (!live.isDropped) used.push(live);
    }
    return used;
  }

  /** Whether the session has ended a moment ago. */
  hasEnded(sessionId: string): boolean {
    return this.#endedAtMs.has(sessionId);
  }

  /** A session that is kept for so long at least. It is read when it is compared first. */
  keep({ sessionId, token }: SessionName, keptMs: number): LiveSession {
    const existing = this.#index.get(sessionId);
    const live = existing ?? new LiveSession(sessionId, token);
    live.token ??= token;
    live.keepFor(keptMs);
    if (existing === undefined) {
      this.#index.add(live);
      this.onAdded?.();
    }
    return live;
  }

  /** The caller of a session, read after this call. Undefined when the session does not hold. Rejects when the store fails. */
  async identify(name: SessionName): Promise<SessionCaller | undefined> {
    const live = this.keep(name, OPENING_MS);
    return (await this.rows.read(live)) ? live.reading?.caller : undefined;
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
      listener.ended(this.hasEnded(sessionId) ? "ended" : "unavailable");
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
      live.keepFor(OPENING_MS);
      live.removeListener(listener);
    };
  }

  /** The token of a session that is followed. A credential: it must not leave the process. */
  tokenOf(sessionId: string): string | undefined {
    return this.#index.get(sessionId)?.token;
  }

  /** The sessions that have expired by the clock. */
  takeExpired(wallMs: number): LiveSession[] {
    if (this.#nextExpiryMs > wallMs) return [];
    const expired: LiveSession[] = [];
    this.#nextExpiryMs = Number.POSITIVE_INFINITY;
    for (const live of this.#index.all()) {
      const { expiresAt } = live.reading?.caller ?? { expiresAt: Number.POSITIVE_INFINITY };
      this.#nextExpiryMs = Math.min(this.#nextExpiryMs, expiresAt);
      if (expiresAt <= wallMs) expired.push(live);
    }
    return expired;
  }

  /** Drops a session without listeners. */
  release(live: LiveSession): void {
    if (live.listeners.length === 0 && live.waiters === undefined) this.drop(live);
  }

  /** Stops following, without calling listeners. */
  drop(live: LiveSession): void {
    this.rows.drop(live);
    this.#index.remove(live);
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
    this.#nextExpiryMs = Math.min(this.#nextExpiryMs, reading.caller.expiresAt);
    this.#index.add(live);
    for (const listener of live.listeners) {
      if (isRenewed) this.#guard(() => listener.renewed?.(reading.caller.expiresAt));
      if (previous === undefined || changed.length === 0) continue;
      this.#guard(() => listener.changed({ changed, previous: previous.caller, current: reading.caller }));
    }
  }

  #end(live: LiveSession, reason: EndReason): void {
    this.drop(live);
    live.hasEnded = reason === "ended";
    const nowMs = performance.now();
    this.#endedAtMs.set(live.sessionId, nowMs);
    for (const [sessionId, endedAtMs] of this.#endedAtMs) {
      if (nowMs - endedAtMs <= ENDED_MS && this.#endedAtMs.size <= MAX_ENDED) break;
      this.#endedAtMs.delete(sessionId);
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
