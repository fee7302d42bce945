/** Which events of a group are new, which were recorded before, and which have another's key. Pure. */
import type { FeatureFlagEventBatchResult, StoredFlagEvent } from "../../model/event.ts";
import type { BatchRecorded, Dedupe, EventBatch, EventEntry, Recorded } from "./event-log.ts";

/** What somebody asks to have recorded: an event, or many that are recorded together. */
export type RecordRequest =
  | { readonly kind: "event"; readonly entry: EventEntry }
  | { readonly kind: "batch"; readonly batch: EventBatch };

export type RecordResult =
  | { readonly kind: "event"; readonly recorded: Recorded }
  | { readonly kind: "batch"; readonly recorded: BatchRecorded };

/** A key that was used: with which body, and what was answered, as JSON: an event's id, or the answer to a batch. */
export interface UsedKey {
  readonly bodyHash: string;
  readonly answer: string;
}

export interface TenantEvent {
  readonly tenant: string;
  readonly event: StoredFlagEvent;
}

export interface Decision {
  readonly results: readonly RecordResult[];
  readonly events: readonly TenantEvent[];
  /** By the key's hash. */
  readonly keys: ReadonlyMap<string, UsedKey>;
}

/** The keys that a group names, each once. */
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

/** `used`: those of the group's keys that are known. Requests are decided in their order. */
export function decide(requests: readonly RecordRequest[], used: ReadonlyMap<string, UsedKey>): Decision {
  const events: TenantEvent[] = [];
  const keys = new Map<string, UsedKey>();
  const find = ({ keyHash }: Dedupe) => keys.get(keyHash) ?? used.get(keyHash);

  function decideEntry({ tenant, event, isKept, dedupe }: EventEntry): Recorded {
    const known = dedupe && find(dedupe);
    if (dedupe !== undefined && known !== undefined) {
      if (known.bodyHash !== dedupe.bodyHash) return { outcome: "conflict", eventId: event.id };
      return { outcome: "duplicate", eventId: JSON.parse(known.answer) as string };
    }
    if (isKept) events.push({ tenant, event });
    if (dedupe !== undefined) {
      keys.set(dedupe.keyHash, { bodyHash: dedupe.bodyHash, answer: JSON.stringify(event.id) });
    }
    return { outcome: "stored", eventId: event.id };
  }

  function decideBatch({ entries, failed, batchId, dedupe }: EventBatch): BatchRecorded {
    const known = dedupe && find(dedupe);
    if (dedupe !== undefined && known !== undefined) {
      if (known.bodyHash !== dedupe.bodyHash) return { outcome: "conflict" };
      return { outcome: "duplicate", answer: JSON.parse(known.answer) as FeatureFlagEventBatchResult };
    }
    const conflicts = entries.filter((entry) => decideEntry(entry).outcome === "conflict").length;
    const answer = { success: entries.length - conflicts, failed: failed + conflicts, batchId };
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
