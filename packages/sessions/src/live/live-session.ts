/** A session that this process follows. */
import type { IdentityChange } from "../changes/identity-change.ts";
import type { SessionCaller, SessionChange, SessionReading } from "./session-caller.ts";

/**
 * Why a session no longer counts. `ended`: it was deleted or has expired, or its user is gone or banned. `unavailable`: it
 * has changed, and the session store did not respond since.
 */
export type EndReason = "ended" | "unavailable";

/** Receives what happens to a session. */
export interface SessionListener {
  /** The session holds: called once, before `followCaller` resolves. */
  current?(caller: SessionCaller): void;
  /** The session holds, with another user, role or organization. */
  changed(change: SessionChange): void;
  /** The session was renewed until `expiresAt`, in ms since epoch. */
  renewed?(expiresAt: number): void;
  /** The session no longer counts. No other call follows. */
  ended(reason: EndReason): void;
}

export interface Waiter {
  resolve(caller: SessionCaller | undefined): void;
  reject(error: unknown): void;
}

export class LiveSession {
  readonly sessionId: string;
  readonly listeners: Set<SessionListener> = new Set();
  /** Undefined for a session that was restored by its id, until it is read. */
  token: string | undefined;
  reading: SessionReading | undefined;
  /** Names under which changes of it are found. */
  subjects: readonly IdentityChange[] = [];
  /** Calls that wait for a reading that begins after them. */
  waiters: Waiter[] = [];
  isEnded = false;
  /** Monotonic time of the first change that no reading has answered. */
  changedAtMs: number | undefined;
  /** Monotonic time of the last call that asked for it. */
  usedAtMs = 0;
  /** Wall-clock time at which the last successful reading or comparison began. */
  confirmedAtMs = 0;
  /** Monotonic time of the last reading by value. */
  readAtMs = 0;

  constructor(sessionId: string, token: string | undefined) {
    this.sessionId = sessionId;
    this.token = token;
  }
}
