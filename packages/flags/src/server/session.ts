/** Who is signed in. */
import { getSession, isAPIError, isStateful } from "better-auth/api";
import { FeatureFlagError } from "../model/errors.ts";
import { type Call, headersOf } from "./call.ts";

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
  const found = known ?? (await askSession(call, authoritative));
  if (found === undefined) return undefined;
  const role: unknown = found.user["role"];
  const active: unknown = found.session["activeOrganizationId"];
  return {
    id: found.user.id,
    email: found.user.email,
    ...(typeof role === "string" && { role }),
    ...(typeof active === "string" && active !== "" && { activeOrganizationId: active }),
  };
}

async function askSession(call: Call, authoritative: boolean): Promise<Session | undefined> {
  const headers = headersOf(call);
  if (!headers.has("cookie")) return undefined;
  const input = {
    context: call.context,
    method: "GET" as const,
    headers,
    query: { disableCookieCache: authoritative && isStateful(call) },
    returnHeaders: true as const,
  };
  try {
    const answered = await sessionEndpoint(input);
    for (const cookie of answered.headers.getSetCookie()) call.responseHeaders.append("set-cookie", cookie);
    return answered.response ?? undefined;
  } catch (error) {
    if (isAPIError(error) && error.statusCode < 500) return undefined;
    throw new FeatureFlagError("STORAGE_ERROR", "The session could not be read. Try again.", {
      cause: error,
    });
  }
}
