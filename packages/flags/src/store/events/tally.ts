/** Evaluations are counted in memory and written to the hourly roll-ups every ten seconds. */
import type { EvaluationReason } from "../../engine/definition.ts";
import { areRequestsIsolated } from "../isolated-requests.ts";
import type { SnapshotFlag } from "../store.ts";
import { repeat } from "../wait.ts";
import { type CountedReason, EvaluationCounter, type ReasonCounts } from "./evaluation-counter.ts";
import type { EvaluationCount, EventLog } from "./event-log.ts";
import { hourOf } from "./hour.ts";

export interface Tally {
  /** One evaluation of a flag that was answered, on the hot path. `tenant` is the one whose snapshot has the flag. */
  count(tenant: string, found: SnapshotFlag, reason: EvaluationReason): void;
  /** Once per request: writes what is overdue where no timer does it. */
  touch(): void;
  /** Writes what has been counted. Never rejects: what could not be written is kept and tried again. */
  flush(): Promise<void>;
  /** Flags whose evaluations wait to be written. */
  depth(): number;
  close(): Promise<void>;
}

export interface TallyOptions {
  readonly log: Pick<EventLog, "count">;
  /** Told once per outage. */
  readonly warn: (message: string, error: unknown) => void;
  /** Evaluations that could not be kept. */
  readonly lost: (count: number) => void;
  readonly flushMs?: number | undefined;
  /** Flags and hours that may wait to be written. */
  readonly maxPending?: number | undefined;
  /** Wall-clock time: in which hour an evaluation counts. */
  readonly nowMs?: (() => number) | undefined;
  readonly monotonicMs?: (() => number) | undefined;
}

const FLUSH_MS = 10_000;
const MAX_PENDING = 100_000;
/** Counters before they are gathered: a new snapshot brings new ones. */
const MAX_LISTED = 20_000;
/** Flags that are written at a time, in one transaction. */
const CHUNK = 200;

interface PendingFlag {
  readonly tenant: string;
  readonly flagKey: string;
  readonly hour: string;
  readonly counts: ReasonCounts;
}

/** What is written together, and again with the same id until that is known to have been done: it adds up once. */
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
  let listed: EvaluationCounter[] = [];
  const pending = new Map<string, PendingFlag>();
  let unsettled: Part | undefined;
  let lastFlushMs = monotonicMs();
  let isFailing = false;
  let isClosed = false;
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const isolated = areRequestsIsolated();

  function attach(tenant: string, found: SnapshotFlag): EvaluationCounter {
    const counter = new EvaluationCounter(tenant, found.flag.key);
    found.counter = counter;
    return counter;
  }

  function list(counter: EvaluationCounter): void {
    counter.isListed = true;
    listed.push(counter);
    if (listed.length >= MAX_LISTED) gather();
  }

  /** Brings together what was counted for the same flag in different snapshots. */
  function gather(): void {
    const hour = hourOf(nowMs());
    const counters = listed;
    listed = [];
    for (const counter of counters) {
      counter.isListed = false;
      const { tenant, flagKey } = counter;
      keep({ tenant, flagKey, hour, counts: counter.take() });
    }
  }

  function keep(flag: PendingFlag): void {
    const key = JSON.stringify([flag.hour, flag.tenant, flag.flagKey]);
    const known = pending.get(key);
    if (known !== undefined) {
      for (const [reason, count] of entriesOf(flag.counts)) known.counts[reason] += count;
    } else if (pending.size < maxPending) pending.set(key, flag);
    else lost(totalOf(flag));
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
    gather();
    for (;;) {
      unsettled ??= take();
      const part = unsettled;
      if (part === undefined) return;
      try {
        await log.count(part.flags.flatMap(countsOf), part.id);
        if (unsettled === part) unsettled = undefined;
        isFailing = false;
      } catch (error) {
        if (!isFailing) warn("Evaluations cannot be counted now; they are kept and written later.", error);
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

  /** A caller who comes while something is written gets the next turn, which has what was counted meanwhile. */
  function flush(): Promise<void> {
    if (isolated) return write();
    if (running === undefined) return start();
    next ??= running.then(() => {
      next = undefined;
      return start();
    });
    return next;
  }

  const timer = repeat(flushMs, flush);

  return {
    count(tenant, found, reason) {
      const counter = found.counter ?? attach(tenant, found);
      counter.add(reason);
      if (!counter.isListed) list(counter);
    },
    touch() {
      if (running !== undefined || isClosed || monotonicMs() - lastFlushMs < 2 * flushMs) return;
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

function countsOf({ tenant, flagKey, hour, counts }: PendingFlag): EvaluationCount[] {
  return entriesOf(counts)
    .filter(([, count]) => count > 0)
    .map(([reason, count]) => ({ tenant, flagKey, hour, reason, count }));
}
