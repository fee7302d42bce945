/** The sessions of one auth instance: found once, and followed from then on. */
import { isAPIError } from "better-auth/api";
import { type ChangeFeed, changeFeedOf } from "../changes/change-feed.ts";
import { watchIdentityWrites } from "../changes/watched-writes.ts";
import type { SessionName } from "../watched/session-reader.ts";
import { type WatchedSessions, watchedSessionsOf } from "../watched/watched-sessions.ts";
import type { AuthInstance, RequestCredentials } from "./auth-instance.ts";
import { IdentityError, unavailable } from "./errors.ts";
import type { HostContext } from "./request.ts";
import { hasSessionStore } from "./session.ts";
import type { SessionCaller } from "./session-caller.ts";
import { sharedPart } from "./shared-parts.ts";
import { VerifiedCredentials } from "./verified-credentials.ts";

export interface Sessions extends WatchedSessions {
  readonly feed: ChangeFeed;
  /** Logs that other processes could not be told about a change. */
  readonly reportUnannounced: (error: unknown) => void;
  /** Undefined when the credentials belong to no session that holds. Rejects when the session store fails. */
  findCaller(credentials: RequestCredentials): Promise<SessionCaller | undefined>;
}

export async function sessionsOf(auth: AuthInstance): Promise<Sessions> {
  const context = (await auth.$context) as HostContext;
  return sharedPart(context.adapter, "sessions", () => createSessions(auth, context));
}

/**
 * The token of a followed session, for plugins that read the session's row. Undefined for a session that this process does
 * not follow. A credential: it must not leave the process.
 */
export async function followedTokenOf(auth: AuthInstance, sessionId: string): Promise<string | undefined> {
  const { live } = await sessionsOf(auth);
  return live.tokenOf(sessionId);
}

function createSessions(auth: AuthInstance, context: HostContext): Sessions {
  if (!hasSessionStore(context)) throw withoutStore();
  watchIdentityWrites(context);
  const feed = changeFeedOf(context);
  const { live, reconciliation } = watchedSessionsOf(context);
  const verified = new VerifiedCredentials(context);
  return {
    feed,
    live,
    reconciliation,
    reportUnannounced: (error) =>
      context.logger.error(
        "[halyard] The bus did not accept the change of a session for 10 s. Other processes read all sessions again once it does; until then they find the change by comparison. Check the bus:",
        error,
      ),
    async findCaller(credentials) {
      const key = verified.keyOf(credentials);
      const known = key === undefined ? undefined : verified.get(key);
      const recognized = known && (await live.identifyAgain(known));
      if (recognized !== undefined) return recognized;
      if (known !== undefined) verified.delete(known);
      const found = await verify(auth, context, credentials);
      const caller = found && (await live.identify(found.name));
      if (key !== undefined && caller !== undefined && found?.isReusable) verified.add(key, found.name);
      return caller;
    },
  };
}

interface Verified {
  readonly name: SessionName;
  /** False for a token that holds once. */
  readonly isReusable: boolean;
}

/** Lets Better Auth verify the credentials, with all rules of the host. */
async function verify(
  { api }: AuthInstance,
  context: HostContext,
  { headers, token }: RequestCredentials,
): Promise<Verified | undefined> {
  const find = async (method: string, input: object): Promise<Verified | undefined> => {
    const name = nameOf(await call(api, method, input));
    return name && { name, isReusable: method === "getSession" };
  };
  const hasPlugin = (id: string) => context.options.plugins?.some((plugin) => plugin.id === id) === true;
  if (token === undefined) return find("getSession", sessionInput(headers));
  if (hasPlugin("bearer")) {
    const authorization = new Headers({ authorization: `Bearer ${token}` });
    const found = await find("getSession", sessionInput(authorization));
    if (found !== undefined) return found;
  }
  return hasPlugin("one-time-token") ? find("verifyOneTimeToken", { body: { token } }) : undefined;
}

/** A WebSocket or background request cannot receive a renewed cookie, and a copy in a cookie may be revoked. */
function sessionInput(headers: Headers): object {
  return { headers, query: { disableCookieCache: true, disableRefresh: true } };
}

type Method = (input: object) => Promise<unknown>;

async function call(api: object, name: string, input: object): Promise<unknown> {
  const method = Reflect.get(api, name) as Method;
  try {
    return await method(input);
  } catch (error) {
    if (isAPIError(error) && error.statusCode < 500) return undefined;
    throw unavailable("The session could not be read. Try again.", error);
  }
}

function nameOf(found: unknown): SessionName | undefined {
  if (typeof found !== "object" || found === null) return undefined;
  const session: unknown = "session" in found ? found.session : undefined;
  if (typeof session !== "object" || session === null || !("id" in session) || !("token" in session))
    throw new IdentityError("unavailable", WITHOUT_SESSION);
  return { sessionId: String(session.id), token: String(session.token) };
}

const WITHOUT_SESSION =
  "auth.api.getSession() returned no session with an id and a token. If you use customSession(), return the session it receives unchanged.";

function withoutStore(): IdentityError {
  return new IdentityError(
    "unavailable",
    "This Better Auth instance stores sessions in cookies only, so it cannot tell when one is revoked. Give it a database or secondary storage.",
  );
}
