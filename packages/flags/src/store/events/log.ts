/** The event log on either set of tables: groups requests, folds their events into the statistics, and deletes old rows. */
import { ignore, within } from "@halyard/base";
import { FeatureFlagError } from "../../model/errors.ts";
import { areRequestsIsolated } from "../isolated-requests.ts";
import { repeat, sleep } from "../wait.ts";
import type { EventLog } from "./event-log.ts";
import { createEventQueue } from "./event-queue.ts";
import { type Group, gather, type Outcomes, type Request } from "./group.ts";
import {
  EVENT_RETENTION_DAYS,
  MAX_QUEUED_EVENTS,
  type Retention,
  ROLLUP_RETENTION_DAYS,
  SWEEP_AGAIN_MS,
  SWEEP_MS,
} from "./limits.ts";
import type { EventStorage } from "./storage.ts";
import { writeTogether } from "./write-together.ts";

export interface EventLogOptions {
  /** Events that may wait to be written. Default 10,000. */
  readonly maxQueued?: number | undefined;
  /** Days that events and exposures are kept. Default 90. */
  readonly retentionDays?: number | undefined;
  /** Delay after a write until its events are counted. Default 1 s. */
  readonly foldMs?: number | undefined;
  readonly warn: (message: string, error: unknown) => void;
  /** Wall-clock time. */
  readonly nowMs?: (() => number) | undefined;
  /** Monotonic time, for intervals. */
  readonly monotonicMs?: (() => number) | undefined;
}

const FOLD_MS = 1000;
/** Where timers do not run, a request counts what waits if none has done so for this time. */
const ISOLATED_FOLD_MS = 15_000;
/** The longest that statistics wait for the fold. */
const SETTLE_MS = 2000;

