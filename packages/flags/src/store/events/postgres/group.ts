/** Turns a group of requests into the parameters of one statement, and its result into the outcome of each request. */
import type { FeatureFlagEventBatchResult } from "../../../model/event.ts";
import { PostgresArray } from "../../postgres/array.ts";
import type { BatchRecorded, Dedupe, EventBatch, EventEntry, Recorded } from "../event-log.ts";
import { outboxText } from "../sinks/outbox.ts";

/** A queued event or batch, with the callbacks that settle its promise. */
export interface Request {
  readonly rows: number;
  readonly entries: readonly EventEntry[];
  readonly batch: EventBatch | undefined;
  readonly settle: (group: Outcomes) => void;
  readonly reject: (error: unknown) => void;
}

/** An idempotency key that was stored before this group. */
export interface StoredKey {
  readonly bodyHash: string;
  readonly eventId: string;
  /** The answer of a batch. Null if it follows from the keys of its events. */
  readonly answer: string | null;
}

export interface Group {
  readonly requests: readonly Request[];
  /** Requests that must wait for the outcome of this group. */
  readonly deferred: readonly Request[];
  /** The first parameters of the statement, one per column. */
  readonly values: readonly (string | null)[];
  /** By key: the request whose row carries the key. */
  readonly carriers: ReadonlyMap<string, Carrier>;
  /** Whether a key occurs more than once in the group. */
  readonly hasRivals: boolean;
}

interface Carrier {
  readonly dedupe: Dedupe;
  /** Undefined for the key of a batch. */
  readonly entry: EventEntry | undefined;
  readonly request: Request;
}

/** Keeps 128 of the 256 bits: the size of a UUID column, and enough to avoid collisions. */
function shorten(hash: string): string {
  return hash.slice(0, 32);
}

/** The first event with a key carries it into the database. Later events of the group compare their body with it. */
export function gather(requests: readonly Request[], hasOutbox: boolean): Group {
  const carriers = new Map<string, Carrier>();
  const taken: Request[] = [];
  const deferred: Request[] = [];
  const rows = new EventColumns(hasOutbox);
  const batches = new BatchColumns();
  let hasRivals = false;
  let hasGatedKeys = false;

  for (const request of requests) {
    if (hasGatedKeys && dependsOnAnotherBatch(request, carriers)) {
      deferred.push(request);
      continue;
    }
    taken.push(request);
    const { batch, entries } = request;
    const batchKey = batch?.dedupe && claim(carriers, batch.dedupe, request);
    if (batch?.dedupe !== undefined) {
      // The same batch is twice in the group: the first one writes, and both get its outcome.
      if (batchKey === undefined) {
        hasRivals = true;
        continue;
      }
      batches.add(batchKey, batch.dedupe, batch);
    }
    for (const entry of entries) {
      const { dedupe } = entry;
      const key = dedupe && claim(carriers, dedupe, request, entry);
      if (dedupe !== undefined) {
        if (key === undefined) hasRivals = true;
        else if (batchKey !== undefined) hasGatedKeys = true;
      }
      if (dedupe === undefined ? entry.isKept : key !== undefined) rows.add(entry, key, dedupe, batchKey);
    }
  }
  const values = [...rows.literals(), ...batches.literals()];
  return { requests: taken, deferred, values, carriers, hasRivals };
}

/** Returns undefined if another row of the group carries the key. */
function claim(
  carriers: Map<string, Carrier>,
  dedupe: Dedupe,
  request: Request,
  entry?: EventEntry,
): string | undefined {
  const key = shorten(dedupe.keyHash);
  if (carriers.has(key)) return undefined;
  carriers.set(key, { dedupe, entry, request });
  return key;
}

/** Whether an event that is written only with a new batch has one of the request's keys. */
function dependsOnAnotherBatch(request: Request, carriers: ReadonlyMap<string, Carrier>): boolean {
  return request.entries.some(({ dedupe }) => {
    const carrier = dedupe && carriers.get(shorten(dedupe.keyHash));
    return carrier?.entry !== undefined && carrier.request.batch?.dedupe !== undefined;
  });
}

