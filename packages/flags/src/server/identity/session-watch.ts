/** Checks in batches whether cached sessions still hold: every few seconds for those in use, and on demand. */
import type { CachedPrincipal, CheckTime } from "./cached-principal.ts";
import { later } from "./deadline.ts";
import type { SessionRows } from "./session.ts";
import type { SessionChanges } from "./session-changes.ts";
import type { FindDifferent } from "./session-values.ts";

/** `changed`: Better Auth must verify the credentials again. `unknown`: the session store did not respond. */
export type Confirmation = "confirmed" | "changed" | "unknown";

export interface SessionWatch {
  /** Whether a change of the session would show in the database. It does not right after another change. */
  canConfirm(principal: CachedPrincipal): boolean;
  /** Checks a principal whose request waits, in one batch with the others that wait. Never rejects. */
  confirm(principal: CachedPrincipal): Promise<Confirmation>;
  /** Whether the last query failed. Starts the next attempt, with this principal, without waiting for it. */
  isDown(principal: CachedPrincipal): boolean;
  /** Starts the periodic check of the principals in use. */
  start(principals: () => Iterable<CachedPrincipal>, remove: (principal: CachedPrincipal) => void): void;
  stop(): void;
}

export interface SessionWatchOptions {
  readonly changes: SessionChanges;
  readonly findDifferent: FindDifferent;
  readonly monotonicMs?: (() => number) | undefined;
  readonly nowMs?: (() => number) | undefined;
  readonly intervalMs?: number | undefined;
}

/** Below the time a verification counts, with room for the queries. */
const INTERVAL_MS = 4000;
/** Principals unused for this long are not checked in the background. */
const IN_USE_MS = 60_000;
/** Tolerated clock skew between nodes. */
const CLOCK_SKEW_MS = 10_000;
/** Sessions in one query: a query costs as much as hundreds of its rows. */
const MAX_BLOCK = 5000;
/** Divisor of the block size when a database refuses the number of parameters. */
const BLOCK_REDUCTION = 8;
const RETRY_DOWN_MS = 1000;
/** A change that leaves `updatedAt` as it was is found after this time, by comparing values. */
const COMPARE_MS = 10 * 60_000;
const MAX_COMPARED = 200;

