/** What applications are told of a session. Their compilers read this file, so it imports no types of Better Auth. */
import type { AuthInstance } from "../identify/auth-instance.ts";
import type { SessionCaller, SessionChange } from "../identify/session-caller.ts";

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
