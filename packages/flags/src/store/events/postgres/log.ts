/** The event log on PostgreSQL. One statement writes a group of queued events with their keys and roll-ups. */
import { RETRY_MS } from "@halyard/base";
import {
  isBroken,
  isUnstorable,
  lostToAnother,
  type PostgresPool,
  runQuery,
  storageError,
} from "../../postgres/pool.ts";
import { repeat, sleep } from "../../wait.ts";
import type { EventLog } from "../event-log.ts";
import { createEventQueue } from "../event-queue.ts";
import {
  EVENT_RETENTION_DAYS,
  KEY_LIFE_MS,
  MAX_QUEUED_EVENTS,
  type Retention,
  ROLLUP_RETENTION_DAYS,
  SWEEP_AGAIN_MS,
  SWEEP_MS,
} from "../limits.ts";
import { createMover, type Move } from "../mover.ts";
import { createPostgresFigures } from "./figures.ts";
import { type Group, gather, Outcomes, type Request, type StoredKey } from "./group.ts";
import {
  COUNT,
  EXPOSE,
  KEEP_ANSWERS,
  LINK,
  LOOK_UP,
  recordStatement,
  STATEMENT_TIMEOUT_MS,
  type Statement,
} from "./statements.ts";
import { forgetFlag, sweepPostgres } from "./sweep.ts";

export interface PostgresEventLogOptions {
  readonly pool: PostgresPool;
  /** Moves what was stored before the option `postgres` was switched on. */
  readonly move?: Move | undefined;
  /** Events that may wait to be written. Default 10,000. */
  readonly maxQueued?: number | undefined;
  /** Days that events and exposures are kept. Default 90. */
  readonly retentionDays?: number | undefined;
  /** Names of the sinks that get the stored events. */
  readonly outbox?: readonly string[] | undefined;
  readonly warn: (message: string, error: unknown) => void;
  /** Wall-clock time. */
  readonly nowMs?: (() => number) | undefined;
  /** Monotonic time, for intervals. */
  readonly monotonicMs?: (() => number) | undefined;
}

/** Groups that are written at the same time. More would only wait for each other's locks. */
const MAX_PARALLEL = 4;
const MAX_GROUP_ROWS = 1000;
/** Attempts after broken connections, and after rollbacks because of concurrent statements. */
const MAX_BROKEN = 3;
const MAX_ROLLED_BACK = 20;
const RETRY_STEP_MS = 5;

