/** Who makes a request, as far as that is known without asking anybody. */
import type { KnownTies } from "../context.ts";
import type { KnownCaller } from "../round.ts";
import type { KnownPrincipal } from "./principal.ts";
import type { Recalled } from "./principals.ts";

export interface FastCaller extends KnownCaller {
  readonly principal: KnownPrincipal | undefined;
}

const NO_TIES: KnownTies = { home: undefined, tieTo: () => undefined };

export const ANONYMOUS: FastCaller = {
  caller: { kind: "anonymous" },
  ties: NO_TIES,
  isStale: false,
  principal: undefined,
};

export function callerOf({ principal, stale }: Recalled): FastCaller {
  return { caller: principal.caller, ties: tiesOf(principal), isStale: stale, principal };
}

function tiesOf(principal: KnownPrincipal): KnownTies {
  const { caller, memberships, keyOwner } = principal;
  if (caller.kind === "user") {
    const active = caller.user.activeOrganizationId;
    // Without organizations there is nothing to look up: the usual case.
    if (active === undefined && memberships === undefined) return NO_TIES;
    return {
      home: active === undefined || memberships?.has(active) ? active : "unknown",
      tieTo: (organizationId) => memberships?.get(organizationId),
    };
  }
  const { ownerId } = caller.key;
  return {
    home: keyOwner === undefined ? "unknown" : keyOwner === "organization" ? ownerId : undefined,
    tieTo(organizationId) {
      if (keyOwner === "organization") return organizationId === ownerId ? {} : undefined;
      return keyOwner === "user" && memberships?.has(organizationId) ? {} : undefined;
    },
  };
}
