/** Sessions that one query can confirm, because one time separates their last known changes from later ones. */
import type { CachedPrincipal, CheckTime } from "../identify/cached-principal.ts";
import type { SessionRows } from "../identify/session.ts";

/** Tolerated clock skew between nodes. */
const CLOCK_SKEW_MS = 10_000;

/**
 * A kept group is confirmed as a whole: its principals share one time of confirmation. A principal that is confirmed
 * alone, or whose memberships change, leaves it.
 */
export class SessionGroup {
  readonly principals: readonly CachedPrincipal[];
  readonly sessions: readonly SessionRows[];
  /** By role. */
  readonly memberIds: ReadonlyMap<string, ReadonlySet<string>>;
  /** Undefined when times cannot show a change, because the wall clock was set back. */
  readonly since: Date | undefined;
  formedAtMs = 0;
  readonly #changedAtMs: number;
  readonly #confirmedAt = { monotonicMs: 0, wallMs: 0 };

  constructor(
    principals: readonly CachedPrincipal[],
    sessions: readonly SessionRows[],
    changedAtMs: number,
    hasTime: boolean,
  ) {
    this.principals = principals;
    this.sessions = sessions;
    this.memberIds = membersByRole(principals);
    this.#changedAtMs = changedAtMs;
    // Databases may store fractions of a millisecond, which a `Date` does not hold.
    this.since = hasTime ? new Date(changedAtMs + 1) : undefined;
  }

  /** False after the wall clock was set back. */
  canBeConfirmed(): boolean {
    return canShowChange(this.#changedAtMs, this.#confirmedAt);
  }

  confirm({ monotonicMs, wallMs }: CheckTime): void {
    this.#confirmedAt.monotonicMs = monotonicMs;
    this.#confirmedAt.wallMs = wallMs;
  }

  /** Called right after all its principals were confirmed. */
  keep(): void {
    const [first] = this.principals;
    if (first === undefined) return;
    this.confirm(first.confirmedAt);
    this.formedAtMs = first.confirmedAt.monotonicMs;
    for (const principal of this.principals) principal.confirmWith(this, this.#confirmedAt);
  }

  release(): void {
    const confirmedAt: CheckTime = { ...this.#confirmedAt };
    for (const principal of this.principals)
      if (principal.group === this) principal.confirmAlone(confirmedAt);
  }
}

/** Whether a change after `confirmedAt` is later than `changedAtMs` by the clock of every node. */
export function canShowChange(changedAtMs: number, { wallMs }: CheckTime): boolean {
  return changedAtMs <= wallMs - CLOCK_SKEW_MS;
}

/** Usually one group; a second one holds those that changed after another was last verified. */
export function* groupSessions(block: readonly CachedPrincipal[]): Generator<SessionGroup> {
  let rest = block;
  while (rest.length > 0) {
    const sessions: SessionRows[] = [];
    let verifiedMs = Number.POSITIVE_INFINITY;
    let changedMs = Number.NEGATIVE_INFINITY;
    for (const principal of rest) {
      const rows = rowsOf(principal);
      sessions.push(rows);
      verifiedMs = Math.min(verifiedMs, principal.confirmedAt.wallMs);
      changedMs = Math.max(changedMs, rows.changedAtMs);
    }
    const latestMs = verifiedMs - CLOCK_SKEW_MS;
    if (changedMs <= latestMs) return yield new SessionGroup(rest, sessions, changedMs, true);
    const others = rest.filter((principal) => rowsOf(principal).changedAtMs > latestMs);
    if (others.length === rest.length) return yield new SessionGroup(rest, sessions, changedMs, false);
    yield* groupSessions(rest.filter((principal) => rowsOf(principal).changedAtMs <= latestMs));
    rest = others;
  }
}

function membersByRole(principals: readonly CachedPrincipal[]): Map<string, Set<string>> {
  const byRole = new Map<string, Set<string>>();
  for (const { memberships } of principals) {
    if (memberships === undefined) continue;
    for (const { id, role } of memberships.values()) {
      const ids = byRole.get(role) ?? new Set();
      byRole.set(role, ids.add(id));
    }
  }
  return byRole;
}

export function rowsOf({ rows }: CachedPrincipal): SessionRows {
  if (rows === undefined) throw new Error("A principal without session rows cannot be checked.");
  return rows;
}
