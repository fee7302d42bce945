/** Turns a group of requests into the rows that are written, and the keys that were used before into their outcomes. Pure. */
import type { FeatureFlagEventBatchResult } from "../../model/event.ts";
import type { BatchRecorded, Dedupe, EventBatch, EventEntry, Recorded } from "./event-log.ts";

/** An event or a batch, with the callbacks that settle its promise. */
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
  /** The answer of a batch as JSON. Null if it follows from the keys of its events. */
  readonly answer: string | null;
}

/** An event, and the keys on which it depends: it is written if they are new. */
export interface GroupRow {
  readonly entry: EventEntry;
  readonly key: string | undefined;
  /** The key of its batch. */
  readonly batchKey: string | undefined;
}

/** The key of a batch. */
export interface GroupBatch {
  readonly key: string;
  readonly bodyHash: string;
  /** The answer if the batch is new and no key of its events is needed to know it. */
  readonly answer: string | undefined;
}

export interface Group {
  readonly requests: readonly Request[];
  /** Requests that must wait for the outcome of this group. */
  readonly deferred: readonly Request[];
  readonly rows: readonly GroupRow[];
  readonly batches: readonly GroupBatch[];
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
export function shorten(hash: string): string {
  return hash.slice(0, 32);
}

/** The first event with a key carries it into the database. Later events of the group compare their body with it. */
export function gather(requests: readonly Request[]): Group {
  const carriers = new Map<string, Carrier>();
  const taken: Request[] = [];
  const deferred: Request[] = [];
  const rows: GroupRow[] = [];
  const batches: GroupBatch[] = [];
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
      batches.push(batchOf(batchKey, batch.dedupe, batch));
    }
    for (const entry of entries) {
      const { dedupe } = entry;
      const key = dedupe && claim(carriers, dedupe, request, entry);
      if (dedupe !== undefined) {
        if (key === undefined) hasRivals = true;
        else if (batchKey !== undefined) hasGatedKeys = true;
      }
      if (dedupe === undefined ? entry.isKept : key !== undefined) rows.push({ entry, key, batchKey });
    }
  }
  return { requests: taken, deferred, rows, batches, carriers, hasRivals };
}

function batchOf(key: string, { bodyHash }: Dedupe, { entries, failed, batchId }: EventBatch): GroupBatch {
  const isCertain = entries.every(({ dedupe }) => dedupe === undefined);
  const answer = { success: entries.length, failed, batchId };
  return { key, bodyHash: shorten(bodyHash), answer: isCertain ? JSON.stringify(answer) : undefined };
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