/** The outcome of a group. Keys that were not stored before are new. */
export class Outcomes {
  readonly #group: Group;
  readonly #storedKeys: ReadonlyMap<string, StoredKey | undefined>;
  /** No key was stored before, and none occurs twice. */
  readonly isAllNew: boolean;

  /** `storedKeys` has every key that was stored before. Its value is undefined if the key was deleted in the meantime. */
  constructor(group: Group, storedKeys: ReadonlyMap<string, StoredKey | undefined>) {
    this.#group = group;
    this.#storedKeys = storedKeys;
    this.isAllNew = storedKeys.size === 0 && !group.hasRivals;
  }

  ofEntry(entry: EventEntry): Recorded {
    const { dedupe, event } = entry;
    if (dedupe === undefined) return { outcome: "stored", eventId: event.id };
    if (this.isAllNew) return { outcome: "stored", eventId: event.id };
    const key = shorten(dedupe.keyHash);
    const first = this.#storedKeys.has(key) ? this.#storedKeys.get(key) : this.#inGroup(key);
    // The sweep has just deleted the key. It was used, but its body is unknown.
    if (first === undefined) return { outcome: "duplicate", eventId: event.id };
    if (first.bodyHash !== shorten(dedupe.bodyHash)) return { outcome: "conflict", eventId: event.id };
    return { outcome: first.eventId === event.id ? "stored" : "duplicate", eventId: first.eventId };
  }

  ofBatch(request: Request, batch: EventBatch): BatchRecorded {
    const { dedupe } = batch;
    if (dedupe === undefined) return { outcome: "stored", answer: this.#answer(batch) };
    const key = shorten(dedupe.keyHash);
    const carrier = this.#group.carriers.get(key);
    const storedKey = this.#storedKeys.get(key);
    const bodyHash = storedKey?.bodyHash ?? (carrier && shorten(carrier.dedupe.bodyHash));
    if (bodyHash !== shorten(dedupe.bodyHash)) return { outcome: "conflict" };
    const answer = answerOf(storedKey?.answer) ?? this.#answer(batch);
    return { outcome: this.#isNew(key, request) ? "stored" : "duplicate", answer };
  }

  /** The answers of new batches that must be stored because they do not follow from the keys. */
  answersToKeep(): { key: string; answer: string }[] {
    return this.#group.requests.flatMap((request) => {
      const { batch } = request;
      const key = batch?.dedupe && shorten(batch.dedupe.keyHash);
      if (batch === undefined || key === undefined || !this.#isNew(key, request)) return [];
      const answer = this.#answer(batch);
      return answer.failed > batch.failed ? [{ key, answer: JSON.stringify(answer) }] : [];
    });
  }

  #isNew(key: string, request: Request): boolean {
    return this.#group.carriers.get(key)?.request === request && !this.#storedKeys.has(key);
  }

  #inGroup(key: string): Pick<StoredKey, "bodyHash" | "eventId"> | undefined {
    const carrier = this.#group.carriers.get(key);
    return (
      carrier && {
        bodyHash: shorten(carrier.dedupe.bodyHash),
        eventId: carrier.entry?.event.id ?? "",
      }
    );
  }

  #answer(batch: EventBatch): FeatureFlagEventBatchResult {
    let conflicts = 0;
    for (const entry of this.isAllNew ? [] : batch.entries) {
      if (entry.dedupe !== undefined && this.ofEntry(entry).outcome === "conflict") conflicts += 1;
    }
    const success = batch.entries.length - conflicts;
    return { success, failed: batch.failed + conflicts, batchId: batch.batchId };
  }
}

function answerOf(text: string | null | undefined): FeatureFlagEventBatchResult | undefined {
  return typeof text === "string" ? (JSON.parse(text) as FeatureFlagEventBatchResult) : undefined;
}

