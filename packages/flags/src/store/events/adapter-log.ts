/** The event log over the host's adapter: any database, one transaction for each group of events that waited together. */
import { getCurrentAdapter, runWithAdapter } from "@better-auth/core/context";
import type { DBAdapter, Where } from "@better-auth/core/db/adapter";
import { FeatureFlagError } from "../../model/errors.ts";
import type { EventKeyRow, EventRow } from "../../model/event-rows.ts";
import type { OutboxRow } from "../../model/tables.ts";
import { encodeJson } from "../codec.ts";
import { areRequestsIsolated } from "../isolated-requests.ts";
import { type Adapter, findRowsIn } from "../rows.ts";
import type { Transactions } from "../transaction.ts";
import { repeat, sleep } from "../wait.ts";
import {
  type Decision,
  decide,
  keysOf,
  type RecordRequest,
  type RecordResult,
  type TenantEvent,
} from "./decide.ts";
import type { EventLog } from "./event-log.ts";
import { addExposures } from "./exposure-rows.ts";
import { readFlagFigures, readSummaries, readUsageFigures } from "./figures.ts";
import { createGroupWriter } from "./group-writer.ts";
import { HOUR_MS } from "./hour.ts";
import { createOutboxRows } from "./outbox.ts";
import { addEvaluations, addEvents } from "./rollup.ts";
import { type Retention, sweepEvents } from "./sweep.ts";
import { isUniqueViolation } from "./unique-violation.ts";

export interface AdapterEventLogOptions {
  readonly transactions: Transactions;
  /** The names of the sinks that get what is stored. */
  readonly outbox?: readonly string[] | undefined;
  /** Events that may wait to be written. Defaults to 10,000. */
  readonly maxQueued?: number | undefined;
  /** Days that events and exposures are kept. Defaults to 90. */
  readonly retentionDays?: number | undefined;
  readonly warn: (message: string, error: unknown) => void;
  /** Wall-clock time. */
  readonly nowMs?: (() => number) | undefined;
  /** Monotonic, for intervals. */
  readonly monotonicMs?: (() => number) | undefined;
}

export const MAX_QUEUED_EVENTS: number = 10_000;
export const EVENT_RETENTION_DAYS: number = 90;
export const ROLLUP_RETENTION_DAYS: number = 400;
/** How long an idempotency key is remembered. */
export const KEY_LIFE_MS: number = 48 * HOUR_MS;

/** Few enough that others get at a database with one connection, as SQLite's. */
const MAX_GROUP = 100;
/** How often a group is written anew because another node was quicker with a key or a roll-up. */
const MAX_ATTEMPTS = 20;
const SWEEP_MS = HOUR_MS;
/** After a sweep that could not delete everything. */
const SWEEP_AGAIN_MS = 60_000;

const REFUSAL = "Events cannot be recorded";

