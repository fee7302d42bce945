/** The signed-in user of a request, read from the session store through Better Auth. */

import { within } from "@halyard/base";
import { getSession, isAPIError, isStateful } from "better-auth/api";
import { unavailable } from "./errors.ts";
import { type HostContext, headersOf, type IdentityRequest } from "./request.ts";
import { isBanned } from "./session-caller.ts";

/** The signed-in user of a session. */
export interface SessionUser {
  /** The id of the user. */
  readonly id: string;
  /** The email address of the user. */
  readonly email: string;
  /** As the admin plugin stores it: one role, or several separated by commas. */
  readonly role?: string;
  /** As the organization plugin stores it. The user may have left the organization since. */
  readonly activeOrganizationId?: string;
  /** The id of the admin who acts as this user in an impersonated session. */
  readonly impersonatedBy?: string;
  /** The id of the session's row. Not a credential. */
  readonly sessionId?: string;
  /** By which the session's row is found in the session store. A credential: it must not leave the process. */
  readonly sessionToken?: string;
}

export interface SessionValidity {
  readonly token: string;
  /** The later `updatedAt` of the session's row and the user's row. Undefined when the rows have no times of their last change. */
  readonly changedAtMs: number | undefined;
  /** Wall-clock time at which Better Auth must renew or end the session. */
  readonly validUntilMs: number;
}

export interface ReadSession {
  readonly user: SessionUser;
  /** Undefined when the result may not serve another request. */
  readonly validity: SessionValidity | undefined;
}

export interface ReadSessionOptions {
  /** Reads the session store even if the cookie carries a copy of the session: a revocation then counts at once. */
  readonly isAuthoritative: boolean;
  readonly waitMs: () => number;
  /** The cookie that tells Better Auth not to renew the session. */
  readonly dontRememberCookie: string;
}

type StoredSession = {
  readonly session: Readonly<Record<string, unknown>>;
  readonly user: { readonly id: string; readonly email: string } & Readonly<Record<string, unknown>>;
};

const sessionEndpoint = getSession();

/**
 * Undefined without a session. Better Auth's `getSessionFromCtx` also returns nothing when the store fails, which would
 * turn a signed-in caller into an anonymous one; here that is an `IdentityError`.
 */
export async function readSession(
  request: IdentityRequest,
  { isAuthoritative, waitMs, dontRememberCookie }: ReadSessionOptions,
): Promise<ReadSession | undefined> {
  const bypassesCache = isAuthoritative && hasSessionStore(request.context);
  const { session: loaded } = request.context;
  if (loaded && !bypassesCache) {
    return isBanned(loaded.user, Date.now()) ? undefined : { user: userOf(loaded), validity: undefined };
  }
  const headers = headersOf(request);
  if (!headers.has("cookie")) return undefined;
  const stored = await askInTime(request, headers, bypassesCache, waitMs());
  if (stored === undefined || isBanned(stored.user, Date.now())) return undefined;
  const isRenewable = !headers.get("cookie")?.includes(dontRememberCookie);
  // A response that sets a cookie differs from the next one.
  const validity = request.responseHeaders.has("set-cookie")
    ? undefined
    : validityOf(request.context, stored, isRenewable);
  return { user: userOf(stored), validity };
}

/** Whether sessions are stored, in the database or in secondary storage, and not only in cookies. */
export function hasSessionStore(context: HostContext): boolean {
  return isStateful({ context } as Parameters<typeof isStateful>[0]);
}

async function askInTime(
  request: IdentityRequest,
  headers: Headers,
  disableCookieCache: boolean,
  waitMs: number,
): Promise<StoredSession | undefined> {
  try {
    const asking = askBetterAuth(request, headers, disableCookieCache);
    return await within(asking, waitMs, `The session store did not respond within ${waitMs} ms.`);
  } catch (error) {
    throw unavailable("The session could not be read. Try again.", error);
  }
}

async function askBetterAuth(
  { context, responseHeaders }: IdentityRequest,
  headers: Headers,
  disableCookieCache: boolean,
): Promise<StoredSession | undefined> {
  const input = {
    context,
    method: "GET" as const,
    headers,
    query: { disableCookieCache },
    returnHeaders: true as const,
  };
  try {
    const result = await sessionEndpoint(input);
    for (const cookie of result.headers.getSetCookie()) responseHeaders.append("set-cookie", cookie);
    return result.response ?? undefined;
  } catch (error) {
    if (isAPIError(error) && error.statusCode < 500) return undefined;
    throw error;
  }
}

function userOf({ user, session }: StoredSession): SessionUser {
  const role: unknown = user["role"];
  const active: unknown = session["activeOrganizationId"];
  const impersonator: unknown = session["impersonatedBy"];
  const token: unknown = session["token"];
  const sessionId: unknown = session["id"];
  return {
    id: user.id,
    email: user.email,
    ...(typeof role === "string" && { role }),
    ...(typeof active === "string" && active !== "" && { activeOrganizationId: active }),
    ...(typeof impersonator === "string" && impersonator !== "" && { impersonatedBy: impersonator }),
    ...(typeof sessionId === "string" && { sessionId }),
    ...(typeof token === "string" && { sessionToken: token }),
  };
}

function validityOf(
  { sessionConfig, options }: HostContext,
  { session, user }: StoredSession,
  isRenewable: boolean,
): SessionValidity | undefined {
  const { token, expiresAt, updatedAt } = session;
  const expiresAtMs = msOf(expiresAt);
  // The database is asked for many tokens at once, one per line.
  if (typeof token !== "string" || token.includes("\n") || expiresAtMs === undefined) return undefined;
  const { expiresIn, updateAge } = sessionConfig;
  const { disableSessionRefresh = false, deferSessionRefresh = false } = options.session ?? {};
  const isRenewed = isRenewable && !disableSessionRefresh && !deferSessionRefresh;
  const renewAtMs = isRenewed ? expiresAtMs - (expiresIn - updateAge) * 1000 : expiresAtMs;
  const changedAtMs = laterOf(msOf(updatedAt), msOf(user["updatedAt"]));
  return { token, changedAtMs, validUntilMs: Math.min(expiresAtMs, renewAtMs) };
}

function laterOf(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : Math.max(one, other);
}

function msOf(value: unknown): number | undefined {
  const ms = value instanceof Date ? value.getTime() : Number.NaN;
  return Number.isFinite(ms) ? ms : undefined;
}
