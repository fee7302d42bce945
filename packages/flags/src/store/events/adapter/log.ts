/** The event log on the host's database adapter. Writes each group of queued events in one transaction. */
import { getCurrentAdapter, runWithAdapter } from "@better-auth/core/context";
import type { DBAdapter, Where } from "@better-auth/core/db/adapter";
import type { EventKeyRow, EventRow } from "../../../model/event-rows.ts";
import type { OutboxRow } from "../../../model/tables.ts";
import { areRequestsIsolated } from "../../isolated-requests.ts";
import { encodeJson } from "../../rows/codec.ts";
import { type Adapter, findRowsIn } from "../../rows/queries.ts";
import { storageError } from "../../unavailable.ts";
import { repeat, sleep } from "../../wait.ts";
import type { Transactions } from "../../writes/transaction.ts";
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
import {
  type Decision,
  decide,
  keysOf,
  type RecordRequest,
  type RecordResult,
  type TenantEvent,
} from "./decide.ts";
import { addExposures, addLinks } from "./exposure-rows.ts";
import {
  readActivity,
  readArmActivity,
  readFlagFigures,
  readHourlyEvaluations,
  readSummaries,
  readUsageFigures,
} from "./figures.ts";
import { createOutboxRows } from "./outbox.ts";
import { addEvaluations, addEvents } from "./rollup.ts";
import { forgetFlag, sweepEvents } from "./sweep.ts";
import { isUniqueViolation } from "./unique-violation.ts";
import { type QueuedRequest, writeTogether } from "./write-together.ts";

export interface AdapterEventLogOptions {
  readonly transactions: Transactions;
  /** Moves what was stored before the option `postgres` was switched off. */
  readonly move?: Move | undefined;
  /** Names of the sinks that get the stored events. */
  readonly outbox?: readonly string[] | undefined;
  /** Events that may wait to be written. Default 10,000. */
  readonly maxQueued?: number | undefined;
  /** Days that events and exposures are kept. Default 90. */
  readonly retentionDays?: number | undefined;
  readonly warn: (message: string, error: unknown) => void;
  /** Wall-clock time. */
  readonly nowMs?: (() => number) | undefined;
  /** Monotonic time, for intervals. */
  readonly monotonicMs?: (() => number) | undefined;
}

/** Small enough not to block a database with one connection, such as SQLite. */
const MAX_GROUP_ROWS = 100;
/** Attempts to write a group when another process inserts the same key or roll-up first. */
const MAX_ATTEMPTS = 20;

const REFUSAL = "Events cannot be recorded";

