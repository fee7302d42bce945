/** Who is signed in. */
import { getSession, isAPIError, isStateful } from "better-auth/api";
import { FeatureFlagError } from "../model/errors.ts";
import type { Call } from "./call.ts";

export interface SessionUser {
  readonly id: string;
  readonly email: string;
  /** As the admin plugin keeps it: one role, or several with commas between. */
  readonly role?: string;
}

const sessionEndpoint = getSession();

/**
 * The signed-in user, or undefined. `authoritative` asks the session store even where the cookie carries a copy, so
 * that a role or session taken away counts at once.
 *
 * Better Auth's own `getSessionFromCtx` answers "nobody" when the store fails, which would turn a signed-in caller
 * into an anonymous one; here it is an error.
 */
export async function readUser(
  call: Call,
  { authoritative = false }: { authoritative?: boolean } = {},
): Promise<SessionUser | undefined> {
  const known = authoritative && isStateful(call) ? null : call.context.session;
  const user = known?.user ?? (await askSession(call, authoritative));
  if (user === undefined) return undefined;
  const role: unknown = user["role"];
  return { id: user.id, email: user.email, ...(typeof role === "string" && { role }) };
}

async function askSession(
  call: Call,
  authoritative: boolean,
): Promise<({ id: string; email: string } & Record<string, unknown>) | undefined> {
  const input = {
    context: call.context,
    method: "GET" as const,
    headers: call.headers ?? new Headers(),
    query: { disableCookieCache: authoritative && isStateful(call) },
    returnHeaders: true as const,
  };
  try {
    const { headers, response } = await sessionEndpoint(input);
    for (const cookie of headers.getSetCookie()) call.responseHeaders.append("set-cookie", cookie);
    return response?.user;
  } catch (error) {
    if (isAPIError(error) && error.statusCode < 500) return undefined;
    throw new FeatureFlagError("STORAGE_ERROR", "The session could not be read. Try again.", {
      cause: error,
    });
  }
}