export function createAdapterEventLog(
  adapter: DBAdapter,
  {
    transactions,
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
  let isClosed = false;

  const writer = createGroupWriter<RecordRequest, RecordResult>({
    write: writeAside,
    sizeOf: (request) => (request.kind === "event" ? 1 : Math.max(1, request.batch.entries.length)),
    maxQueued,
    maxGroup: MAX_GROUP,
  });

  /** Whatever the database throws leaves the log as a STORAGE_ERROR. */
  async function guarded<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      throw FeatureFlagError.wrap(error, "STORAGE_ERROR");
    }
  }

  function read<Result>(work: (current: Adapter) => Promise<Result>): Promise<Result> {
    return guarded(async () => work(await getCurrentAdapter(adapter)));
  }

  /** In a transaction outside of the host's own: others wait for it, too, and it is not the host's to undo. */
  async function aside<Result>(work: (tx: Adapter) => Promise<Result>): Promise<Result> {
    return runWithAdapter(adapter, () =>
      guarded(async () => {
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

  function writeAside(requests: readonly RecordRequest[]): Promise<readonly RecordResult[]> {
    return aside((tx) => writeGroup(tx, requests));
  }

  async function record(request: RecordRequest): Promise<RecordResult> {
    const current = await getCurrentAdapter(adapter);
    if (current === adapter) {
      const result = isolated ? onlyOf(await writeAside([request])) : await writer.add(request);
      sweepIfDue();
      return result;
    }
    // In a transaction of the host's own the event is recorded when that is committed, or not at all.
    return guarded(async () => {
      await transactions.prove(REFUSAL);
      return onlyOf(await writeGroup(current, [request]));
    });
  }

  function sweep(atMs: number): Promise<void> {
    sweeping ??= sweepAside(atMs).finally(() => {
      sweeping = undefined;
    });
    return sweeping;
  }

  async function sweepAside(atMs: number): Promise<void> {
    const isDone = await runWithAdapter(adapter, () => guarded(() => sweepEvents(adapter, atMs, retention)));
    if (!isDone) nextSweepMs = monotonicMs() + SWEEP_AGAIN_MS;
  }

  /** By the timer, and behind a write where there are none. */
  function sweepIfDue(): void {
    if (isClosed || monotonicMs() < nextSweepMs) return;
    nextSweepMs = monotonicMs() + SWEEP_MS;
    sweep(nowMs()).catch((error: unknown) => warn("Old events cannot be deleted now.", error));
  }

  const timer = repeat(SWEEP_AGAIN_MS, async () => sweepIfDue());

  return {
    async record(entry) {
      const result = await record({ kind: "event", entry });
      if (result.kind !== "event") throw new Error("A batch was recorded in place of an event.");
      return result.recorded;
    },
    async recordBatch(batch) {
      const result = await record({ kind: "batch", batch });
      if (result.kind !== "batch") throw new Error("An event was recorded in place of a batch.");
      return result.recorded;
    },
    expose: (exposures) => aside((tx) => addExposures(tx, exposures)),
    count: (counts, id) =>
      aside(async (tx) => {
        if (id === undefined || (await takeKey(tx, id, nowMs()))) await addEvaluations(tx, counts);
      }),

    flagFigures: (tenant, flagKey, window) =>
      read((current) => readFlagFigures(current, tenant, flagKey, window)),
    summaries: (tenant, flagKeys, window) =>
      read((current) => readSummaries(current, tenant, flagKeys, window)),
    usageFigures: (tenant, window) =>
      read((current) => readUsageFigures(current, tenant === "all" ? undefined : tenant, window)),

    sweep,
    depth: writer.depth,
    async close() {
      isClosed = true;
      timer.stop();
      await writer.idle();
      await sweeping?.catch(() => undefined);
    },
  };
}

function onlyOf([result]: readonly RecordResult[]): RecordResult {
  if (result === undefined) throw new Error("The event was not decided.");
  return result;
}

/**
 * The keys that are still valid. What has expired makes room for the same key; only that, because another node may have
 * used the key again since it was read.
 */
async function findKeys(
  tx: Adapter,
  hashes: readonly string[],
  nowIso: string,
): Promise<Map<string, { bodyHash: string; answer: string }>> {
  const rows = await findRowsIn<EventKeyRow>(tx, "featureFlagEventKey", {}, "keyHash", hashes);
  const used = new Map<string, { bodyHash: string; answer: string }>();
  for (const row of rows) {
    if (row.expiresAt > nowIso) used.set(row.keyHash, row);
    else {
      const expired: Where = { field: "expiresAt", operator: "lte", value: nowIso };
      const where = [{ field: "keyHash", value: row.keyHash }, expired];
      await tx.deleteMany({ model: "featureFlagEventKey", where });
    }
  }
  return used;
}

/** Whether nobody has used it before. */
async function takeKey(tx: Adapter, key: string, nowMs: number): Promise<boolean> {
  const used = await findKeys(tx, [key], new Date(nowMs).toISOString());
  if (used.has(key)) return false;
  const expiresAt = new Date(nowMs + KEY_LIFE_MS).toISOString();
  await insertKeys(tx, new Map([[key, { bodyHash: "", answer: "" }]]), expiresAt);
  return true;
}

/** In the order of the keys, so that two nodes that take the same ones never wait for each other in a circle. */
async function insertKeys(tx: Adapter, keys: Decision["keys"], expiresAt: string): Promise<void> {
  const sorted = [...keys].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [keyHash, { bodyHash, answer }] of sorted) {
    await tx.create<EventKeyRow>({
      model: "featureFlagEventKey",
      data: { keyHash, bodyHash, answer, expiresAt },
    });
  }
}

/** Rows that are written before others get their turn: drivers that answer at once, as SQLite's, give none. */
const SLICE = 100;

async function insertEvents(tx: Adapter, events: readonly TenantEvent[]): Promise<void> {
  for (const [index, { tenant, event }] of events.entries()) {
    if (index % SLICE === SLICE - 1) await sleep(0);
    await tx.create<EventRow>({
      model: "featureFlagEvent",
      data: {
        eventId: event.id,
        tenant,
        flagKey: event.flagKey,
        event: event.event,
        value: event.value === undefined ? null : encodeJson(event.value),
        properties: event.properties === undefined ? null : encodeJson(event.properties),
        userId: event.userId ?? null,
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
