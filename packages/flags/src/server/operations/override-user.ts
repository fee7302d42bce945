/** Warns about an override for an id that no user has. */
import { isPossibleId } from "@halyard/sessions/plugin";
import type { FlagWarning } from "../../model/warning.ts";
import type { GuardedCall } from "../call.ts";

const EMAIL = /^[^\s@]+@[^\s@]+\.[^\s@]+$/;

/**
 * The warning about an override that probably never applies: no user has its id, and it looks like an email, or visitors
 * cannot claim it. Looks users up by id only, so that no caller learns which emails have accounts.
 */
export async function unknownUser(
  { service, request }: GuardedCall,
  userId: string,
): Promise<FlagWarning | undefined> {
  const isEmail = EMAIL.test(userId);
  if (!isEmail && service.options.identity !== "verified") return undefined;
  if (await hasUser(request, userId)) return undefined;
  const reason = isEmail ? "and it looks like an email" : 'and identity is "verified"';
  const message = `No user has the id "${userId}", ${reason}. The override applies only where server code or an API key evaluates for this id. For a user who signs in, use user.id of the session.`;
  return { code: "UNKNOWN_USER", message };
}

async function hasUser({ context }: GuardedCall["request"], id: string): Promise<boolean> {
  if (!isPossibleId(context, id)) return false;
  // Where the host chose the type of the id column itself, the database may reject the query.
  const user = await context.internalAdapter.findUserById(id).catch(() => null);
  return user !== null;
}
