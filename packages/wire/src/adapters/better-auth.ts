/** Authenticates connections by the sessions of a Better Auth instance, and follows those sessions while they are open. */
import {
  type AuthInstance,
  findCaller,
  type SessionBus,
  type SessionCaller,
  type SessionChange,
} from "@halyard/sessions";
import { addressOf, type HostContext } from "@halyard/sessions/plugin";
import { WsError } from "../protocol/error.ts";
import type {
  ConnectionFollower,
  FollowConnections,
  FollowedServer,
} from "../router/connections/connection-follower.ts";
import type { AnyData, ConnectionData } from "../router/connections/peer.ts";
import type { OpenContext } from "../router/context.ts";
import { SessionConnections, sessionFields } from "./session-connections.ts";

export type {
  AuthInstance,
  SessionBus,
  SessionCaller,
  SessionChange,
  SessionRow,
  UserRow,
} from "@halyard/sessions";
export type * from "../router/connections/connection-follower.ts";
export type { ConnectionData } from "../router/connections/peer.ts";
export type { OpenContext } from "../router/context.ts";

/** The fields of `ctx.data` that come from the session. */
export interface SessionFields {
  /** The id of the user. */
  readonly userId: string;
  /** The id of the session. Not a credential. */
  readonly sessionId: string;
  /** The user's role, as the admin plugin stores it. */
  readonly role?: string | undefined;
  /** The session's active organization, while the user is a member of it. */
  readonly organizationId?: string | undefined;
  /** The user's role in that organization. */
  readonly organizationRole?: string | undefined;
  /** The id of the admin who acts as this user. */
  readonly impersonatedBy?: string | undefined;
  /** The network address, by the settings of Better Auth. Only of a caller without a session. */
  readonly address?: string | undefined;
}

/** Sessions whose connections may be opening at the same time. */
const MAX_ADMITTED = 10_000;

/** The connection data of a router behind `betterAuthSession`: `createRouter<SessionData>()`. */
export interface SessionData extends ConnectionData, SessionFields {}

/** The options of `betterAuthSession`. */
export interface BetterAuthSessionOptions<
  Extra extends object = Record<never, never>,
  Auth extends AuthInstance = AuthInstance,
> {
  /**
   * More fields for `ctx.data`. Runs when a connection opens, and again when the user, role or organization changes.
   * `user` and `session` have the types of `auth.$Infer`. Default: none.
   */
  readonly data?: (caller: SessionCaller<Auth>) => Extra | Promise<Extra>;
  /**
   * Runs after `ctx.data` of an open connection was replaced, because the user, a role or the organization has changed. A
   * session that ends closes the connection with 4401 instead.
   */
  readonly onSessionChange?: (ctx: OpenContext<SessionData & Extra>, change: SessionChange<Auth>) => unknown;
  /**
   * Carries changes between the processes of the application; `false`: none. Default: the router's pub/sub, if it spans
   * processes.
   */
  readonly bus?: SessionBus | false;
  /** As in `connectSessions`: how many sessions a second are compared in the background. Default 500. */
  readonly lookupsPerSecond?: number;
  /** Admits requests without a session, with their `address` as the only data. Default false. */
  readonly anonymous?: boolean;
}

/** Options with `data`. Without it, no type of more fields may be inferred from where the result is used. */
type WithData<Extra extends object, Auth extends AuthInstance> = BetterAuthSessionOptions<Extra, Auth> &
  Required<Pick<BetterAuthSessionOptions<Extra, Auth>, "data">>;

/** What `betterAuthSession` returns, for the option `authenticate`. */
export interface SessionAuthenticator<Data extends object> {
  /** Finds the session of an upgrade request. */
  (
    request: Request,
    credentials: { readonly token: string | undefined; readonly address?: string | undefined },
  ): Promise<Data | undefined>;
  /** For adapters: follows the connections of a server. */
  readonly follow: FollowConnections;
}

