/** A session that this process follows. */
import type { AuthInstance } from "../identify/auth-instance.ts";
import type { SessionCaller, SessionChange, SessionReading } from "../identify/session-caller.ts";

/**
 * Why a session no longer counts. `ended`: it was deleted or has expired, or its user is gone or banned. `unavailable`: it
 * has changed, and the session store did not respond since.
 */
export type EndReason = "ended" | "unavailable";

/** Receives what happens to a session. */
export interface SessionListener<Auth extends AuthInstance = AuthInstance> {
  /** The session holds: called once, before `followCaller` resolves. */
  current?(caller: SessionCaller<Auth>): void;
  /** The session holds, with another user, role or organization. */
  changed(change: SessionChange<Auth>): void;
  /** The session was renewed until `expiresAt`, in ms since epoch. */
  renewed?(expiresAt: number): void;
  /** The session no longer counts. No other call follows. */
  ended(reason: EndReason): void;
}

export interface Waiter {
  resolve(caller: SessionCaller | undefined): void;
  reject(error: unknown): void;
}

/** Shared by all sessions without listeners. */
const NO_LISTENERS: readonly SessionListener[] = [];

/** A process holds thousands of these: a collection of its own in each would take more memory than the rest. */
export class LiveSession {
  readonly sessionId: string;
  /** Never changed in place. */
  listeners: readonly SessionListener[] = NO_LISTENERS;
  /** Undefined for a session that was restored by its id, until it is read. */
  token: string | undefined;
  reading: SessionReading | undefined;
  /** Calls that wait for a reading that begins after them. */
  waiters: Waiter[] | undefined;
  isEnded = false;
  /** Monotonic time of the first change that no reading has answered. */
  changedAtMs: number | undefined;
  /** Monotonic time of the last call that asked for it. */
  usedAtMs = 0;
  /** Wall-clock time at which the last successful reading or comparison began. */
  confirmedAtMs = 0;
  /** Monotonic time of the last reading by value. */
  readAtMs = 0;
  /** The version of the rows that `reading` is of, or of older ones. Undefined until the comparison has found one. */
  version: string | undefined;
  /** The version that the comparison found. A reading that begins after it makes it `version`. */
  foundVersion: string | undefined;

  constructor(sessionId: string, token: string | undefined) {
    this.sessionId = sessionId;
    this.token = token;
  }

  addListener(listener: SessionListener): void {
    if (!this.listeners.includes(listener)) this.listeners = [...this.listeners, listener];
  }

  removeListener(listener: SessionListener): void {
    this.listeners = this.listeners.filter((other) => other !== listener);
  }

  wait(waiter: Waiter): void {
    if (this.waiters === undefined) this.waiters = [waiter];
    else this.waiters.push(waiter);
  }

  takeWaiters(): readonly Waiter[] {
    const { waiters = [] } = this;
    this.waiters = undefined;
    return waiters;
  }
}
