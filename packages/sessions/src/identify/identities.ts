/** What identifies the callers of one auth instance: its principal cache, its credentials and its options. */

import { changeFeedOf } from "../changes/change-feed.ts";
import { isIdentityChange, type RowChange } from "../changes/identity-change.ts";
import { createSessionChanges, type SessionChanges } from "../watched/session-changes.ts";
import { createValueComparison } from "../watched/session-values.ts";
import { createSessionWatch, type SessionWatch } from "../watched/session-watch.ts";
import { type CredentialNames, credentialNames } from "./credentials.ts";
import { PrincipalCache } from "./principal-cache.ts";
import type { HostContext } from "./request.ts";
import { hasSessionStore } from "./session.ts";

/** The options of `createIdentities`. */
export interface IdentityOptions {
  /** The resource on which an API key must grant actions to identify a caller. */
  readonly keyResource: string;
  /** Replaces the queries for changed sessions, which go through Better Auth's adapter by default. */
  readonly sessionChanges?: ((byAdapter: SessionChanges) => SessionChanges) | undefined;
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

/** By the adapter, which is the same object for every request to an auth instance. */
const instances = new WeakMap<object, Identities>();
const changesByAdapter = new WeakMap<object, SessionChanges>();

/** The queries for changed sessions of an auth instance: those that a plugin chose, or those of Better Auth's adapter. */
export function sessionChangesOf({ adapter }: Pick<HostContext, "adapter">): SessionChanges {
  const changes = changesByAdapter.get(adapter) ?? createSessionChanges(adapter);
  changesByAdapter.set(adapter, changes);
  return changes;
}

/** One auth instance has one principal cache: a second call returns the first result. */
export function createIdentities(context: HostContext, options: IdentityOptions): Identities {
  const existing = instances.get(context.adapter);
  if (existing !== undefined) return existing;
  const { keyResource, sessionChanges } = options;
  if (sessionChanges !== undefined)
    changesByAdapter.set(context.adapter, sessionChanges(createSessionChanges(context.adapter)));
  const principals = new PrincipalCache({ watch: createWatch(context) });
  const { listeners: changeListeners } = changeFeedOf(context);
  changeListeners.add((change) => {
    if (isIdentityChange(change)) principals.apply(change);
  });
  const identities: Identities = {
    principals,
    credentials: credentialNames(context),
    keyResource,
    changeListeners,
  };
  instances.set(context.adapter, identities);
  return identities;
}

/** Undefined where sessions are not, or not only, in the database. */
function createWatch(context: HostContext): SessionWatch | undefined {
  const { adapter, options, tables } = context;
  const isInDatabase = hasSessionStore(context) && options.secondaryStorage === undefined;
  if (!isInDatabase || options.session?.cookieCache?.enabled === true || isWorkers()) return undefined;
  const hasField = (model: string, field: string) => tables[model]?.fields[field] !== undefined;
  return createSessionWatch({
    changes: sessionChangesOf(context),
    findDifferent: createValueComparison(adapter, {
      role: hasField("user", "role"),
      activeOrganizationId: hasField("session", "activeOrganizationId"),
    }),
  });
}

/** Cloudflare Workers have no timers between requests, and a request may not wait for another request's query. */
function isWorkers(): boolean {
  return globalThis.navigator?.userAgent === "Cloudflare-Workers";
}
