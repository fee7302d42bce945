/**
 * Users who made keys in the console, where the key plugin may keep keys in secondary storage: it finds keys there only by
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
  const { secondaryStorage } = context.options;
  if (secondaryStorage === undefined) return;
  const owners = await keyOwnersIn(context);
  if (!owners.includes(userId)) await secondaryStorage.set(OWNERS, JSON.stringify([...owners, userId]));
}
