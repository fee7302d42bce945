/** Decides which events of a group are new, duplicates or conflicts. Pure. */
import type { FeatureFlagEventBatchResult, StoredFlagEvent } from "../../../model/event.ts";
import type { BatchRecorded, Dedupe, EventBatch, EventEntry, Recorded } from "../event-log.ts";

/** A request to record one event, or a batch of events. */
export type RecordRequest =
  | { readonly kind: "event"; readonly entry: EventEntry }
  | { readonly kind: "batch"; readonly batch: EventBatch };

export type RecordResult =
  | { readonly kind: "event"; readonly recorded: Recorded }
  | { readonly kind: "batch"; readonly recorded: BatchRecorded };

/**
 * A used idempotency key: the hash of its body, or the beginning of it, and the answer as JSON: an event's id or the
 * result of a batch. The answer is empty if it follows from the keys of the batch's events.
 */
export interface UsedKey {
  readonly bodyHash: string;
  readonly answer: string;
}

export interface TenantEvent extends Pick<EventEntry, "flagId" | "subject"> {
  readonly tenant: string;
  readonly event: StoredFlagEvent;
}

export interface Decision {
  readonly results: readonly RecordResult[];
  readonly events: readonly TenantEvent[];
  /** By the key's hash. */
  readonly keys: ReadonlyMap<string, UsedKey>;
}

/** The idempotency keys of a group, without duplicates. */
export function keysOf(requests: readonly RecordRequest[]): string[] {
  const hashes = new Set<string>();
  const add = (dedupe: Dedupe | undefined) => dedupe && hashes.add(dedupe.keyHash);
  for (const request of requests) {
    if (request.kind === "event") add(request.entry.dedupe);
    else {
      add(request.batch.dedupe);
      for (const { dedupe } of request.batch.entries) add(dedupe);
    }
  }
  return [...hashes];
}

/** Decides the requests in their order. `used` holds the stored keys of the group. */
export function decide(requests: readonly RecordRequest[], used: ReadonlyMap<string, UsedKey>): Decision {
  const events: TenantEvent[] = [];
  const keys = new Map<string, UsedKey>();
  const find = ({ keyHash }: Dedupe) => keys.get(keyHash) ?? used.get(keyHash);

  function decideEntry({ tenant, event, flagId, subject, isKept, dedupe }: EventEntry): Recorded {
    const usedKey = dedupe && find(dedupe);
    if (dedupe !== undefined && usedKey !== undefined) {
      if (!dedupe.bodyHash.startsWith(usedKey.bodyHash)) return { outcome: "conflict", eventId: event.id };
      return { outcome: "duplicate", eventId: JSON.parse(usedKey.answer) as string };
    }
    if (isKept) events.push({ tenant, event, flagId, subject });
    if (dedupe !== undefined) {
      keys.set(dedupe.keyHash, { bodyHash: dedupe.bodyHash, answer: JSON.stringify(event.id) });
    }
    return { outcome: "stored", eventId: event.id };
  }

  /** Whether the entry's key was used with another body. Changes nothing. */
  function isConflict({ dedupe }: EventEntry): boolean {
    const usedKey = dedupe && find(dedupe);
    return usedKey !== undefined && dedupe?.bodyHash.startsWith(usedKey.bodyHash) === false;
  }

  function decideBatch({ entries, failed, batchId, dedupe }: EventBatch): BatchRecorded {
    const usedKey = dedupe && find(dedupe);
    const answerOf = (conflicts: (entry: EventEntry) => boolean): FeatureFlagEventBatchResult => {
      const count = entries.filter(conflicts).length;
      return { success: entries.length - count, failed: failed + count, batchId };
    };
    if (dedupe !== undefined && usedKey !== undefined) {
      if (!dedupe.bodyHash.startsWith(usedKey.bodyHash)) return { outcome: "conflict" };
      const answer = usedKey.answer === "" ? answerOf(isConflict) : JSON.parse(usedKey.answer);
      return { outcome: "duplicate", answer: answer as FeatureFlagEventBatchResult };
    }
    const answer = answerOf((entry) => decideEntry(entry).outcome === "conflict");
    if (dedupe !== undefined) {
      keys.set(dedupe.keyHash, { bodyHash: dedupe.bodyHash, answer: JSON.stringify(answer) });
    }
    return { outcome: "stored", answer };
  }

  const results = requests.map(
    (request): RecordResult =>
      request.kind === "event"
        ? { kind: "event", recorded: decideEntry(request.entry) }
        : { kind: "batch", recorded: decideBatch(request.batch) },
  );
  return { results, events, keys };
}
