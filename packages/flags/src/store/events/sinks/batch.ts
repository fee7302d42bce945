/** Builds delivery batches and computes retry delays. Pure. */
import type { StoredFlagEvent } from "../../../model/event.ts";
import { sha256 } from "../../sha256.ts";
import { HOUR_MS } from "../hour.ts";
import type { OutboxEntry } from "./outbox.ts";

export const MAX_EVENTS: number = 500;
/** In characters of JSON. A larger event is a batch of its own. */
const MAX_TEXT = 1_000_000;
/** Events that could not be delivered for this time are dropped. */
export const MAX_AGE_MS: number = 48 * HOUR_MS;

const FIRST_DELAY_MS = 1000;
const MAX_DELAY_MS = 300_000;

export interface DeliveryBatch {
  readonly deliveryId: string;
  readonly entries: readonly OutboxEntry[];
  readonly events: readonly StoredFlagEvent[];
}

/** Takes the first entries that fit. `deleted` are the ids of entries whose event has been deleted with its flag. */
export async function makeBatch(
  sink: string,
  waiting: readonly OutboxEntry[],
): Promise<{ readonly batch: DeliveryBatch; readonly deleted: readonly string[] }> {
  const entries: OutboxEntry[] = [];
  const events: StoredFlagEvent[] = [];
  const deleted: string[] = [];
  let length = 0;
  for (const entry of waiting.slice(0, MAX_EVENTS)) {
    const { entryId, event } = entry;
    if (event === undefined) {
      deleted.push(entryId);
      continue;
    }
    length += JSON.stringify(event).length;
    if (length > MAX_TEXT && entries.length > 0) break;
    entries.push(entry);
    events.push(event);
  }
  return { batch: { deliveryId: await deliveryIdOf(sink, events), entries, events }, deleted };
}

/** A hash of the sink and the event ids, so that every process computes the same id for the same events. */
async function deliveryIdOf(sink: string, events: readonly StoredFlagEvent[]): Promise<string> {
  const hash = await sha256(JSON.stringify([sink, ...events.map(({ id }) => id)]));
  return `dlv_${hash.slice(0, 32)}`;
}

/** Exponential backoff with jitter. `random` is between 0 and 1. */
export function retryDelayMs(failures: number, random: number): number {
  const delayMs = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(failures - 1, 20));
  return delayMs / 2 + (random * delayMs) / 2;
}
