/** Who is signed in. */
import { getSession, isAPIError, isStateful } from "better-auth/api";
import { FeatureFlagError } from "../model/errors.ts";
import { within } from "../store/wait.ts";
import { type Call, headersOf } from "./call.ts";
import {
  fallBackOnPrincipal,
  isRemembered,
  principalsOf,
  rememberPrincipal,
  sessionTimes,
} from "./fast/host-principals.ts";

export interface SessionUser {
  readonly id: string;
  readonly email: string;
  /** As the admin plugin keeps it: one role, or several with commas between. */
  readonly role?: string;
  /** As the organization plugin keeps it. Whether the user still belongs to it is another question. */
  readonly activeOrganizationId?: string;
}

type Session = {
  readonly session: Readonly<Record<string, unknown>>;
  readonly user: { readonly id: string; readonly email: string } & Readonly<Record<string, unknown>>;
};

const sessionEndpoint = getSession();

/** The longest anybody waits for the session store, and an evaluation with somebody to fall back on. */
const WAIT_MS = 10_000;
const SHORT_WAIT_MS = 1000;
/** When a caller who could not be identified may try again, in seconds. */
export const RETRY_AFTER_S: number = 5;

/**
 * The signed-in user, or undefined. `authoritative` asks the session store even where the cookie carries a copy, so
 * that a role or session taken away counts at once.
 *
 * Better Auth's own `getSessionFromCtx` answers "nobody" when the store fails, which would turn a signed-in caller
 * into an anonymous one; here it is an error, or for an evaluation the user who was last seen with these credentials.
 */
export async function readUser(
  call: Call,
  { authoritative = false }: { authoritative?: boolean } = {},
): Promise<SessionUser | undefined> {
  const known =
    authoritative && isStateful(call as Parameters<typeof isStateful>[0]) ? null : call.context.session;
  if (known) return userOf(known);
  const askedAt = principalsOf(call).now();
  let found: Session | undefined;
  try {
    found = await askInTime(call, authoritative);
  } catch (error) {
    const principal = authoritative ? undefined : fallBackOnPrincipal(call, "user");
    if (principal?.kind !== "user") throw error;
    return principal.user;
  }
  if (found === undefined) return undefined;
  const user = userOf(found);
  // With a cookie to set, Better Auth's answer is another than the next one.
  if (call.responseHeaders.has("set-cookie")) return user;
  const isProlonged = !headersOf(call).get("cookie")?.includes(principalsOf(call).names.dontRemember);
  const times = sessionTimes(call, found, isProlonged);
  if (times !== undefined) rememberPrincipal(call, { caller: { kind: "user", user }, ...times }, askedAt);
  return user;
}

function userOf({ user, session }: Session): SessionUser {
  const role: unknown = user["role"];
  const active: unknown = session["activeOrganizationId"];
  return {
    id: user.id,
    email: user.email,
    ...(typeof role === "string" && { role }),
    ...(typeof active === "string" && active !== "" && { activeOrganizationId: active }),
  };
}

async function askInTime(call: Call, authoritative: boolean): Promise<Session | undefined> {
  if (!headersOf(call).has("cookie")) return undefined;
  const waitMs = !authoritative && isRemembered(call) ? SHORT_WAIT_MS : WAIT_MS;
  try {
    return await within(askSession(call, authoritative), waitMs, "The session store did not answer in time.");
  } catch (error) {
    throw unreadable(error);
  }
}

async function askSession(call: Call, authoritative: boolean): Promise<Session | undefined> {
  const input = {
    context: call.context,
    method: "GET" as const,
    headers: headersOf(call),
    query: {
      disableCookieCache: authoritative && isStateful(call as Parameters<typeof isStateful>[0]),
    },
    returnHeaders: true as const,
  };
  try {
    const answered = await sessionEndpoint(input);
    for (const cookie of answered.headers.getSetCookie()) call.responseHeaders.append("set-cookie", cookie);
    return answered.response ?? undefined;
  } catch (error) {
    if (isAPIError(error) && error.statusCode < 500) return undefined;
    throw unreadable(error);
  }
}

/** Whoever cannot be identified must not be taken for nobody. */
function unreadable(error: unknown): FeatureFlagError {
  if (error instanceof FeatureFlagError) return error;
  return new FeatureFlagError("STORAGE_ERROR", "The session could not be read. Try again.", {
    status: 503,
    details: { retryAfter: RETRY_AFTER_S },
    cause: error,
  });
}
