/** The callers whose credentials were checked lately: for how long that counts, and what happens when it no longer does. */
import { type CheckTime, KnownPrincipal, type PrincipalFacts } from "./principal.ts";
import type { SessionWatch } from "./session-watch.ts";

export interface Recalled {
  readonly principal: KnownPrincipal;
  /** The store could not be asked whether this still holds. */
  readonly stale: boolean;
}

export interface Principals {
  now(): CheckTime;
  /** Keeps what a check that began at this time has found. */
  remember(proof: string, facts: PrincipalFacts, askedAt: CheckTime): KnownPrincipal;
  /** The caller, if known well enough to be answered; undefined when Better Auth must be asked. */
  recall(proof: string): Recalled | undefined | Promise<Recalled | undefined>;
  /** The caller as last known, for when the store cannot be asked. */
  recallStale(proof: string): KnownPrincipal | undefined;
  forgetSession(token: string): void;
  forgetUser(userId: string): void;
  /** Begins to ask the store in the background, so that callers who come back need not wait for it. */
  watch(): void;
  readonly size: number;
  close(): void;
}

export interface PrincipalsOptions {
  /** Absent where sessions cannot be asked for in numbers: they are then known for a short while only. */
  readonly watch?: SessionWatch | undefined;
  readonly monotonicMs?: (() => number) | undefined;
  readonly nowMs?: (() => number) | undefined;
  readonly maxPrincipals?: number | undefined;
}

/** A revoked session is to be gone within five seconds. */
const TRUSTED_MS = 4800;
/** How long the last check counts while there can be no other. */
const STALE_MS = 10 * 60_000;
const MAX_PRINCIPALS = 20_000;
/** One that was used this long ago moves to the end of the line of those to be forgotten. */
const MOVE_AFTER_MS = 1000;

export function createPrincipals({
  watch,
  monotonicMs = () => performance.now(),
  nowMs = Date.now,
  maxPrincipals = MAX_PRINCIPALS,
}: PrincipalsOptions): Principals {
  /** The least recently used first. */
  const known = new Map<string, KnownPrincipal>();
  const byToken = new Map<string, Set<KnownPrincipal>>();
  const byUser = new Map<string, Set<KnownPrincipal>>();

  function forget(principal: KnownPrincipal): void {
    principal.isForgotten = true;
    if (known.get(principal.proof) === principal) known.delete(principal.proof);
    if (principal.rows !== undefined) drop(byToken, principal.rows.token, principal);
    if (principal.caller.kind === "user") drop(byUser, principal.caller.user.id, principal);
  }

  function find(proof: string): KnownPrincipal | undefined {
    const principal = known.get(proof);
    if (principal === undefined || nowMs() < principal.validUntilMs) return principal;
    forget(principal);
    return undefined;
  }

  function touch(principal: KnownPrincipal, now: number): void {
    if (now - principal.usedAtMs < MOVE_AFTER_MS) return;
    principal.usedAtMs = now;
    known.delete(principal.proof);
    known.set(principal.proof, principal);
  }

  function isRecent({ confirmedAt }: KnownPrincipal, now: number): boolean {
    return now - confirmedAt.monotonicMs <= STALE_MS;
  }

  async function confirmed(watching: SessionWatch, principal: KnownPrincipal): Promise<Recalled | undefined> {
    const outcome = await watching.confirm(principal);
    if (outcome === "changed") forget(principal);
    if (principal.isForgotten) return undefined;
    if (outcome === "confirmed") return { principal, stale: false };
    return isRecent(principal, monotonicMs()) ? { principal, stale: true } : undefined;
  }

  return {
    now: () => ({ monotonicMs: monotonicMs(), wallMs: nowMs() }),
    remember(proof, facts, askedAt) {
      const before = known.get(proof);
      if (before !== undefined) forget(before);
      const principal = new KnownPrincipal(proof, facts, askedAt);
      known.set(proof, principal);
      if (facts.rows !== undefined) keep(byToken, facts.rows.token, principal);
      if (facts.caller.kind === "user") keep(byUser, facts.caller.user.id, principal);
      for (const oldest of known.values()) {
        if (known.size <= maxPrincipals) break;
        forget(oldest);
      }
      return principal;
    },
    recall(proof) {
      const principal = find(proof);
      if (principal === undefined) return undefined;
      const now = monotonicMs();
      touch(principal, now);
      if (now - principal.confirmedAt.monotonicMs <= TRUSTED_MS) return { principal, stale: false };
      if (watch === undefined || !watch.canAsk(principal)) return undefined;
      if (isRecent(principal, now) && watch.isDown(principal)) return { principal, stale: true };
      return confirmed(watch, principal);
    },
    recallStale(proof) {
      const principal = find(proof);
      return principal !== undefined && isRecent(principal, monotonicMs()) ? principal : undefined;
    },
    forgetSession(token) {
      for (const principal of [...(byToken.get(token) ?? [])]) forget(principal);
    },
    forgetUser(userId) {
      for (const principal of [...(byUser.get(userId) ?? [])]) forget(principal);
    },
    watch: () => watch?.start(() => known.values(), forget),
    get size() {
      return known.size;
    },
    close: () => watch?.stop(),
  };
}

function keep(index: Map<string, Set<KnownPrincipal>>, key: string, principal: KnownPrincipal): void {
  const kept = index.get(key);
  if (kept === undefined) index.set(key, new Set([principal]));
  else kept.add(principal);
}

function drop(index: Map<string, Set<KnownPrincipal>>, key: string, principal: KnownPrincipal): void {
  const kept = index.get(key);
  kept?.delete(principal);
  if (kept?.size === 0) index.delete(key);
}