/**
 * Authenticates connections by their Better Auth session: its cookie, a bearer token (with the `bearer` plugin) or a
 * one-time token (with the `oneTimeToken` plugin). When the session ends, its connections are closed with 4401; when the
 * role, the membership or the active organization changes, `ctx.data` is replaced and `authorizeTopic` runs again for every
 * topic. Pass the result to `authenticate` itself: a function around it would lose what follows the session.
 *
 * @example
 * ```ts
 * import { createRouter } from "@halyard/wire";
 * import { betterAuthSession, type SessionData } from "@halyard/wire/better-auth";
 * import { serve } from "@halyard/wire/node";
 * import { betterAuth } from "better-auth";
 *
 * const auth = betterAuth({});
 * const router = createRouter<SessionData>({
 *   authorizeTopic: (ctx, topic) => topic === `org:${ctx.data.organizationId}`,
 * });
 * await serve(router, { authenticate: betterAuthSession(auth) });
 * ```
 */
export function betterAuthSession<Extra extends object, Auth extends AuthInstance>(
  auth: Auth,
  options: WithData<Extra, Auth> & { readonly anonymous: true },
): SessionAuthenticator<Partial<SessionFields & Extra>>;
export function betterAuthSession<Extra extends object, Auth extends AuthInstance>(
  auth: Auth,
  options: WithData<Extra, Auth>,
): SessionAuthenticator<SessionFields & Extra>;
export function betterAuthSession<Auth extends AuthInstance>(
  auth: Auth,
  options: BetterAuthSessionOptions<Record<never, never>, Auth> & { readonly anonymous: true },
): SessionAuthenticator<Partial<SessionFields>>;
export function betterAuthSession<Auth extends AuthInstance>(
  auth: Auth,
  options?: BetterAuthSessionOptions<Record<never, never>, Auth>,
): SessionAuthenticator<SessionFields>;
export function betterAuthSession(
  auth: AuthInstance,
  options: BetterAuthSessionOptions<object> = {},
): SessionAuthenticator<object> {
  const { data: extraOf, onSessionChange, bus, lookupsPerSecond, anonymous = false } = options;
  let isFollowed = false;
  const admitted = new Map<string, SessionCaller>();

  async function authenticate(
    { headers }: Request,
    { token, address }: { readonly token: string | undefined; readonly address?: string | undefined },
  ): Promise<object | undefined> {
    if (!isFollowed) throw notFollowed();
    const caller = await findCaller(auth, { headers, token }).catch((cause: unknown) => {
      throw new WsError("UNAVAILABLE", "The session could not be read.", undefined, { cause });
    });
    // A caller with a token means to be identified, and is never taken for an anonymous visitor.
    if (caller === undefined) {
      if (!anonymous || token !== undefined) return undefined;
      const { options: host } = (await auth.$context) as HostContext;
      return { address: addressOf((name) => headers.get(name), host, address) };
    }
    const extra = await extraOf?.(caller);
    admitted.set(caller.sessionId, caller);
    for (const oldest of admitted.keys()) {
      if (admitted.size <= MAX_ADMITTED) break;
      admitted.delete(oldest);
    }
    return { ...extra, ...sessionFields(caller) };
  }

  const follow = (server: FollowedServer): ConnectionFollower => {
    if (server.isIsolated) throw notInDurableObjects();
    isFollowed = true;
    return new SessionConnections(server, {
      auth,
      admitted,
      bus,
      lookupsPerSecond,
      extraOf,
      onSessionChange: onSessionChange as
        | ((ctx: OpenContext<AnyData>, change: SessionChange) => unknown)
        | undefined,
    });
  };
  return Object.assign(authenticate, { follow });
}

function notInDurableObjects(): TypeError {
  return new TypeError(
    "betterAuthSession() does not work in a Durable Object, which has no timers between events and no bus. Let authenticate call auth.api.getSession(), return a short expiresAt, and call disconnect() of the object after a sign-out.",
  );
}

function notFollowed(): WsError {
  return new WsError(
    "FAILED_PRECONDITION",
    "The function of betterAuthSession() was called by other code than serve(), which would leave connections open after a sign-out. Pass it as the option authenticate itself.",
  );
}
