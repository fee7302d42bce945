/** Determines the principal a request counts for: the user, else the API key, else the network address. */

import type { BetterAuthOptions } from "@better-auth/core";
import { addressOf, type Caller, type ReadHeader } from "@halyard/sessions/plugin";
import type { LimitPrincipal } from "./limits.ts";

const NOBODY: LimitPrincipal = { kind: "nobody" };

/**
 * The principal of a user or an API key; undefined for other callers, who count by address. A key that a person made counts
 * with the person's session.
 */
export function knownPrincipal(caller: Caller | undefined): LimitPrincipal | undefined {
  if (caller?.kind === "user") return { kind: "user", id: caller.user.id };
  if (caller?.kind !== "key") return undefined;
  const { id, ownerId, isPersonal } = caller.key;
  return isPersonal ? { kind: "user", id: ownerId } : { kind: "key", id };
}

/** The address of a request, or its IPv6 network. */
export function addressPrincipal(
  header: ReadHeader,
  options: BetterAuthOptions,
  socketAddress?: string,
): LimitPrincipal {
  const id = addressOf(header, options, socketAddress);
  return id === undefined ? NOBODY : { kind: "address", id };
}
