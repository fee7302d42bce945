/**
 * Users who made keys in the console, where the key plugin keeps keys in secondary storage alone: it finds keys there only by
 * their owner.
 */
import type { HostContext } from "../http/host-request.ts";

const OWNERS = "halyard:feature-flag-key-owners";

export async function keyOwnersIn({ options }: HostContext): Promise<readonly string[]> {
  const stored: unknown = await options.secondaryStorage?.get(OWNERS);
  const owners: unknown = typeof stored === "string" ? JSON.parse(stored) : stored;
  return Array.isArray(owners) ? owners.filter((owner) => typeof owner === "string") : [];
}

export async function rememberKeyOwner(context: HostContext, userId: string): Promise<void> {
  const owners = await keyOwnersIn(context);
  if (!owners.includes(userId)) await write(context, [...owners, userId]);
}

/** For users without keys. */
export async function forgetKeyOwners(context: HostContext, userIds: readonly string[]): Promise<void> {
  const owners = await keyOwnersIn(context);
  await write(
    context,
    owners.filter((owner) => !userIds.includes(owner)),
  );
}

async function write({ options }: HostContext, owners: readonly string[]): Promise<void> {
  await options.secondaryStorage?.set(OWNERS, JSON.stringify(owners));
}