export function createAdapterEventLog(
  adapter: DBAdapter,
  {
    transactions,
    move,
    outbox = [],
    maxQueued = MAX_QUEUED_EVENTS,
    retentionDays = EVENT_RETENTION_DAYS,
    warn,
    nowMs = Date.now,
    monotonicMs = () => performance.now(),
  }: AdapterEventLogOptions,
): EventLog {
  const isolated = areRequestsIsolated();
  const outboxRows = createOutboxRows(outbox);
  const retention: Retention = { eventDays: retentionDays, rollupDays: ROLLUP_RETENTION_DAYS };
  let nextSweepMs = Number.NEGATIVE_INFINITY;
  let sweeping: Promise<void> | undefined;
  let moving: Promise<void> = Promise.resolve();
  let isClosed = false;
  const mover = createMover(move, warn);

  const queue = createEventQueue<QueuedRequest<RecordRequest, RecordResult>>({
    write: (group) => writeTogether(group, writeSeparately),
    maxRows: maxQueued,
    maxGroupRows: MAX_GROUP_ROWS,
    // A second connection would wait for the locks of the first, and SQLite has none.
    maxParallel: 1,
  });

  /** Wraps errors of the database as STORAGE_ERROR. */
  async function guarded<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      throw storageError(error);
    }
  }

  function read<Result>(work: (current: Adapter) => Promise<Result>): Promise<Result> {
    return guarded(async () => {
      await mover.done();
      return work(await getCurrentAdapter(adapter));
    });
  }

  /** Runs `work` in a transaction that is independent of the host's current one, so that the host cannot roll it back. */
  async function inSeparateTransaction<Result>(work: (tx: Adapter) => Promise<Result>): Promise<Result> {
    return runWithAdapter(adapter, () =>
      guarded(async () => {
        await mover.done();
        await transactions.prove(REFUSAL);
        for (let attempt = 1; ; attempt++) {
          try {
            return await transactions.run(work);
          } catch (error) {
            if (attempt === MAX_ATTEMPTS || !isUniqueViolation(error)) throw error;
          }
        }
      }),
    );
  }

  async function writeGroup(
    tx: Adapter,
    requests: readonly RecordRequest[],
  ): Promise<readonly RecordResult[]> {
    const now = nowMs();
    const used = await findKeys(tx, keysOf(requests), new Date(now).toISOString());
    const decision = decide(requests, used);
    await insertKeys(tx, decision.keys, new Date(now + KEY_LIFE_MS).toISOString());
    await insertEvents(tx, decision.events);
    await addEvents(tx, decision.events);
    for (const data of outboxRows(
      decision.events.map(({ event }) => event),
      now,
    )) {
      await tx.create<OutboxRow>({ model: "featureFlagOutbox", data });
    }
    return decision.results;
  }

  function writeSeparately(requests: readonly RecordRequest[]): Promise<readonly RecordResult[]> {
    return inSeparateTransaction((tx) => writeGroup(tx, requests));
  }

  function enqueue(request: RecordRequest): Promise<RecordResult> {
    const rows = request.kind === "event" ? 1 : Math.max(1, request.batch.entries.length);
    return new Promise((resolve, reject) => queue.push({ rows, request, resolve, reject }));
  }

  async function record(request: RecordRequest): Promise<RecordResult> {
    const current = await getCurrentAdapter(adapter);
    if (current === adapter) {
      const result = isolated ? onlyOf(await writeSeparately([request])) : await enqueue(request);
      sweepIfDue();
      return result;
    }
    // Inside a transaction of the host, the event is committed or rolled back with it.
    return guarded(async () => {
      await mover.done();
      await transactions.prove(REFUSAL);
      return onlyOf(await writeGroup(current, [request]));
    });
  }

  function sweep(atMs: number): Promise<void> {
    sweeping ??= sweepSeparately(atMs).finally(() => {
      sweeping = undefined;
    });
    return sweeping;
  }

  async function sweepSeparately(atMs: number): Promise<void> {
    const isDone = await runWithAdapter(adapter, () => guarded(() => sweepEvents(adapter, atMs, retention)));
    if (!isDone) nextSweepMs = monotonicMs() + SWEEP_AGAIN_MS;
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

  return {
    async record(entry) {
      const result = await record({ kind: "event", entry });
      if (result.kind !== "event")
        throw new Error("The event log returned a batch result for a single event. This is a bug.");
      return result.recorded;
    },
    async recordBatch(batch) {
      const result = await record({ kind: "batch", batch });
      if (result.kind !== "batch")
        throw new Error("The event log returned a single event's result for a batch. This is a bug.");
      return result.recorded;
    },
    expose: (exposures) => inSeparateTransaction((tx) => addExposures(tx, exposures)),
    link: (links) => inSeparateTransaction((tx) => addLinks(tx, links)),
    count: (counts, id) =>
      inSeparateTransaction(async (tx) => {
        if (id === undefined || (await takeKey(tx, id, nowMs()))) await addEvaluations(tx, counts);
      }),

    flagFigures: (flag, window) =>
      read(async (current) => {
        await mover.eventsDone();
        return readFlagFigures(current, flag, window);
      }),
    summaries: (flags, window) => read((current) => readSummaries(current, flags, window)),
    hourlyEvaluations: (tenant, flagIds, window) =>
      read((current) => readHourlyEvaluations(current, tenant, flagIds, window)),
    usageFigures: (tenant, window) =>
      read((current) => readUsageFigures(current, tenant === "all" ? undefined : tenant, window)),
    activity: (about, window) => read((current) => readActivity(current, about, window)),
    armActivity: (flagId, window) => read((current) => readArmActivity(current, flagId, window)),

    forget: async (flagId) => runWithAdapter(adapter, () => guarded(() => forgetFlag(adapter, flagId))),
    sweep,
    depth: queue.depth,
    async close() {
      isClosed = true;
      timer.stop();
      await queue.drain();
      await sweeping?.catch(() => undefined);
      await moving;
    },
  };
}

