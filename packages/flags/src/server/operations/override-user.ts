/** Refuses an email as the `userId` of an override: evaluation looks overrides up by id, so it would never apply. */
import { invalid } from "../../model/inputs.ts";
import type { GuardedCall } from "../call.ts";

const EMAIL = /^[^\s@]+@[^\s@]+\.[^\s@]+$/;

/** Throws if the id is an email and no user has it as id. Applications may give their users such ids. */
export async function requireUserId({ request }: GuardedCall, userId: string): Promise<void> {
  if (!EMAIL.test(userId) || (await hasUser(request, userId))) return;
  throw invalid([
    {
      path: "userId",
      message: `must be the id of a user, not an email; replace "${userId}" by the id of this user, which is user.id in their session`,
    },
  ]);
}

async function hasUser({ context }: GuardedCall["request"], id: string): Promise<boolean> {
  // A database whose ids are numbers or UUIDs rejects the query instead of finding nothing.
  const user = await context.internalAdapter.findUserById(id).catch(() => null);
  return user !== null;
}
