/** Opens an event log on a real database without the server, and builds events for it. */

import type { DBAdapter } from "@better-auth/core/db/adapter";
import { uuidv7 } from "@halyard/base";
import type { FeatureFlagEventBatchResult, StoredFlagEvent } from "../../src/model/event.ts";
import type { EventRow } from "../../src/model/event-rows.ts";
import { createAdapterEventLog } from "../../src/store/events/adapter/log.ts";
import type {
  BatchRecorded,
  Dedupe,
  EventBatch,
  EventEntry,
  EventLog,
  FigureFlag,
} from "../../src/store/events/event-log.ts";
import { storedEventOf } from "../../src/store/events/stored-event.ts";
import { createTransactions } from "../../src/store/writes/transaction.ts";
import { type DatabaseKind, fresh, openStoreHost } from "./store-host.ts";

export interface EventLogSettings {
  readonly nowMs?: () => number;
  readonly maxQueued?: number;
  /** Default: an hour, so that logs that a test no longer uses do not write. */
  readonly foldMs?: number;
  readonly retentionDays?: number;
}

/** Access of the suites to one kind of event log. */
export interface EventLogHost {
  /** Opens a log with its own connections, like another process. */
  open(settings?: EventLogSettings): Promise<EventLog>;
  /** The stored events of a tenant, oldest first. */
  stored(tenant: string): Promise<StoredFlagEvent[]>;
  /** The number of stored idempotency keys. */
  keyCount(): Promise<number>;
  /** Also closes every log. */
  close(): Promise<void>;
}

export interface EventLogTraits {
  /** How many processes may write at the same time. SQLite has one writer, and the others give up soon. */
  readonly nodesThatWriteAtOnce: 1 | 2;
}

/** The log over Better Auth's adapter. */
export async function openAdapterEvents(kind: DatabaseKind): Promise<EventLogHost> {
  const host = await openStoreHost(kind);
  const logs: EventLog[] = [];
  const all = (model: string, where: Parameters<DBAdapter["findMany"]>[0]["where"] = []) =>
    host.adapter.findMany<EventRow>({ model, where, limit: 100_000 });
  return {
    async open(settings = {}) {
      const { adapter } = await host.another();
      const transactions = createTransactions(adapter);
      const log = createAdapterEventLog(adapter, {
        transactions,
        warn: () => {},
        foldMs: HOUR_MS,
        ...settings,
      });
      logs.push(log);
      return log;
    },
    async stored(tenant) {
      const rows = await all("featureFlagEvent", [{ field: "tenant", value: tenant }]);
      return rows.sort((a, b) => (a.eventId < b.eventId ? -1 : 1)).map(storedEventOf);
    },
    keyCount: async () => (await all("featureFlagEventKey")).length,
    async close() {
      for (const log of logs) await log.close();
      await host.close();
    },
  };
}

/** A Wednesday, far from both ends of its hour, day, month and year. */
export const NOON: number = Date.parse("2030-05-15T12:30:00.000Z");
export const HOUR_MS = 3_600_000;
export const DAY_MS: number = 24 * HOUR_MS;

/** The id of the flag that a test's events, exposures and counts are about. */
export const flagIdOf = (tenant: string, flagKey = "flag"): string => `${tenant}/${flagKey}`;
export const flagOf = (tenant: string, unit: FigureFlag["unit"] = "userId"): FigureFlag => ({
  id: flagIdOf(tenant),
  unit,
});

export interface EntryFields extends Partial<Omit<StoredFlagEvent, "id" | "at" | "receivedAt">> {
  readonly tenant?: string;
  /** Default: the user's id. */
  readonly subject?: string | undefined;
  readonly atMs?: number;
  readonly receivedAtMs?: number;
  readonly isKept?: boolean;
  readonly dedupe?: Dedupe;
}

export function entryOf({
  tenant = "",
  atMs = NOON,
  receivedAtMs = atMs,
  isKept = true,
  dedupe,
  subject,
  ...fields
}: EntryFields = {}): EventEntry {
  return {
    tenant,
    isKept,
    flagId: flagIdOf(tenant, fields.flagKey),
    subject: subject ?? fields.userId,
    event: {
      id: uuidv7(receivedAtMs),
      flagKey: "flag",
      event: "click",
      sampleRate: 1,
      at: new Date(atMs).toISOString(),
      receivedAt: new Date(receivedAtMs).toISOString(),
      ...fields,
    },
    ...(dedupe && { dedupe }),
  };
}

const hash = (text: string) => Buffer.from(text.padEnd(32, ".")).toString("hex").slice(0, 64);

/** An unused key with a body; `again` is the same key with the same or another body. */
export function newDedupe(body = "body"): Dedupe & { again(body: string): Dedupe } {
  const keyHash = hash(`${fresh("key")}-${crypto.randomUUID()}`);
  const again = (other: string) => ({ keyHash, bodyHash: hash(other) });
  return { ...again(body), again };
}

export function batchOf(entries: readonly EventEntry[], fields: Partial<EventBatch> = {}): EventBatch {
  return { entries, failed: 0, batchId: crypto.randomUUID(), ...fields };
}

/** The answer to a batch. */
export function answerOf(recorded: BatchRecorded): FeatureFlagEventBatchResult {
  if (recorded.outcome === "conflict") throw new Error("The batch was in conflict.");
  return recorded.answer;
}

/** The hour of noon, and the whole day around it. */
export const DAY = { startMs: NOON - DAY_MS, endMs: NOON + DAY_MS };
