/**
 * The floor under all announcements: every few seconds, the followed sessions are compared with the session store, so that
 * a change that no process announced is found too.
 */
import { later } from "@halyard/base";
import type { LiveSession } from "./live-session.ts";
import type { LiveSessions } from "./live-sessions.ts";
import type { RowVersions } from "./row-versions.ts";
import type { SessionChanges } from "./session-changes.ts";
import { COMPARISON_MS } from "./session-watch.ts";

export interface FloorOptions {
  readonly sessions: LiveSessions;
  /** Finds every change of a row. Undefined for other databases than PostgreSQL. */
  readonly versions?: RowVersions<LiveSession> | undefined;
  /** Counts unchanged rows, which costs a tenth of reading them. Undefined where sessions are not only in the database. */
  readonly changes: (() => SessionChanges) | undefined;
  readonly report: (error: unknown) => void;
  readonly intervalMs?: number | undefined;
}

export interface Floor {
  /** Starts the rounds, if they do not run. */
  start(): void;
  /** Compares now, and resolves when the changed sessions were read. */
  run(): Promise<void>;
  stop(): void;
}

/** Sessions in one count. Some databases allow some 2,000 parameters in a query. */
const MAX_BLOCK = 1000;
/** Rows changed later than this are read by value: the clocks of the nodes may differ by half of it. */
const SETTLED_MS = 20_000;
/** A count proves nothing about the time before the last successful comparison but one. */
const MAX_GAP_MS = 9_000;
/** Without versions, a change that leaves `updatedAt` and the role as they were is found in this time, by reading each session. */
const BY_VALUE_MS = 60_000;
/** With versions, each session is read in this time too, for tables with versions that do not tell of every change. */
const BY_VALUE_BESIDE_VERSIONS_MS = 600_000;
/** So many sessions are read by value in every round. */
const MIN_BY_VALUE = 500;
/** A session that no listener follows any more is kept for a connection that is being opened. */
const UNUSED_MS = 30_000;

export function createFloor({
  sessions,
  versions,
  changes,
  report,
  intervalMs = COMPARISON_MS,
}: FloorOptions): Floor {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isRunning = false;
  let nextByValue = sessions.all();

  /** Resolves when the changed sessions are marked. They are read later: with many of them, that may take several rounds. */
  async function compare(): Promise<void> {
    const followed = dropUnused();
    const wallMs = Date.now();
    if (await compareVersions(followed, wallMs)) return;
    const byTime: LiveSession[] = [];
    const byValue: LiveSession[] = [];
    for (const live of followed)
      (changes !== undefined && isSettled(live, wallMs) ? byTime : byValue).push(live);
    byTime.sort((one, other) => one.readAtMs - other.readAtMs);
    const quota = Math.max(MIN_BY_VALUE, Math.ceil((byTime.length * intervalMs) / BY_VALUE_MS));
    sessions.mark([...byValue, ...byTime.splice(0, quota)]);
    if (changes !== undefined) await compareTimes(changes(), byTime, wallMs);
  }

  /** Returns the sessions with listeners. */
  function dropUnused(): LiveSession[] {
    const nowMs = performance.now();
    const followed: LiveSession[] = [];
    for (const live of sessions.all()) {
      if (live.listeners.length > 0) followed.push(live);
      else if (nowMs - live.usedAtMs >= UNUSED_MS && live.waiters === undefined) sessions.drop(live);
    }
    return followed;
  }

  /** False if the database has no versions. */
  async function compareVersions(followed: readonly LiveSession[], wallMs: number): Promise<boolean> {
    const changed = await versions?.findChanged(followed);
    if (changed === undefined) return false;
    for (const [live, version] of changed) live.foundVersion = version;
    sessions.mark(changed.keys());
    if (sessions.nextExpiryMs <= wallMs) sessions.mark(sessions.takeExpired(wallMs));
    sessions.mark(takeByValue(Math.ceil((followed.length * intervalMs) / BY_VALUE_BESIDE_VERSIONS_MS)));
    return true;
  }

  /** Sessions in turn: each is taken once before one is taken again. */
  function takeByValue(count: number): LiveSession[] {
    const taken: LiveSession[] = [];
    while (taken.length < count) {
      const { value, done } = nextByValue.next();
      if (done) {
        nextByValue = sessions.all();
        break;
      }
      if (value.listeners.length > 0) taken.push(value);
    }
    return taken;
  }

  async function compareTimes(
    { changedSessions, changedMembers }: SessionChanges,
    settled: readonly LiveSession[],
    wallMs: number,
  ): Promise<void> {
    for (let at = 0; at < settled.length; at += MAX_BLOCK) {
      const block = settled.slice(at, at + MAX_BLOCK).filter(({ isEnded }) => !isEnded);
      if (block.length === 0) continue;
      const rows = block.flatMap(({ reading }) =>
        reading?.changedAtMs === undefined
          ? []
          : [
              {
                token: reading.token,
                userId: reading.caller.userId,
                changedAtMs: reading.changedAtMs,
                role: reading.caller.role,
              },
            ],
      );
      // Databases may store fractions of a millisecond, which a `Date` does not hold.
      const since = new Date(rows.reduce((latest, row) => Math.max(latest, row.changedAtMs), 0) + 1);
      const tokens = await changedSessions(rows, since);
      const members = new Set<string>();
      for (const [role, ids] of membersByRole(block)) {
        for (const id of await changedMembers(ids, role)) members.add(id);
      }
      const [changed, unchanged] = partition(block, ({ reading }) => {
        if (reading === undefined) return true;
        return tokens.has(reading.token) || (reading.memberId !== undefined && members.has(reading.memberId));
      });
      for (const live of unchanged) live.confirmedAtMs = wallMs;
      sessions.mark(changed);
    }
  }

  async function round(): Promise<void> {
    const startedAtMs = performance.now();
    // The next round tries again; sessions keep their last state while the store does not respond.
    await compare().catch(report);
    if (sessions.size === 0) isRunning = false;
    else schedule(Math.max(0, startedAtMs + intervalMs - performance.now()));
  }

  function schedule(delayMs: number): void {
    timer = later(() => void round(), delayMs);
  }

  return {
    async run() {
      await compare();
      await sessions.settled();
    },
    start() {
      if (isRunning) return;
      isRunning = true;
      schedule(intervalMs);
    },
    stop() {
      clearTimeout(timer);
      isRunning = false;
    },
  };
}

/** Whether a later change would show in `updatedAt`, by the clock of every node. */
function isSettled({ reading, confirmedAtMs }: LiveSession, wallMs: number): boolean {
  const changedAtMs = reading?.changedAtMs;
  if (reading === undefined || changedAtMs === undefined || reading.caller.expiresAt <= wallMs) return false;
  // The clock may have been set back.
  const gapMs = wallMs - confirmedAtMs;
  return changedAtMs <= wallMs - SETTLED_MS && gapMs >= 0 && gapMs <= MAX_GAP_MS;
}

function membersByRole(block: readonly LiveSession[]): Map<string, Set<string>> {
  const byRole = new Map<string, Set<string>>();
  for (const { reading } of block) {
    const { memberId, caller } = reading ?? {};
    if (memberId === undefined || caller?.organizationRole === undefined) continue;
    const ids = byRole.get(caller.organizationRole) ?? new Set();
    byRole.set(caller.organizationRole, ids.add(memberId));
  }
  return byRole;
}

function partition<Item>(items: readonly Item[], test: (item: Item) => boolean): [Item[], Item[]] {
  const [yes, no]: [Item[], Item[]] = [[], []];
  for (const item of items) (test(item) ? yes : no).push(item);
  return [yes, no];
}