export function createEventLog(
  storage: EventStorage,
  {
    maxQueued = MAX_QUEUED_EVENTS,
    retentionDays = EVENT_RETENTION_DAYS,
    foldMs = FOLD_MS,
    warn,
    nowMs = Date.now,
    monotonicMs = () => performance.now(),
  }: EventLogOptions,
): EventLog {
  const isolated = areRequestsIsolated();
  const retention: Retention = { eventDays: retentionDays, rollupDays: ROLLUP_RETENTION_DAYS };
  let isReady = false;
  let isClosed = false;
  let isUnfolded = false;
  let isFoldFailing = false;
  let foldedAtMs = Number.NEGATIVE_INFINITY;
  let folding: Promise<void> = Promise.resolve();
  let nextSweepMs = isolated ? Number.NEGATIVE_INFINITY : monotonicMs() + SWEEP_AGAIN_MS;
  let sweeping: Promise<void> = Promise.resolve();

  const queue = createEventQueue<Request>({
    write: writeAll,
    maxRows: maxQueued,
    maxGroupRows: storage.maxGroupRows,
    maxParallel: storage.maxParallel,
  });

  /** Rejects while rows of the other setting of `postgres` wait to be copied: they would count as new or be missing. */
  async function ready(): Promise<void> {
    if (isReady) return;
    const refusal = await storage.refusal?.();
    if (refusal !== undefined) throw new FeatureFlagError("STORAGE_ERROR", refusal);
    isReady = true;
  }

  async function afterReady<Result>(work: () => Promise<Result>): Promise<Result> {
    await ready();
    return work();
  }

  async function writeAll(requests: readonly Request[]): Promise<void> {
    for (let left = requests; left.length > 0; ) {
      const group = gather(left);
      const write = (some: readonly Request[]) => writeGroup(some === group.requests ? group : gather(some));
      await writeTogether(group.requests, write, storage.mayConcernOne);
      left = group.deferred;
    }
    isUnfolded = true;
  }

  async function writeGroup(group: Group, isDirect = false): Promise<void> {
    await ready();
    const outcomes = await storage.insertGroup(group, isDirect);
    if (isolated) await foldWithRequest();
    for (const request of group.requests) request.settle(outcomes);
  }

  async function writeDirectly(request: Request): Promise<void> {
    await writeGroup(gather([request]), true);
    isUnfolded = true;
    if (isolated) sweepIfDue();
  }

  /** Resolves to the result that `resultOf` reads from the outcomes of the request's group. */
  async function submit<Result>(
    fields: Pick<Request, "rows" | "entries" | "batch">,
    resultOf: (outcomes: Outcomes, request: Request) => Result,
  ): Promise<Result> {
    const isDirect = await storage.writesDirectly();
    return new Promise((resolve, reject) => {
      const request: Request = {
        ...fields,
        settle: (outcomes) => resolve(resultOf(outcomes, request)),
        reject,
      };
      if (isDirect) writeDirectly(request).catch(reject);
      else queue.push(request);
    });
  }

  async function foldNow(waits: boolean): Promise<void> {
    await ready();
    isUnfolded = false;
    foldedAtMs = monotonicMs();
    while (await storage.fold(waits)) await sleep(0);
    isFoldFailing = false;
  }

  /** A process folds once at a time. */
  function fold(waits: boolean): Promise<void> {
    if (isolated) return foldNow(waits);
    const folded = folding.then(() => foldNow(waits));
    folding = folded.catch(ignore);
    return folded;
  }

  /** In the background. Events that cannot be counted stay in the outbox. */
  async function foldSoon(): Promise<void> {
    try {
      await fold(false);
    } catch (error) {
      isUnfolded = true;
      if (!isFoldFailing) warn("Events cannot be counted now. They are kept and counted later.", error);
      isFoldFailing = true;
    }
  }

  /** Counts the events that wait. Resolves to the time up to which every acknowledged event is counted. */
  async function settle(): Promise<number> {
    const startMs = nowMs();
    try {
      await within(fold(true), SETTLE_MS, "The events are counted later.");
      return startMs;
    } catch {
      await ready();
      return Math.min(startMs, (await storage.waitingSince()) ?? startMs);
    }
  }

  async function foldWithRequest(): Promise<void> {
    if (monotonicMs() - foldedAtMs >= ISOLATED_FOLD_MS) await foldSoon();
  }

  function sweep(atMs: number): Promise<void> {
    // A running sweep may already have passed rows that this one must delete.
    const swept = sweeping.then(async () => {
      // Events that cannot be counted now are not deleted.
      await fold(true).catch(ignore);
      const isDone = await storage.deleteOld(atMs, retention);
      nextSweepMs = monotonicMs() + (isDone ? SWEEP_MS : SWEEP_AGAIN_MS);
    });
    sweeping = swept.catch(ignore);
    return swept;
  }

  function sweepIfDue(): void {
    if (isClosed || monotonicMs() < nextSweepMs) return;
    nextSweepMs = monotonicMs() + SWEEP_MS;
    sweep(nowMs()).catch((error: unknown) =>
      warn("Events past their retention cannot be deleted now. The next sweep retries.", error),
    );
  }

  const timer = repeat(foldMs, async () => {
    sweepIfDue();
    if (isUnfolded) await foldSoon();
  });

  return {
    async record(entry) {
      // Neither the event nor a key has to be stored.
      if (!entry.isKept && entry.dedupe === undefined) return { outcome: "stored", eventId: entry.event.id };
      return submit({ rows: 1, entries: [entry], batch: undefined }, (outcomes) => outcomes.ofEntry(entry));
    },
    async recordBatch(batch) {
      const { entries, dedupe } = batch;
      const rows = Math.max(1, entries.length + (dedupe === undefined ? 0 : 1));
      return submit({ rows, entries, batch }, (outcomes, request) => outcomes.ofBatch(request, batch));
    },
    expose: (exposures) => afterReady(() => storage.expose(exposures)),
    link: (links) => afterReady(() => storage.link(links)),
    count: (counts, id) => afterReady(() => storage.count(counts, id)),

    flagFigures: (...about) => afterReady(() => storage.flagFigures(...about)),
    summaries: (...about) => afterReady(() => storage.summaries(...about)),
    hourlyEvaluations: (...about) => afterReady(() => storage.hourlyEvaluations(...about)),
    async usageFigures(...about) {
      const asOfMs = await settle();
      return { asOfMs, ...(await storage.usageFigures(...about)) };
    },
    activity: (...about) => afterReady(() => storage.activity(...about)),
    armActivity: (...about) => afterReady(() => storage.armActivity(...about)),

    forget: (flagId) => storage.forget(flagId),
    sweep,
    depth: queue.depth,
    async close() {
      isClosed = true;
      timer.stop();
      await queue.close();
      await Promise.all([sweeping, folding]);
    },
  };
}
