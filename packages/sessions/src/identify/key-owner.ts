/** To whom an API key belongs: the key plugin stores an id, and not of what. */
import { unavailable } from "./errors.ts";
import { isPossibleId, organizationExists } from "./organizations.ts";
import type { HostContext } from "./request.ts";
import type { SessionUser } from "./session.ts";
import { isBanned } from "./session-caller.ts";

/**
 * `service`: a key of a deployment, which belongs to no person. `unclear`: the id exists as a user and as an organization,
 * as serial numbers may.
 */
export type KeyOwner =
  | { readonly kind: "user"; readonly user: SessionUser }
  | { readonly kind: "organization" | "service" | "unclear" };

/** Ids that server code gives to keys of deployments begin like this. */
const SERVICE = "service:";

/** Undefined if the owner does not exist or is banned. Rejects while the database does not respond. */
export async function readKeyOwner(
  context: HostContext,
  ownerId: string,
  isPersonal: boolean,
): Promise<KeyOwner | undefined> {
  if (ownerId.startsWith(SERVICE)) return isPersonal ? undefined : { kind: "service" };
  const [row, isOrganization] = await Promise.all([
    findUser(context, ownerId),
    !isPersonal && organizationExists(context, ownerId),
  ]);
  if (row === null) return isOrganization ? { kind: "organization" } : undefined;
  if (isBanned(row, Date.now())) return undefined;
  if (isOrganization) return { kind: "unclear" };
  const role: unknown = "role" in row ? row.role : undefined;
  return {
    kind: "user",
    user: { id: row.id, email: row.email, ...(typeof role === "string" && { role }) },
  };
}

async function findUser(context: HostContext, id: string) {
  if (!isPossibleId(context, id)) return null;
  try {
    return await context.internalAdapter.findUserById(id);
  } catch (error) {
    throw unavailable("The owner of the API key could not be read. Try again.", error);
  }
}