export function createPostgresEventLog({
  pool,
  move,
  maxQueued = MAX_QUEUED_EVENTS,
  retentionDays = EVENT_RETENTION_DAYS,
  outbox = [],
  warn,
  nowMs = Date.now,
  monotonicMs = () => performance.now(),
}: PostgresEventLogOptions): EventLog {
  const hasOutbox = outbox.length > 0;
  const first = recordStatement({ isRepeated: false, hasOutbox });
  const repeated = recordStatement({ isRepeated: true, hasOutbox });
  const sinks = hasOutbox ? [[...outbox]] : [];
  // At most half of the pool, to leave connections for the application.
  const maxParallel = Math.max(1, Math.min(MAX_PARALLEL, Math.floor((pool.options.max ?? 2) / 2)));
  const queue = createEventQueue<Request>({
    write: writeAll,
    maxRows: maxQueued,
    maxGroupRows: MAX_GROUP_ROWS,
    maxParallel,
  });
  const figures = createPostgresFigures(pool);
  const retention: Retention = { eventDays: retentionDays, rollupDays: ROLLUP_RETENTION_DAYS };
  let restUntilMs = Number.NEGATIVE_INFINITY;
  let nextSweepMs = Number.NEGATIVE_INFINITY;
  let sweeping: Promise<void> = Promise.resolve();
  let moving: Promise<void> = Promise.resolve();
  let isClosed = false;
  const mover = createMover(move, warn);

  const ask = (statement: Statement, values: unknown[]) =>
    runQuery(pool, STATEMENT_TIMEOUT_MS, { ...statement, values });

  /** Retries after rollbacks because of concurrent statements, and after broken connections, whose outcome is unknown. */
  async function persist<Result>(work: (isRepeated: boolean) => Promise<Result>): Promise<Result> {
    let broken = 0;
    for (let rolledBack = 0; ; ) {
      const restMs = restUntilMs - monotonicMs();
      if (restMs > 0) await sleep(restMs);
      try {
        return await work(broken > 0);
      } catch (error) {
        if (isBroken(error)) {
          // No request opens another connection before.
          restUntilMs = monotonicMs() + RETRY_MS;
          broken += 1;
          if (broken === MAX_BROKEN) throw error;
        } else {
          rolledBack += 1;
          if (!lostToAnother(error) || rolledBack === MAX_ROLLED_BACK) throw error;
          await sleep(Math.random() * rolledBack * RETRY_STEP_MS);
        }
      }
    }
  }

  async function writeAll(requests: readonly Request[]): Promise<void> {
    // Otherwise a key that was used before would count again.
    await mover.done();
    for (let left = requests; left.length > 0; ) {
      const group = gather(left, hasOutbox);
      await writeGroup(group);
      left = group.deferred;
    }
    sweepIfDue();
  }

  async function writeGroup(group: Group): Promise<void> {
    try {
      const outcomes = await commit(group);
      for (const request of group.requests) request.settle(outcomes);
    } catch (error) {
      const [only, another] = group.requests;
      if (another !== undefined && isUnstorable(error)) {
        // PostgreSQL rejects a value of one request. It must not fail the others.
        for (const request of group.requests) await writeGroup(gather([request], hasOutbox));
      } else if (only !== undefined) {
        const failure = storageError(error);
        for (const request of group.requests) request.reject(failure);
      }
    }
  }

  async function commit(group: Group): Promise<Outcomes> {
    const now = nowMs();
    const times = [now, now - KEY_LIFE_MS].map((ms) => new Date(ms).toISOString());
    const values = [...group.values, ...times, ...sinks];
    const before = await persist((isRepeated) => ask(isRepeated ? repeated : first, values));
    const outcomes = new Outcomes(group, await lookUp(before.map((row) => String(row["key_hash"]))));
    const answers = outcomes.isAllNew ? [] : outcomes.answersToKeep();
    if (answers.length > 0) {
      const keys = answers.map(({ key }) => key);
      const texts = answers.map(({ answer }) => answer);
      await persist(() => ask(KEEP_ANSWERS, [keys, texts]));
    }
    return outcomes;
  }

  async function lookUp(keys: readonly string[]): Promise<Map<string, StoredKey | undefined>> {
    const storedKeys = new Map<string, StoredKey | undefined>();
    if (keys.length === 0) return storedKeys;
    for (const key of keys) storedKeys.set(withoutDashes(key), undefined);
    for (const row of await persist(() => ask(LOOK_UP, [keys]))) {
      const { key_hash, body_hash, event_id, answer } = row;
      storedKeys.set(withoutDashes(String(key_hash)), {
        bodyHash: withoutDashes(String(body_hash)),
        eventId: typeof event_id === "string" ? event_id : "",
        answer: typeof answer === "string" ? answer : null,
      });
    }
    return storedKeys;
  }

  function sweep(atMs: number): Promise<void> {
    // A running sweep may already have passed rows that this one must delete.
    const swept = sweeping.then(() =>
      guarded(async () => {
        const isDone = await sweepPostgres(pool, atMs, retention);
        nextSweepMs = monotonicMs() + (isDone ? SWEEP_MS : SWEEP_AGAIN_MS);
      }),
    );
    sweeping = swept.catch(() => undefined);
    return swept;
  }

  /** Called by the timer, and after each write where timers do not run. */
  function sweepIfDue(): void {
    if (isClosed || monotonicMs() < nextSweepMs) return;
    nextSweepMs = monotonicMs() + SWEEP_MS;
    sweep(nowMs()).catch((error: unknown) =>
      warn("Events past their retention cannot be deleted now. The next sweep retries.", error),
    );
  }

  const timer = repeat(SWEEP_AGAIN_MS, () => {
    sweepIfDue();
    moving = mover.again();
    return moving;
  });

  /** Wraps errors of PostgreSQL as STORAGE_ERROR. */
  async function guarded<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      throw storageError(error);
    }
  }

  async function afterMove<Result>(read: () => Promise<Result>): Promise<Result> {
    await mover.done();
    return guarded(read);
  }

  return {
    async record(entry) {
      // Neither the event nor a key has to be stored.
      if (!entry.isKept && entry.dedupe === undefined) return { outcome: "stored", eventId: entry.event.id };
      return new Promise((resolve, reject) => {
        const settle = (outcomes: Outcomes) => resolve(outcomes.ofEntry(entry));
        queue.push({ rows: 1, entries: [entry], batch: undefined, settle, reject });
      });
    },
    async recordBatch(batch) {
      const { entries, dedupe } = batch;
      const rows = entries.length + (dedupe === undefined ? 0 : 1);
      return new Promise((resolve, reject) => {
        const request: Request = {
          rows,
          entries,
          batch,
          settle: (outcomes) => resolve(outcomes.ofBatch(request, batch)),
          reject,
        };
        queue.push(request);
      });
    },
    expose: (exposures) =>
      guarded(async () => {
        if (exposures.length === 0) return;
        const values = [
          exposures.map(({ tenant }) => tenant),
          exposures.map(({ flagId }) => flagId),
          exposures.map(({ arm }) => arm),
          exposures.map(({ byChance }) => byChance),
          exposures.map(({ subject }) => subject ?? null),
          exposures.map(({ userId }) => userId ?? null),
          exposures.map(({ anonymousId }) => anonymousId ?? null),
          exposures.map(({ firstMs }) => new Date(firstMs).toISOString()),
          exposures.map(({ lastMs }) => new Date(lastMs).toISOString()),
        ];
        await persist(() => ask(EXPOSE, values));
      }),
    link: (links) =>
      guarded(async () => {
        if (links.length === 0) return;
        const values = [
          links.map(({ anonymousId }) => anonymousId),
          links.map(({ userId }) => userId),
          links.map(({ atMs }) => new Date(atMs).toISOString()),
        ];
        await persist(() => ask(LINK, values));
      }),
    count: (all, id = crypto.randomUUID()) =>
      guarded(async () => {
        // A flag that does not exist has no roll-up.
        const counts = all.filter(({ reason }) => reason !== "not_found");
        if (counts.length === 0) return;
        const values = [
          counts.map(({ tenant }) => tenant),
          counts.map(({ flagId }) => flagId),
          counts.map(({ hour }) => hour),
          counts.map(({ reason }) => reason),
          counts.map(({ count }) => count),
          id,
          new Date(nowMs()).toISOString(),
        ];
        await persist(() => ask(COUNT, values));
      }),

    flagFigures: (...about) =>
      afterMove(async () => {
        await mover.eventsDone();
        return figures.ofFlag(...about);
      }),
    summaries: (...about) => afterMove(() => figures.summaries(...about)),
    hourlyEvaluations: (...about) => afterMove(() => figures.hourlyEvaluations(...about)),
    usageFigures: (...about) => afterMove(() => figures.usage(...about)),
    activity: (...about) => afterMove(() => figures.activity(...about)),
    armActivity: (...about) => afterMove(() => figures.armActivity(...about)),

    forget: (flagId) => guarded(() => forgetFlag(pool, flagId)),
    sweep,
    depth: queue.depth,
    async close() {
      isClosed = true;
      timer.stop();
      await queue.close();
      await Promise.all([sweeping, moving]);
    },
  };
}

function withoutDashes(uuid: string): string {
  return uuid.replaceAll("-", "");
}
