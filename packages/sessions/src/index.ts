/** Who is signed in to a Better Auth instance, and the moment that changes. */
import type { Bus as SessionBus } from "@halyard/base";
import { connectFeed } from "./changes/announcements.ts";
import type { AuthInstance, RequestCredentials } from "./identify/auth-instance.ts";
import type { SessionCaller } from "./identify/session-caller.ts";
import { sessionsOf } from "./identify/sessions.ts";
import type { SessionListener } from "./watched/session-listener.ts";

export type { Bus as SessionBus, BusListener as SessionBusListener } from "@halyard/base";
export type { AuthInstance, RequestCredentials } from "./identify/auth-instance.ts";
export { IdentityError, type IdentityErrorOptions, type IdentityProblem } from "./identify/errors.ts";
export type {
  ChangedPart,
  Row,
  SessionCaller,
  SessionChange,
  SessionRow,
  UserRow,
} from "./identify/session-caller.ts";
export type { EndReason, SessionListener } from "./watched/session-listener.ts";

/**
 * The caller of a request: from its session cookie, or from a bearer or one-time token. Undefined without a session that
 * holds. Rejects with an `IdentityError` when the session store does not respond: a signed-in user is never taken for an
 * anonymous visitor.
 *
 * @example
 * ```ts
 * import { findCaller } from "@halyard/sessions";
 * import { betterAuth } from "better-auth";
 *
 * const auth = betterAuth({});
 * export async function handle(request: Request): Promise<Response> {
 *   const caller = await findCaller(auth, request);
 *   return caller ? new Response(`Signed in as ${caller.userId}.`) : new Response(null, { status: 401 });
 * }
 * ```
 */
export async function findCaller<Auth extends AuthInstance>(
  auth: Auth,
  credentials: RequestCredentials,
): Promise<SessionCaller<Auth> | undefined> {
  const sessions = await sessionsOf(auth);
  // The rows are what Better Auth's own output functions return, which `$Infer` describes.
  return sessions.findCaller(credentials) as Promise<SessionCaller<Auth> | undefined>;
}

/**
 * Tells what happens to the session of a caller. Changes that Better Auth makes
 * in this process, or in one that is connected, arrive within milliseconds; all others within 5 s, or later in a process with
 * thousands of sessions, see `ConnectSessionsOptions`. Resolves to a function that stops.
 *
 * @example
 * ```ts
 * import { findCaller, followCaller } from "@halyard/sessions";
 * import { betterAuth } from "better-auth";
 *
 * const auth = betterAuth({});
 * export async function stream(request: Request, end: () => void): Promise<void> {
 *   const caller = await findCaller(auth, request);
 *   if (caller) await followCaller(auth, caller, { changed: console.log, ended: end });
 * }
 * ```
 */
export async function followCaller<Auth extends AuthInstance>(
  auth: Auth,
  caller: Pick<SessionCaller, "sessionId">,
  listener: SessionListener<Auth>,
): Promise<() => void> {
  const { live } = await sessionsOf(auth);
  return live.follow(caller.sessionId, listener as SessionListener);
}

/** Whose rows were changed. */
export interface ForgottenCaller {
  /** All sessions of this user. */
  readonly userId?: string;
  /** One session, by the id of its row. */
  readonly sessionId?: string;
  /** All sessions in which this organization is active. */
  readonly organizationId?: string;
}

/**
 * Makes a change that was made past Better Auth, such as by SQL, count at once, here and in connected processes. Resolves
 * when this process has read the sessions concerned again.
 *
 * @example
 * ```ts
 * import { forgetCaller } from "@halyard/sessions";
 * import { betterAuth } from "better-auth";
 *
 * const auth = betterAuth({});
 * export const suspended = (userId: string) => forgetCaller(auth, { userId });
 * ```
 */
export async function forgetCaller(
  auth: AuthInstance,
  { userId, sessionId, organizationId }: ForgottenCaller,
): Promise<void> {
  if (userId === undefined && sessionId === undefined && organizationId === undefined)
    throw new TypeError("forgetCaller() needs a userId, a sessionId or an organizationId.");
  const { feed, live } = await sessionsOf(auth);
  if (userId !== undefined) feed.apply({ kind: "user", id: userId });
  if (sessionId !== undefined) feed.apply({ kind: "session-id", id: sessionId });
  if (organizationId !== undefined) feed.apply({ kind: "organization", id: organizationId });
  await live.rows.settled();
}

/** The options of `connectSessions`. */
export interface ConnectSessionsOptions {
  /**
   * How many sessions a second this process compares with the session store in the background, while the bus delivers. With
   * more sessions than four times that, a change that no process announces is found later than after 5 s. Default 500.
   */
  readonly lookupsPerSecond?: number | undefined;
}

/**
 * Exchanges changes with the other processes of the application. Every process that serves Better Auth or follows its
 * sessions connects to the same bus. Resolves to a function that disconnects.
 *
 * @example
 * ```ts
 * import { connectSessions, type SessionBus } from "@halyard/sessions";
 * import { betterAuth } from "better-auth";
 *
 * declare const bus: SessionBus;
 * const auth = betterAuth({});
 * await connectSessions(auth, bus);
 * ```
 */
export async function connectSessions(
  auth: AuthInstance,
  bus: SessionBus,
  { lookupsPerSecond }: ConnectSessionsOptions = {},
): Promise<() => void> {
  if (lookupsPerSecond !== undefined && !(lookupsPerSecond >= 1))
    throw new TypeError("lookupsPerSecond must be a number from 1 on.");
  const { feed, reconciliation, reportUnannounced } = await sessionsOf(auth);
  if (lookupsPerSecond !== undefined) reconciliation.lookupsPerSecond = lookupsPerSecond;
  return connectFeed(feed, bus, reportUnannounced);
}
