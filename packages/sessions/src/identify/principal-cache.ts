/** The principal cache: callers that Better Auth verified recently, and for how long that verification counts. */

import { type IdentityChange, RecentChanges } from "../changes/identity-change.ts";
import { sessionPrint } from "../changes/session-print.ts";
import type { LiveSession } from "../watched/live-session.ts";
import type { LiveSessions } from "../watched/live-sessions.ts";
import { type CachedMembership, CachedPrincipal, type PrincipalFacts } from "./cached-principal.ts";
import type { Principal } from "./caller.ts";

export interface RecalledPrincipal {
  readonly principal: CachedPrincipal;
  /** The session store could not confirm it. */
  readonly isStale: boolean;
}

export interface PrincipalCacheOptions {
  /** Absent where changes of sessions cannot be queried: verifications then expire without being renewed. */
  readonly sessions?: LiveSessions | undefined;
  readonly monotonicMs?: (() => number) | undefined;
  readonly nowMs?: (() => number) | undefined;
  readonly maxPrincipals?: number | undefined;
}

/** A revoked session counts for at most 5 s. */
const TRUSTED_MS = 4800;
/** How long the last verification counts while the session store does not respond. */
const MAX_STALE_MS = 10 * 60_000;
const MAX_PRINCIPALS = 20_000;
/** Cookies and headers that Better Auth ignores make further entries of one session or API key. */
const MAX_PER_CREDENTIAL = 8;
/** A session is compared in the background for so long after its last use. */
const IN_USE_MS = 60_000;
/** Minimum interval between two updates of the eviction order for one principal. */
const TOUCH_INTERVAL_MS = 1000;

export class PrincipalCache {
  /** The least recently used first. */
  readonly #byKey = new Map<string, CachedPrincipal>();
  /** By the print of the token or of the API key's id. */
  readonly #byCredential = new Map<string, Set<CachedPrincipal>>();
  /** By the id of the user, or of the API key's owner. */
  readonly #byOwner = new Map<string, Set<CachedPrincipal>>();
  readonly #recent = new RecentChanges();
  #sessions: LiveSessions | undefined;
  readonly #monotonicMs: () => number;
  readonly #nowMs: () => number;
  readonly #maxPrincipals: number;

