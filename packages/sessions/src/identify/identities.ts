/** What identifies the callers of one auth instance: its principal cache, its credentials and its options. */

import { changeFeedOf } from "../changes/change-feed.ts";
import { isIdentityChange, type RowChange } from "../changes/identity-change.ts";
import { watchedSessionsOf } from "../watched/watched-sessions.ts";
import { type CredentialNames, credentialNames } from "./credentials.ts";
import { PrincipalCache } from "./principal-cache.ts";
import type { HostContext } from "./request.ts";
import { hasSessionStore } from "./session.ts";
import { sharedPart } from "./shared-parts.ts";

/** The options of `createIdentities`. */
export interface IdentityOptions {
  /** The resource on which an API key must grant actions to identify a caller. */
  readonly keyResource: string;
}

/** What identifies the callers of one auth instance. */
export interface Identities {
  /** Callers that Better Auth verified recently. */
  readonly principals: PrincipalCache;
  /** Where the host expects credentials. */
  readonly credentials: CredentialNames;
  /** The resource on which an API key must grant actions. */
  readonly keyResource: string;
  /** Called with every change of callers' rows that this process makes, or that another process announces. */
  readonly changeListeners: Set<(change: RowChange) => void>;
}

/** One auth instance has one principal cache: a second call returns the first result. */
export function createIdentities(context: HostContext, options: IdentityOptions): Identities {
  return sharedPart(context.adapter, "identities", () => create(context, options));
}

function create(context: HostContext, { keyResource }: IdentityOptions): Identities {
  const principals = new PrincipalCache({
    sessions: canCompare(context) ? watchedSessionsOf(context).live : undefined,
  });
  const { listeners: changeListeners } = changeFeedOf(context);
  changeListeners.add((change) => {
    if (isIdentityChange(change)) principals.apply(change);
  });
  return { principals, credentials: credentialNames(context), keyResource, changeListeners };
}

/** False where sessions are not, or not only, in the database. */
function canCompare(context: HostContext): boolean {
  const { secondaryStorage, session } = context.options;
  const isInDatabase = hasSessionStore(context) && secondaryStorage === undefined;
  return isInDatabase && session?.cookieCache?.enabled !== true && !isWorkers();
}

/** Cloudflare Workers have no timers between requests, and a request may not wait for another request's query. */
function isWorkers(): boolean {
  return globalThis.navigator?.userAgent === "Cloudflare-Workers";
}
