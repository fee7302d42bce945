/** The outbox in a table of the host's database, through the adapter. */
import type { EventRow } from "../../../model/event-rows.ts";
import type { OutboxRow } from "../../../model/tables.ts";
import { type Adapter, findRows, findRowsIn, MAX_LIST, where } from "../../rows/queries.ts";
import type { Outbox } from "../sinks/outbox.ts";
import { STATISTICS } from "../storage.ts";
import { storedEventOf } from "../stored-event.ts";

export const OUTBOX = "featureFlagOutbox";

export function eventIdsOf({ eventIds }: OutboxRow): string[] {
  return eventIds.split(" ");
}

export async function removeEntries(adapter: Adapter, entryIds: readonly string[]): Promise<void> {
  for (let start = 0; start < entryIds.length; start += MAX_LIST) {
    const value = entryIds.slice(start, start + MAX_LIST);
    await adapter.deleteMany({ model: OUTBOX, where: [{ field: "entryId", operator: "in", value }] });
  }
}

export function createAdapterOutbox(adapter: Adapter): Outbox {
  return {
    async peek(sink, max) {
      const sortBy = { field: "entryId", direction: "asc" as const };
      const rows = await findRows<OutboxRow>(adapter, OUTBOX, { sink }, { sortBy, limit: max });
      const ids = rows.map(({ eventIds }) => eventIds);
      const events = await findRowsIn<EventRow>(adapter, "featureFlagEvent", {}, "eventId", ids);
      const eventOf = new Map(events.map((event) => [event.eventId, storedEventOf(event)]));
      return rows.map(({ entryId, eventIds, enqueuedAt }) => ({
        entryId,
        event: eventOf.get(eventIds),
        enqueuedAtMs: Date.parse(enqueuedAt),
      }));
    },
    remove: (_sink, entryIds) => removeEntries(adapter, entryIds),
    count: (sink) => adapter.count({ model: OUTBOX, where: where({ sink }) }),
    async removeOthers(sinks, before) {
      const rows = await adapter.findMany<OutboxRow>({
        model: OUTBOX,
        where: [
          { field: "enqueuedAt", operator: "lt", value: before.toISOString() },
          { field: "sink", operator: "not_in", value: [...sinks, STATISTICS] },
        ],
        limit: MAX_LIST,
      });
      await removeEntries(
        adapter,
        rows.map(({ entryId }) => entryId),
      );
      return rows.length;
    },
  };
}

/** The outbox rows of events that are stored together. */
export type OutboxRows = (eventIds: readonly string[], nowMs: number) => Omit<OutboxRow, "id">[];

/** One row with all events for the statistics, and one per event for each sink, in the order of delivery. */
export function createOutboxRows(sinks: readonly string[]): OutboxRows {
  const nextId = createEntryIds();
  return (eventIds, nowMs) => {
    if (eventIds.length === 0) return [];
    const enqueuedAt = new Date(nowMs).toISOString();
    const rowOf = (sink: string, ids: string) => ({
      entryId: nextId(nowMs),
      sink,
      eventIds: ids,
      enqueuedAt,
    });
    const ofSinks = eventIds.flatMap((id) => sinks.map((sink) => rowOf(sink, id)));
    return [rowOf(STATISTICS, eventIds.join(" ")), ...ofSinks];
  };
}

/** Ids that sort by time, and within one process by call. All collations sort hex and dashes the same way. */
function createEntryIds(): (nowMs: number) => string {
  let lastMs = 0;
  let counter = 0;
  return (nowMs) => {
    lastMs = Math.max(lastMs, nowMs);
    counter += 1;
    const random = crypto.randomUUID().slice(0, 8);
    return `${hex(lastMs)}-${hex(counter)}-${random}`;
  };
}

function hex(value: number): string {
  return value.toString(16).padStart(12, "0");
}
