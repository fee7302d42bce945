/** The token of a followed session, for plugins that read the session's row. */
import type { AuthInstance } from "../identify/auth-instance.ts";
import { sessionsOf } from "../identify/sessions.ts";

/** Undefined for a session that this process does not follow. A credential: it must not leave the process. */
export async function followedTokenOf(auth: AuthInstance, sessionId: string): Promise<string | undefined> {
  const { live } = await sessionsOf(auth);
  return live.tokenOf(sessionId);
}
