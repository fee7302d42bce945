/** Checks in batches whether cached sessions still hold: every few seconds for those in use, and on demand. */

import { later } from "@halyard/base";
import type { CachedPrincipal, CheckTime } from "../identify/cached-principal.ts";
import type { SessionChanges } from "./session-changes.ts";
import { canShowChange, groupSessions, rowsOf, type SessionGroup } from "./session-group.ts";
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

/** Interval of comparisons with the session store. With the time of a query, a change is found within 5 s. */
export const COMPARISON_MS = 4000;
/** Principals unused for this long are not checked in the background. */
const IN_USE_MS = 60_000;
/** Sessions in one query: a query costs as much as hundreds of its rows. */
const MAX_BLOCK = 5000;
/** Smaller groups are not kept: each costs a query. */
const MIN_KEPT = 500;
/** After this time a kept group is formed again, from the principals still in use. */
const KEPT_MS = 60_000;
/** Divisor of the block size when a database refuses the number of parameters. */
const BLOCK_REDUCTION = 8;
const RETRY_DOWN_MS = 1000;
/** A change that leaves `updatedAt` as it was is found after this time, by comparing values. */
const COMPARE_MS = 10 * 60_000;
const MAX_COMPARED = 200;
const NONE: ReadonlySet<CachedPrincipal> = new Set();

export function createSessionWatch({
  changes,
  findDifferent,
  monotonicMs = () => performance.now(),
  nowMs = Date.now,
  intervalMs = COMPARISON_MS,
}: SessionWatchOptions): SessionWatch {
  let maxBlock = MAX_BLOCK;
  let failedAtMs: number | undefined;
  let waiting = new Map<CachedPrincipal, (outcome: Confirmation) => void>();
  const running = new Map<CachedPrincipal, Promise<Confirmation>>();
  let isServing = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isStopped = false;
  const kept = new Set<SessionGroup>();

  function now(): CheckTime {
    return { monotonicMs: monotonicMs(), wallMs: nowMs() };
  }

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
    keep?: (group: SessionGroup) => void,
  ): Promise<void> {
    for (const group of groupSessions(block)) {
      const startedAt = now();
      const changed = await findChanged(group);
      for (const principal of group.principals) {
        if (changed.has(principal)) report(principal);
        else principal.confirmAlone(startedAt);
      }
      if (changed.size === 0 && group.principals.length >= MIN_KEPT) keep?.(group);
    }
  }

  /** The next check of a kept group costs a query and no walk over its principals, unless one has changed. */
  async function confirmKept(group: SessionGroup, report: (changed: CachedPrincipal) => void): Promise<void> {
    const startedAt = now();
    const changed = await findChanged(group);
    group.confirm(startedAt);
    if (changed.size === 0) return;
    release(group);
    changed.forEach(report);
  }

  async function findChanged({
    principals,
    sessions,
    memberIds,
    since,
  }: SessionGroup): Promise<ReadonlySet<CachedPrincipal>> {
    if (since === undefined) return new Set(principals);
    const tokens = await query(() => changes.changedSessions(sessions, since));
    const members = new Set<string>();
    for (const [role, ids] of memberIds) {
      for (const id of await query(() => changes.changedMembers(ids, role))) members.add(id);
    }
    if (tokens.size === 0 && members.size === 0) return NONE;
    return new Set(
      principals.filter(
        (principal) => tokens.has(rowsOf(principal).token) || principal.hasMembership(members),
      ),
    );
  }

  function keep(group: SessionGroup): void {
    group.keep();
    kept.add(group);
  }

  function release(group: SessionGroup): void {
    group.release();
    kept.delete(group);
  }

  async function confirmAll(
    principals: readonly CachedPrincipal[],
    report: (changed: CachedPrincipal) => void,
    keep?: (group: SessionGroup) => void,
  ): Promise<void> {
    for (let at = 0; at < principals.length; ) {
      const block = principals.slice(at, at + maxBlock);
      try {
        await confirmBlock(block, report, keep);
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
    const startedAtMs = monotonicMs();
    for (const group of kept) {
      if (startedAtMs - group.formedAtMs >= KEPT_MS || !group.canBeConfirmed()) release(group);
    }
    const inUse: CachedPrincipal[] = [];
    const toCompare: CachedPrincipal[] = [];
    for (const principal of principals) {
      if (principal.group === undefined) {
        if (startedAtMs - principal.usedAtMs > IN_USE_MS || !canConfirm(principal)) continue;
        inUse.push(principal);
      }
      const isDue = startedAtMs - principal.comparedAtMs >= COMPARE_MS;
      if (isDue && toCompare.length < MAX_COMPARED) toCompare.push(principal);
    }
    for (const group of kept) await confirmKept(group, remove);
    await confirmAll(inUse, remove, keep);
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

/** Whether a change of the session after its last verification would show in the database. */
function canConfirm({ rows, confirmedAt }: CachedPrincipal): boolean {
  return rows !== undefined && canShowChange(rows.changedAtMs, confirmedAt);
}
