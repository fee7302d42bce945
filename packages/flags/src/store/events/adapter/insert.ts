/** Stores a group of events with their keys and outbox entries, through the adapter. */
import type { Where } from "@better-auth/core/db/adapter";
import type { EventKeyRow, EventRow } from "../../../model/event-rows.ts";
import type { OutboxRow } from "../../../model/tables.ts";
import { encodeJson } from "../../rows/codec.ts";
import { type Adapter, findRowsIn } from "../../rows/queries.ts";
import { sleep } from "../../wait.ts";
import type { EventEntry } from "../event-log.ts";
import { type Group, Outcomes, type StoredKey, shorten } from "../group.ts";
import { KEY_LIFE_MS } from "../limits.ts";
import type { OutboxRows } from "./outbox.ts";

export interface InsertOptions {
  readonly nowMs: number;
  readonly outboxRows: OutboxRows;
}

export async function insertGroup(
  tx: Adapter,
  group: Group,
  { nowMs, outboxRows }: InsertOptions,
): Promise<Outcomes> {
  const used = await findKeys(tx, [...group.carriers.keys()], new Date(nowMs).toISOString());
  const outcomes = new Outcomes(group, used);
  const isNew = (key: string | undefined) => key === undefined || !used.has(key);
  const rows = group.rows.filter(({ key, batchKey }) => isNew(key) && isNew(batchKey));
  const answers = new Map(outcomes.answersToKeep().map(({ key, answer }) => [key, answer]));
  const keys: NewKey[] = [];
  for (const { key, bodyHash, answer = "" } of group.batches) {
    if (isNew(key)) keys.push({ keyHash: key, bodyHash, answer: answers.get(key) ?? answer });
  }
  for (const { key: keyHash, entry } of rows) {
    const { event, dedupe } = entry;
    if (keyHash === undefined || dedupe === undefined) continue;
    keys.push({ keyHash, bodyHash: shorten(dedupe.bodyHash), answer: event.id });
  }
  await insertKeys(tx, keys, nowMs);
  const kept = rows.map(({ entry }) => entry).filter(({ isKept }) => isKept);
  for (const [index, entry] of kept.entries()) {
    if (index % SLICE === SLICE - 1) await sleep(0);
    await tx.create<EventRow>({ model: "featureFlagEvent", data: rowOf(entry) });
  }
  const eventIds = kept.map(({ event }) => event.id);
  for (const data of outboxRows(eventIds, nowMs)) {
    await tx.create<OutboxRow>({ model: "featureFlagOutbox", data });
  }
  return outcomes;
}

/** Rows between two turns of the event loop: synchronous drivers such as SQLite's would block it. */
const SLICE = 100;

/**
 * Finds the keys that are still valid, and deletes expired ones. Deletes only by expiry time, because another process may
 * have used the key again after the read.
 */
async function findKeys(
  tx: Adapter,
  hashes: readonly string[],
  nowIso: string,
): Promise<Map<string, StoredKey>> {
  const used = new Map<string, StoredKey>();
  for (const row of await findRowsIn<EventKeyRow>(tx, "featureFlagEventKey", {}, "keyHash", hashes)) {
    const { keyHash, bodyHash, answer, expiresAt } = row;
    if (expiresAt > nowIso) {
      used.set(keyHash, { bodyHash, eventId: answer, answer: answer.startsWith("{") ? answer : null });
      continue;
    }
    const expired: Where = { field: "expiresAt", operator: "lte", value: nowIso };
    const where = [{ field: "keyHash", value: keyHash }, expired];
    await tx.deleteMany({ model: "featureFlagEventKey", where });
  }
  return used;
}

type NewKey = Pick<EventKeyRow, "keyHash" | "bodyHash" | "answer">;

/** Inserts in the order of the keys, so that two processes with the same keys do not deadlock. */
async function insertKeys(tx: Adapter, keys: readonly NewKey[], nowMs: number): Promise<void> {
  const expiresAt = new Date(nowMs + KEY_LIFE_MS).toISOString();
  for (const key of keys.toSorted((a, b) => (a.keyHash < b.keyHash ? -1 : 1))) {
    await tx.create<EventKeyRow>({ model: "featureFlagEventKey", data: { ...key, expiresAt } });
  }
}

/** Stores a key. Returns false if it was used before. */
export async function takeKey(tx: Adapter, keyHash: string, nowMs: number): Promise<boolean> {
  const used = await findKeys(tx, [keyHash], new Date(nowMs).toISOString());
  if (used.has(keyHash)) return false;
  await insertKeys(tx, [{ keyHash, bodyHash: "", answer: "" }], nowMs);
  return true;
}

function rowOf({ tenant, event, flagId, subject }: EventEntry): Omit<EventRow, "id"> {
  return {
    eventId: event.id,
    tenant,
    flagKey: event.flagKey ?? null,
    flagId: flagId ?? null,
    event: event.event,
    value: event.value === undefined ? null : encodeJson(event.value),
    properties: event.properties === undefined ? null : encodeJson(event.properties),
    userId: event.userId ?? null,
    anonymousId: event.anonymousId ?? null,
    subject: subject ?? null,
    organizationId: event.organizationId ?? null,
    variant: event.variant ?? null,
    environment: event.environment ?? "",
    at: event.at,
    receivedAt: event.receivedAt,
    sampleRate: encodeJson(event.sampleRate),
    idempotencyKey: event.idempotencyKey ?? null,
  };
}