/** The columns of `input`, in the order of the statement. */
class EventColumns {
  readonly #id = new PostgresArray();
  readonly #tenant = new PostgresArray();
  readonly #flagKey = new PostgresArray();
  readonly #event = new PostgresArray();
  readonly #variant = new PostgresArray();
  readonly #userId = new PostgresArray();
  readonly #organizationId = new PostgresArray();
  readonly #value = new PostgresArray();
  readonly #properties = new PostgresArray();
  readonly #at = new PostgresArray();
  readonly #receivedAt = new PostgresArray();
  readonly #sampleRate = new PostgresArray();
  readonly #idempotencyKey = new PostgresArray();
  readonly #keyHash = new PostgresArray();
  readonly #bodyHash = new PostgresArray();
  readonly #batchHash = new PostgresArray();
  readonly #isSampledOut = new PostgresArray();
  readonly #outboxText = new PostgresArray();
  readonly #flagId = new PostgresArray();
  readonly #anonymousId = new PostgresArray();
  readonly #subject = new PostgresArray();
  readonly #hasOutbox: boolean;

  constructor(hasOutbox: boolean) {
    this.#hasOutbox = hasOutbox;
  }

  add(
    { tenant, event, isKept, flagId, subject }: EventEntry,
    key: string | undefined,
    dedupe: Dedupe | undefined,
    batchKey: string | undefined,
  ): void {
    const { value, properties, at, receivedAt, sampleRate } = event;
    this.#id.add(event.id);
    this.#tenant.addText(tenant);
    this.#flagKey.addText(event.flagKey);
    this.#event.addText(event.event);
    this.#variant.addText(event.variant);
    this.#userId.addText(event.userId);
    this.#organizationId.addText(event.organizationId);
    this.#value.add(value === undefined ? undefined : String(value));
    this.#properties.addText(properties && JSON.stringify(properties));
    this.#at.addText(at === receivedAt ? undefined : at);
    this.#receivedAt.addText(receivedAt);
    this.#sampleRate.add(sampleRate === 1 ? undefined : String(sampleRate));
    this.#idempotencyKey.addText(event.idempotencyKey);
    this.#keyHash.add(key);
    this.#bodyHash.add(dedupe && shorten(dedupe.bodyHash));
    this.#batchHash.add(batchKey);
    this.#isSampledOut.add(isKept ? undefined : "t");
    this.#outboxText.addText(this.#hasOutbox && isKept ? outboxText(event) : undefined);
    this.#flagId.addText(flagId);
    this.#anonymousId.addText(event.anonymousId);
    this.#subject.addText(subject);
  }

  literals(): (string | null)[] {
    return [
      this.#id,
      this.#tenant,
      this.#flagKey,
      this.#event,
      this.#variant,
      this.#userId,
      this.#organizationId,
      this.#value,
      this.#properties,
      this.#at,
      this.#receivedAt,
      this.#sampleRate,
      this.#idempotencyKey,
      this.#keyHash,
      this.#bodyHash,
      this.#batchHash,
      this.#isSampledOut,
      this.#outboxText,
      this.#flagId,
      this.#anonymousId,
      this.#subject,
    ].map((column) => column.literal());
  }
}

/** The columns of `batch_input`, in the order of the statement. */
class BatchColumns {
  readonly #keyHash = new PostgresArray();
  readonly #bodyHash = new PostgresArray();
  readonly #answer = new PostgresArray();

  add(key: string, { bodyHash }: Dedupe, batch: EventBatch): void {
    const { entries, failed, batchId } = batch;
    const isCertain = entries.every(({ dedupe }) => dedupe === undefined);
    const answer = { success: entries.length, failed, batchId };
    this.#keyHash.add(key);
    this.#bodyHash.add(shorten(bodyHash));
    this.#answer.addText(isCertain ? JSON.stringify(answer) : undefined);
  }

  literals(): (string | null)[] {
    return [this.#keyHash, this.#bodyHash, this.#answer].map((column) => column.literal());
  }
}