function onlyOf([result]: readonly RecordResult[]): RecordResult {
  if (result === undefined) throw new Error("The event log returned no result.");
  return result;
}

/**
 * Finds the keys that are still valid, and deletes expired ones. Deletes only by expiry time, because another process may
 * have used the key again after the read.
 */
async function findKeys(
  tx: Adapter,
  hashes: readonly string[],
  nowIso: string,
): Promise<Map<string, { bodyHash: string; answer: string }>> {
  const hashOf = new Map(hashes.flatMap((hash) => [[hash, hash] as const, [shortened(hash), hash] as const]));
  const keys = [...hashOf.keys()];
  const rows = await findRowsIn<EventKeyRow>(tx, "featureFlagEventKey", {}, "keyHash", keys);
  const used = new Map<string, { bodyHash: string; answer: string }>();
  for (const row of rows) {
    if (row.expiresAt > nowIso) used.set(hashOf.get(row.keyHash) ?? row.keyHash, row);
    else {
      const expired: Where = { field: "expiresAt", operator: "lte", value: nowIso };
      const where = [{ field: "keyHash", value: row.keyHash }, expired];
      await tx.deleteMany({ model: "featureFlagEventKey", where });
    }
  }
  return used;
}

/** Keys that come from the tables of the option `postgres` have 128 bits. */
function shortened(hash: string): string {
  return hash.replaceAll("-", "").slice(0, 32);
}

/** Stores a key. Returns false if it was used before. */
async function takeKey(tx: Adapter, key: string, nowMs: number): Promise<boolean> {
  const used = await findKeys(tx, [key], new Date(nowMs).toISOString());
  if (used.has(key)) return false;
  const expiresAt = new Date(nowMs + KEY_LIFE_MS).toISOString();
  await insertKeys(tx, new Map([[key, { bodyHash: "", answer: "" }]]), expiresAt);
  return true;
}

/** Inserts in the order of the keys, so that two processes with the same keys do not deadlock. */
async function insertKeys(tx: Adapter, keys: Decision["keys"], expiresAt: string): Promise<void> {
  const sorted = [...keys].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [keyHash, { bodyHash, answer }] of sorted) {
    await tx.create<EventKeyRow>({
      model: "featureFlagEventKey",
      data: { keyHash, bodyHash, answer, expiresAt },
    });
  }
}

/** Rows between two turns of the event loop: synchronous drivers such as SQLite's would block it. */
const SLICE = 100;

async function insertEvents(tx: Adapter, events: readonly TenantEvent[]): Promise<void> {
  for (const [index, { tenant, event, flagId, subject }] of events.entries()) {
    if (index % SLICE === SLICE - 1) await sleep(0);
    await tx.create<EventRow>({
      model: "featureFlagEvent",
      data: {
        eventId: event.id,
        tenant,
        flagKey: event.flagKey,
        flagId: flagId ?? null,
        event: event.event,
        value: event.value === undefined ? null : encodeJson(event.value),
        properties: event.properties === undefined ? null : encodeJson(event.properties),
        userId: event.userId ?? null,
        anonymousId: event.anonymousId ?? null,
        subject: subject ?? null,
        organizationId: event.organizationId ?? null,
        variant: event.variant ?? null,
        at: event.at,
        receivedAt: event.receivedAt,
        sampleRate: encodeJson(event.sampleRate),
        idempotencyKey: event.idempotencyKey ?? null,
      },
    });
  }
}