  constructor({ sessions, monotonicMs, nowMs, maxPrincipals = MAX_PRINCIPALS }: PrincipalCacheOptions = {}) {
    this.#sessions = sessions;
    this.#monotonicMs = monotonicMs ?? (() => performance.now());
    this.#nowMs = nowMs ?? Date.now;
    this.#maxPrincipals = maxPrincipals;
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** By the monotonic clock. */
  now(): number {
    return this.#monotonicMs();
  }

  /** Stores the result of a verification that began at `startedAtMs`. Undefined when this process has changed it since. */
  remember(cacheKey: string, facts: PrincipalFacts, startedAtMs: number): CachedPrincipal | undefined {
    const previous = this.#byKey.get(cacheKey);
    if (previous !== undefined) this.#remove(previous);
    const { caller, credentialId } = facts;
    const ownerId = ownerOf(caller);
    const isOutdated = this.#hasChanged(startedAtMs, [
      { kind: "session", id: credentialId },
      { kind: "user", id: ownerId },
      { kind: "organization", id: ownerId },
      ...sessionIdsOf(caller),
    ]);
    if (isOutdated) return undefined;
    const principal = new CachedPrincipal(cacheKey, facts, startedAtMs);
    this.#byKey.set(cacheKey, principal);
    const { credentialPrint } = principal;
    addTo(this.#byCredential, credentialPrint, principal);
    addTo(this.#byOwner, ownerId, principal);
    for (const oldest of this.#byCredential.get(credentialPrint) ?? []) {
      if ((this.#byCredential.get(credentialPrint)?.size ?? 0) <= MAX_PER_CREDENTIAL) break;
      this.#remove(oldest);
    }
    for (const oldest of this.#byKey.values()) {
      if (this.#byKey.size <= this.#maxPrincipals) break;
      this.#remove(oldest);
    }
    return principal;
  }

  /** Synchronous while the last verification counts. Undefined when Better Auth must verify the credentials. */
  recall(cacheKey: string): RecalledPrincipal | undefined | Promise<RecalledPrincipal | undefined> {
    const principal = this.#find(cacheKey);
    if (principal === undefined) return undefined;
    const now = this.#monotonicMs();
    this.#touch(principal, now);
    const session = this.#sessionOf(principal);
    const { confirmedAtMs } = principal;
    if (confirmedAtMs === undefined) return this.#remove(principal);
    if (now - confirmedAtMs <= TRUSTED_MS) return { principal, isStale: false };
    if (session === undefined) return undefined;
    if (isRecent(principal, now) && this.#sessions?.rows.isDownFor(session))
      return { principal, isStale: true };
    return this.#confirm(principal, session);
  }

  /** The last verified caller, for while the session store does not respond. */
  recallStale(cacheKey: string): CachedPrincipal | undefined {
    const principal = this.#find(cacheKey);
    return principal !== undefined && isRecent(principal, this.#monotonicMs()) ? principal : undefined;
  }

  /** Adds what a query that began at `startedAtMs` found, unless this process has changed it since. */
  addMembership(
    principal: CachedPrincipal,
    organizationId: string,
    membership: CachedMembership,
    startedAtMs: number,
  ): void {
    const isOutdated = this.#hasChanged(startedAtMs, [
      { kind: "member", id: membership.id },
      { kind: "organization", id: organizationId },
    ]);
    if (isOutdated) return;
    principal.addMembership(organizationId, membership);
    const { session } = principal;
    if (session?.addOrganization(organizationId)) this.#sessions?.rows.mark([session]);
  }

  /** Removes the principals that a change concerns: it counts at once. */
  apply(change: IdentityChange): void {
    this.#recent.add(change, this.#monotonicMs());
    for (const principal of this.#concernedBy(change)) this.#remove(principal);
  }

  /** Sessions are not compared for this cache any more. */
  close(): void {
    const sessions = this.#sessions;
    this.#sessions = undefined;
    for (const { session } of this.#byKey.values()) if (session !== undefined) sessions?.release(session);
  }

  /** The session of a caller in use, which is compared in the background so that the next request need not wait. */
  #sessionOf(principal: CachedPrincipal): LiveSession | undefined {
    const { sessionId, credentialId: token, session } = principal;
    if (session?.isDropped === false || sessionId === undefined) return session;
    principal.session = this.#sessions?.keep({ sessionId, token }, IN_USE_MS);
    for (const organizationId of principal.memberships?.keys() ?? [])
      principal.session?.addOrganization(organizationId);
    return principal.session;
  }

  async #confirm(principal: CachedPrincipal, session: LiveSession): Promise<RecalledPrincipal | undefined> {
    const isAnswered = await this.#sessions?.rows.confirm(session);
    if (principal.isRemoved) return undefined;
    const now = this.#monotonicMs();
    if (!isAnswered) return isRecent(principal, now) ? { principal, isStale: true } : undefined;
    const { confirmedAtMs = Number.NEGATIVE_INFINITY } = principal;
    if (!session.isDropped && now - confirmedAtMs <= TRUSTED_MS) return { principal, isStale: false };
    return this.#remove(principal);
  }

  #find(cacheKey: string): CachedPrincipal | undefined {
    const principal = this.#byKey.get(cacheKey);
    if (principal === undefined) return undefined;
    const isOver = principal.session?.hasEnded === true || this.#nowMs() >= principal.validUntilMs;
    return isOver ? this.#remove(principal) : principal;
  }

  #touch(principal: CachedPrincipal, now: number): void {
    if (now - principal.usedAtMs < TOUCH_INTERVAL_MS) return;
    principal.usedAtMs = now;
    principal.session?.keepFor(IN_USE_MS);
    this.#byKey.delete(principal.cacheKey);
    this.#byKey.set(principal.cacheKey, principal);
  }

  #remove(principal: CachedPrincipal): undefined {
    principal.isRemoved = true;
    const { cacheKey, credentialPrint, caller } = principal;
    if (this.#byKey.get(cacheKey) === principal) this.#byKey.delete(cacheKey);
    removeFrom(this.#byCredential, credentialPrint, principal);
    removeFrom(this.#byOwner, ownerOf(caller), principal);
  }

  #hasChanged(startedAtMs: number, subjects: readonly IdentityChange[]): boolean {
    return this.#recent.includes(subjects, startedAtMs, this.#monotonicMs());
  }

  #concernedBy(change: IdentityChange): CachedPrincipal[] {
    switch (change.kind) {
      case "session":
        return [...(this.#byCredential.get(sessionPrint(change.id)) ?? [])];
      case "session-print":
        return [...(this.#byCredential.get(change.id) ?? [])];
      case "session-id":
        return [...this.#byKey.values()].filter(
          ({ caller }) => caller.kind === "user" && caller.user.sessionId === change.id,
        );
      case "user":
        return [...(this.#byOwner.get(change.id) ?? [])];
      case "member": {
        const ids = new Set([change.id]);
        return [...this.#byKey.values()].filter((principal) => principal.hasMembership(ids));
      }
      case "organization":
        return [...this.#byKey.values()].filter(
          ({ caller, memberships }) => ownerOf(caller) === change.id || memberships?.has(change.id) === true,
        );
      case "unknown":
        return [...this.#byKey.values()];
    }
  }
}

function ownerOf(caller: Principal): string {
  return caller.kind === "user" ? caller.user.id : caller.key.ownerId;
}

function sessionIdsOf(caller: Principal): IdentityChange[] {
  if (caller.kind !== "user" || caller.user.sessionId === undefined) return [];
  return [{ kind: "session-id", id: caller.user.sessionId }];
}

function isRecent({ confirmedAtMs }: CachedPrincipal, now: number): boolean {
  return confirmedAtMs !== undefined && now - confirmedAtMs <= MAX_STALE_MS;
}

function addTo(index: Map<string, Set<CachedPrincipal>>, key: string, principal: CachedPrincipal): void {
  const principals = index.get(key);
  if (principals === undefined) index.set(key, new Set([principal]));
  else principals.add(principal);
}

function removeFrom(index: Map<string, Set<CachedPrincipal>>, key: string, principal: CachedPrincipal): void {
  const principals = index.get(key);
  principals?.delete(principal);
  if (principals?.size === 0) index.delete(key);
}
