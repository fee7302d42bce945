/** Counts evaluations in memory and writes them to the hourly roll-ups once a minute. */
import type { EvaluationReason } from "../../engine/definition.ts";
import type { SnapshotFlag } from "../flag-store.ts";
import { areRequestsIsolated } from "../isolated-requests.ts";
import { repeat, sleep } from "../wait.ts";
import { type CountedReason, EvaluationCounter, type ReasonCounts } from "./evaluation-counter.ts";
import type { EvaluationCount, EventLog } from "./event-log.ts";
import { hourOf } from "./hour.ts";

export interface Tally {
  /** Counts one evaluation. Every evaluation calls it. `tenant` is the tenant of the snapshot. */
  count(tenant: string, flag: SnapshotFlag, reason: EvaluationReason): void;
  /** Called once per request. Starts an overdue write where timers do not run. */
  touch(): void;
  /** Writes the counts. Never rejects: counts that cannot be written are kept and retried. */
  flush(): Promise<void>;
  /** Flags with counts that are not written yet. */
  depth(): number;
  close(): Promise<void>;
}

export interface TallyOptions {
  readonly log: Pick<EventLog, "count">;
  /** Called once per outage. */
  readonly warn: (message: string, error: unknown) => void;
  /** Called with the number of evaluations that were dropped. */
  readonly lost: (count: number) => void;
  readonly flushMs?: number | undefined;
  /** Pairs of flag and hour that may wait while the log does not accept them. */
  readonly maxPending?: number | undefined;
  /** Wall-clock time. It decides the hour of an evaluation. */
  readonly nowMs?: (() => number) | undefined;
  readonly monotonicMs?: (() => number) | undefined;
}

const FLUSH_MS = 60_000;
/** Where timers do not run, a request writes counts that wait for longer. */
const ISOLATED_FLUSH_MS = 20_000;
const MAX_PENDING = 100_000;
/** A write without progress for this time counts as failing, although no error was reported. */
const STUCK_MS = 60_000;
/** Counters in the list before they are collected. Every new snapshot has new counters. */
const MAX_LISTED = 20_000;
/** Flags per transaction. */
const CHUNK = 25;
/** Counters that are collected before other requests get a turn: about a millisecond. */
const SLICE = 500;

interface PendingFlag {
  readonly tenant: string;
  readonly flagId: string;
  readonly hour: string;
  readonly counts: ReasonCounts;
}

/** A chunk of counts. Retries use the same id, so that the log adds them once. */
interface Part {
  readonly id: string;
  readonly flags: readonly PendingFlag[];
}

export function createTally({
  log,
  warn,
  lost,
  flushMs = FLUSH_MS,
  maxPending = MAX_PENDING,
  nowMs = Date.now,
  monotonicMs = () => performance.now(),
}: TallyOptions): Tally {
  const listed: EvaluationCounter[] = [];
  const pending = new Map<string, PendingFlag>();
  let unsettled: Part | undefined;
  let lastFlushMs = monotonicMs();
  let isFailing = false;
  /** When the log last accepted counts, or had none to accept. */
  let progressAtMs = monotonicMs();
  let isClosed = false;
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const isolated = areRequestsIsolated();

  function attach(tenant: string, flag: SnapshotFlag): EvaluationCounter {
    const counter = new EvaluationCounter(tenant, flag.flag.id);
    flag.counter = counter;
    return counter;
  }

  function list(counter: EvaluationCounter): void {
    counter.isListed = true;
    listed.push(counter);
    if (listed.length >= MAX_LISTED) gather(SLICE);
  }

  /** Adds up the counts of the same flag in different snapshots. Takes the first `max` counters of the list. */
  function gather(max: number): void {
    const hour = hourOf(nowMs());
    for (const counter of listed.splice(0, max)) {
      counter.isListed = false;
      const { tenant, flagId } = counter;
      keep({ tenant, flagId, hour, counts: counter.take() });
    }
  }

  function keep(flag: PendingFlag): void {
    const key = JSON.stringify([flag.hour, flag.tenant, flag.flagId]);
    const pendingFlag = pending.get(key);
    if (pendingFlag !== undefined) {
      for (const [reason, count] of entriesOf(flag.counts)) pendingFlag.counts[reason] += count;
    } else if (pending.size < maxPending || isAccepted()) pending.set(key, flag);
    else lost(totalOf(flag));
  }

  /** While the log accepts counts, those that wait are of flags in memory, so they need no limit of their own. */
  function isAccepted(): boolean {
    return !isFailing && (running === undefined || monotonicMs() - progressAtMs < STUCK_MS);
  }

  function take(): Part | undefined {
    const flags: PendingFlag[] = [];
    for (const [key, flag] of pending) {
      pending.delete(key);
      if (flags.push(flag) === CHUNK) break;
    }
    return flags.length === 0 ? undefined : { id: crypto.randomUUID(), flags };
  }

  async function write(): Promise<void> {
    lastFlushMs = monotonicMs();
    progressAtMs = lastFlushMs;
    // Those that are listed during a pause are left for the next write.
    for (let left = listed.length; left > 0; left -= SLICE) {
      gather(Math.min(left, SLICE));
      if (left > SLICE) await sleep(0);
    }
    for (;;) {
      unsettled ??= take();
      const part = unsettled;
      if (part === undefined) return;
      try {
        await log.count(part.flags.flatMap(countsOf), part.id);
        if (unsettled === part) unsettled = undefined;
        progressAtMs = monotonicMs();
        isFailing = false;
        // Not inside the transaction: another connection of this process would wait for its locks, and block both.
        if (pending.size > 0) await sleep(0);
      } catch (error) {
        if (!isFailing) warn("Evaluation counts cannot be written now. They are kept and retried.", error);
        isFailing = true;
        return;
      }
    }
  }

  function start(): Promise<void> {
    running = write().finally(() => {
      running = undefined;
    });
    return running;
  }

  /** A call during a write waits for the next write, which includes the counts up to this call. */
  function flush(): Promise<void> {
    if (isolated) return write();
    if (running === undefined) return start();
    next ??= running.then(() => {
      next = undefined;
      return start();
    });
    return next;
  }

  // At different times, so that processes that were started together do not write together.
  const timer = repeat(() => flushMs * (0.5 + Math.random() / 2), flush);

  return {
    count(tenant, flag, reason) {
      const counter = flag.counter ?? attach(tenant, flag);
      counter.add(reason);
      if (!counter.isListed) list(counter);
    },
    touch() {
      const overdueMs = isolated ? ISOLATED_FLUSH_MS : 2 * flushMs;
      if (running !== undefined || isClosed || monotonicMs() - lastFlushMs < overdueMs) return;
      void flush();
    },
    flush,
    depth: () => listed.length + pending.size + (unsettled?.flags.length ?? 0),
    async close() {
      isClosed = true;
      timer.stop();
      await flush();
      for (const flag of [...(unsettled?.flags ?? []), ...pending.values()]) lost(totalOf(flag));
      unsettled = undefined;
      pending.clear();
    },
  };
}

function entriesOf(counts: ReasonCounts): [CountedReason, number][] {
  return Object.entries(counts) as [CountedReason, number][];
}

function totalOf({ counts }: PendingFlag): number {
  return entriesOf(counts).reduce((sum, [, count]) => sum + count, 0);
}

function countsOf({ tenant, flagId, hour, counts }: PendingFlag): EvaluationCount[] {
  return entriesOf(counts)
    .filter(([, count]) => count > 0)
    .map(([reason, count]) => ({ tenant, flagId, hour, reason, count }));
}
