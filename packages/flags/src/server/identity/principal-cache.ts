/** The principal cache: callers that Better Auth verified recently, and for how long that verification counts. */
import { CachedPrincipal, type CheckTime, type PrincipalFacts } from "./cached-principal.ts";
import type { SessionWatch } from "./session-watch.ts";

export interface RecalledPrincipal {
  readonly principal: CachedPrincipal;
  /** The session store could not confirm it. */
  readonly isStale: boolean;
}

export interface PrincipalCacheOptions {
  /** Absent where changes of sessions cannot be queried: verifications then expire without being renewed. */
  readonly watch?: SessionWatch | undefined;
  readonly monotonicMs?: (() => number) | undefined;
  readonly nowMs?: (() => number) | undefined;
  readonly maxPrincipals?: number | undefined;
}

/** A revoked session counts for at most 5 s. */
const TRUSTED_MS = 4800;
/** How long the last verification counts while the session store does not respond. */
const MAX_STALE_MS = 10 * 60_000;
const MAX_PRINCIPALS = 20_000;
/** Minimum interval between two updates of the eviction order for one principal. */
const TOUCH_INTERVAL_MS = 1000;

export class PrincipalCache {
  /** The least recently used first. */
  readonly #byKey = new Map<string, CachedPrincipal>();
  readonly #byToken = new Map<string, Set<CachedPrincipal>>();
  readonly #byUser = new Map<string, Set<CachedPrincipal>>();
  readonly #watch: SessionWatch | undefined;
  readonly #monotonicMs: () => number;
  readonly #nowMs: () => number;
  readonly #maxPrincipals: number;

  constructor({ watch, monotonicMs, nowMs, maxPrincipals = MAX_PRINCIPALS }: PrincipalCacheOptions = {}) {
    this.#watch = watch;
    this.#monotonicMs = monotonicMs ?? (() => performance.now());
    this.#nowMs = nowMs ?? Date.now;
    this.#maxPrincipals = maxPrincipals;
  }

  get size(): number {
    return this.#byKey.size;
  }

  now(): CheckTime {
    return { monotonicMs: this.#monotonicMs(), wallMs: this.#nowMs() };
  }

  /** Stores the result of a verification that began at `startedAt`. */
  remember(cacheKey: string, facts: PrincipalFacts, startedAt: CheckTime): CachedPrincipal {
    const previous = this.#byKey.get(cacheKey);
    if (previous !== undefined) this.#remove(previous);
    const principal = new CachedPrincipal(cacheKey, facts, startedAt);
    this.#byKey.set(cacheKey, principal);
    if (facts.rows !== undefined) addTo(this.#byToken, facts.rows.token, principal);
    if (facts.caller.kind === "user") addTo(this.#byUser, facts.caller.user.id, principal);
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
    if (now - principal.confirmedAt.monotonicMs <= TRUSTED_MS) return { principal, isStale: false };
    const watch = this.#watch;
    if (watch === undefined || !watch.canConfirm(principal)) return undefined;
    if (isRecent(principal, now) && watch.isDown(principal)) return { principal, isStale: true };
    return this.#confirm(watch, principal);
  }

  /** The last verified caller, for while the session store does not respond. */
  recallStale(cacheKey: string): CachedPrincipal | undefined {
    const principal = this.#find(cacheKey);
    return principal !== undefined && isRecent(principal, this.#monotonicMs()) ? principal : undefined;
  }

  removeSession(token: string): void {
    for (const principal of [...(this.#byToken.get(token) ?? [])]) this.#remove(principal);
  }

  removeUser(userId: string): void {
    for (const principal of [...(this.#byUser.get(userId) ?? [])]) this.#remove(principal);
  }

  /** Starts the background check of the sessions in use, so that their next requests need not wait for it. */
  startWatch(): void {
    this.#watch?.start(
      () => this.#byKey.values(),
      (principal) => this.#remove(principal),
    );
  }

  close(): void {
    this.#watch?.stop();
  }

  async #confirm(watch: SessionWatch, principal: CachedPrincipal): Promise<RecalledPrincipal | undefined> {
    const outcome = await watch.confirm(principal);
    if (outcome === "changed") this.#remove(principal);
    if (principal.isRemoved) return undefined;
    if (outcome === "confirmed") return { principal, isStale: false };
    return isRecent(principal, this.#monotonicMs()) ? { principal, isStale: true } : undefined;
  }

  #find(cacheKey: string): CachedPrincipal | undefined {
    const principal = this.#byKey.get(cacheKey);
    if (principal === undefined || this.#nowMs() < principal.validUntilMs) return principal;
    this.#remove(principal);
    return undefined;
  }

  #touch(principal: CachedPrincipal, now: number): void {
    if (now - principal.usedAtMs < TOUCH_INTERVAL_MS) return;
    principal.usedAtMs = now;
    this.#byKey.delete(principal.cacheKey);
    this.#byKey.set(principal.cacheKey, principal);
  }

  #remove(principal: CachedPrincipal): void {
    principal.isRemoved = true;
    const { cacheKey, rows, caller } = principal;
    if (this.#byKey.get(cacheKey) === principal) this.#byKey.delete(cacheKey);
    if (rows !== undefined) removeFrom(this.#byToken, rows.token, principal);
    if (caller.kind === "user") removeFrom(this.#byUser, caller.user.id, principal);
  }
}

function isRecent({ confirmedAt }: CachedPrincipal, now: number): boolean {
  return now - confirmedAt.monotonicMs <= MAX_STALE_MS;
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