export function createSessionWatch({
  changes,
  findDifferent,
  monotonicMs = () => performance.now(),
  nowMs = Date.now,
  intervalMs = INTERVAL_MS,
}: SessionWatchOptions): SessionWatch {
  let maxBlock = MAX_BLOCK;
  let failedAtMs: number | undefined;
  let waiting = new Map<CachedPrincipal, (outcome: Confirmation) => void>();
  const running = new Map<CachedPrincipal, Promise<Confirmation>>();
  let isServing = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isStopped = false;

  async function query<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      const result = await work();
      failedAtMs = undefined;
      return result;
    } catch (error) {
      failedAtMs = monotonicMs();
      throw error;
    }
  }

  /** Confirms the unchanged principals and reports the others. Throws when the session store does not respond. */
  async function confirmBlock(
    block: readonly CachedPrincipal[],
    report: (changed: CachedPrincipal) => void,
  ): Promise<void> {
    for (const { principals, rows, since } of groupBySince(block)) {
      if (since === undefined) {
        principals.forEach(report);
        continue;
      }
      const startedAt: CheckTime = { monotonicMs: monotonicMs(), wallMs: nowMs() };
      const tokens = await query(() => changes.changedSessions(rows, since));
      const members = await changedMembers(principals);
      for (const principal of principals) {
        if (tokens.has(rowsOf(principal).token) || hasMember(principal, members)) report(principal);
        else principal.confirmedAt = startedAt;
      }
    }
  }

  async function changedMembers(principals: readonly CachedPrincipal[]): Promise<ReadonlySet<string>> {
    const changed = new Set<string>();
    for (const [role, ids] of membersByRole(principals)) {
      for (const id of await query(() => changes.changedMembers(ids, role))) changed.add(id);
    }
    return changed;
  }

  async function confirmAll(
    principals: readonly CachedPrincipal[],
    report: (changed: CachedPrincipal) => void,
  ): Promise<void> {
    for (let at = 0; at < principals.length; ) {
      const block = principals.slice(at, at + maxBlock);
      try {
        await confirmBlock(block, report);
      } catch (error) {
        // If a query for one session succeeds, the database refused the number of parameters.
        const [first] = block;
        if (first === undefined || block.length === 1 || !(await canQuery(first))) throw error;
        maxBlock = Math.ceil(block.length / BLOCK_REDUCTION);
        continue;
      }
      at += block.length;
    }
  }

  function canQuery(principal: CachedPrincipal): Promise<boolean> {
    return query(() => changes.changedSessions([rowsOf(principal)], new Date(nowMs()))).then(
      () => true,
      () => false,
    );
  }

  /** Principals that arrive during a query are the next batch. */
  async function serve(): Promise<void> {
    if (isServing) return;
    isServing = true;
    while (waiting.size > 0) {
      const batch = waiting;
      waiting = new Map();
      const changed = new Set<CachedPrincipal>();
      const isAnswered = await confirmAll([...batch.keys()], (principal) => changed.add(principal)).then(
        () => true,
        () => false,
      );
      for (const [principal, settle] of batch) {
        settle(changed.has(principal) ? "changed" : isAnswered ? "confirmed" : "unknown");
      }
    }
    isServing = false;
  }

  async function compareValues(
    principals: readonly CachedPrincipal[],
    remove: (principal: CachedPrincipal) => void,
  ): Promise<void> {
    if (principals.length === 0) return;
    const startedAtMs = monotonicMs();
    const different = await findDifferent(principals);
    for (const principal of principals) principal.comparedAtMs = startedAtMs;
    different.forEach(remove);
  }

  async function checkInUse(
    principals: Iterable<CachedPrincipal>,
    remove: (principal: CachedPrincipal) => void,
  ): Promise<void> {
    const now = monotonicMs();
    const inUse: CachedPrincipal[] = [];
    const toCompare: CachedPrincipal[] = [];
    for (const principal of principals) {
      if (now - principal.usedAtMs > IN_USE_MS || !canConfirm(principal)) continue;
      inUse.push(principal);
      const isDue = now - principal.comparedAtMs >= COMPARE_MS;
      if (isDue && toCompare.length < MAX_COMPARED) toCompare.push(principal);
    }
    await confirmAll(inUse, remove);
    await compareValues(
      toCompare.filter(({ isRemoved }) => !isRemoved),
      remove,
    );
  }

  function confirm(principal: CachedPrincipal): Promise<Confirmation> {
    const current = running.get(principal);
    if (current !== undefined) return current;
    const outcome = new Promise<Confirmation>((resolve) => {
      waiting.set(principal, resolve);
    }).finally(() => running.delete(principal));
    running.set(principal, outcome);
    void serve();
    return outcome;
  }

  return {
    canConfirm,
    confirm,
    isDown(principal) {
      if (failedAtMs === undefined) return false;
      if (!isServing && monotonicMs() - failedAtMs >= RETRY_DOWN_MS) void confirm(principal);
      return true;
    },
    start(principals, remove) {
      if (timer !== undefined || isStopped) return;
      const run = async () => {
        const startedAtMs = monotonicMs();
        // A failure shows in `isDown`.
        await checkInUse(principals(), remove).catch(() => undefined);
        if (isStopped) return;
        const waitMs = failedAtMs === undefined ? intervalMs : RETRY_DOWN_MS;
        timer = later(() => void run(), Math.max(0, startedAtMs + waitMs - monotonicMs()));
      };
      timer = later(() => void run(), intervalMs);
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

/** The last change must be older than the last verification by the clock skew, so that the next one is later. */
function canConfirm({ rows, confirmedAt }: CachedPrincipal): boolean {
  return rows !== undefined && rows.changedAtMs <= confirmedAt.wallMs - CLOCK_SKEW_MS;
}

interface SinceGroup {
  readonly principals: readonly CachedPrincipal[];
  readonly rows: readonly SessionRows[];
  /** Undefined when times cannot show a change, because the wall clock was set back. */
  readonly since: Date | undefined;
}

/**
 * Groups with one time each: after the last known change of every row in the group, and before the earliest
 * verification. Usually one group; a second one holds those that changed after another was last verified.
 */
function* groupBySince(block: readonly CachedPrincipal[]): Generator<SinceGroup> {
  let rest = block;
  while (rest.length > 0) {
    const rows: SessionRows[] = [];
    let verifiedMs = Number.POSITIVE_INFINITY;
    let changedMs = Number.NEGATIVE_INFINITY;
    for (const principal of rest) {
      const ofPrincipal = rowsOf(principal);
      rows.push(ofPrincipal);
      verifiedMs = Math.min(verifiedMs, principal.confirmedAt.wallMs);
      changedMs = Math.max(changedMs, ofPrincipal.changedAtMs);
    }
    const latestMs = verifiedMs - CLOCK_SKEW_MS;
    if (changedMs <= latestMs) return yield { principals: rest, rows, since: sinceOf(changedMs) };
    const others = rest.filter((principal) => rowsOf(principal).changedAtMs > latestMs);
    if (others.length === rest.length) return yield { principals: rest, rows, since: undefined };
    yield* groupBySince(rest.filter((principal) => rowsOf(principal).changedAtMs <= latestMs));
    rest = others;
  }
}

/** Databases may store fractions of a millisecond, which a `Date` does not hold. */
function sinceOf(changedMs: number): Date {
  return new Date(changedMs + 1);
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

function hasMember({ memberships }: CachedPrincipal, memberIds: ReadonlySet<string>): boolean {
  if (memberships === undefined || memberIds.size === 0) return false;
  return [...memberships.values()].some(({ id }) => memberIds.has(id));
}

function rowsOf({ rows }: CachedPrincipal): SessionRows {
  if (rows === undefined) throw new Error("A principal without session rows cannot be checked.");
  return rows;
}
