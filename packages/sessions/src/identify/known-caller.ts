/** A caller from the principal cache, with the organizations that are known without a query. */
import type { CachedPrincipal } from "./cached-principal.ts";
import type { Client } from "./caller.ts";
import { type ReadHeader, readCredentials } from "./credentials.ts";
import type { Identities } from "./identities.ts";
import type { RecalledPrincipal } from "./principal-cache.ts";

/** What ties a caller to an organization: a member's role, or nothing more for the organization's own API key. */
export interface OrganizationTie {
  /** The member's role. */
  readonly role?: string;
}

/** The organizations of a caller that are known without a query. */
export interface KnownTies {
  /** The organization the caller acts on when the request names none; `unknown` when that needs a query. */
  readonly home: string | undefined | "unknown";
  /** Undefined when that needs a query. */
  tieTo(organizationId: string): OrganizationTie | undefined;
}

/** A caller from the principal cache. */
export interface KnownCaller {
  /** The caller. */
  readonly caller: Client;
  /** The organizations that are known without a query. */
  readonly ties: KnownTies;
  /** The session store could not confirm the caller. */
  readonly isStale: boolean;
  /** Undefined for an anonymous visitor. */
  readonly principal: CachedPrincipal | undefined;
}

const NO_TIES: KnownTies = { home: undefined, tieTo: () => undefined };

const ANONYMOUS: KnownCaller = {
  caller: { kind: "anonymous" },
  ties: NO_TIES,
  isStale: false,
  principal: undefined,
};

/**
 * The caller of a request from memory. Undefined when Better Auth must identify the caller: the credentials are not in
 * the cache, or can be read in two ways.
 */
export function recallCaller(
  { credentials: names, principals }: Identities,
  header: ReadHeader,
): KnownCaller | undefined | Promise<KnownCaller | undefined> {
  const credentials = readCredentials(names, header);
  if (credentials === "none") return ANONYMOUS;
  if (credentials === "unclear") return undefined;
  const recalled = principals.recall(credentials.cacheKey);
  if (recalled instanceof Promise) return recalled.then((principal) => principal && callerOf(principal));
  return recalled && callerOf(recalled);
}

function callerOf({ principal, isStale }: RecalledPrincipal): KnownCaller {
  return { caller: principal.caller, ties: tiesOf(principal), isStale, principal };
}

function tiesOf({ caller, memberships }: CachedPrincipal): KnownTies {
  if (caller.kind === "user") {
    const active = caller.user.activeOrganizationId;
    // The usual case on hosts without organizations.
    if (active === undefined && memberships === undefined) return NO_TIES;
    return {
      home: active === undefined || memberships?.has(active) ? active : "unknown",
      tieTo: (organizationId) => memberships?.get(organizationId),
    };
  }
  const { ownerId, owner } = caller.key;
  const isOrganization = owner.kind === "organization";
  return {
    home: isOrganization ? ownerId : undefined,
    tieTo(organizationId) {
      if (isOrganization) return organizationId === ownerId ? {} : undefined;
      return owner.kind === "user" && memberships?.has(organizationId) ? {} : undefined;
    },
  };
}
