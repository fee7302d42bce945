/** The outbox in a table of the host's database, through the adapter. */
import type { StoredFlagEvent } from "../../../model/event.ts";
import type { OutboxRow } from "../../../model/tables.ts";
import { type Adapter, findRows, MAX_LIST, where } from "../../rows/queries.ts";
import { type Outbox, outboxText } from "../sinks/outbox.ts";

const model = "featureFlagOutbox";

export function createAdapterOutbox(adapter: Adapter): Outbox {
  async function removeRows(ids: readonly string[]): Promise<void> {
    for (let start = 0; start < ids.length; start += MAX_LIST) {
      const value = ids.slice(start, start + MAX_LIST);
      await adapter.deleteMany({ model, where: [{ field: "entryId", operator: "in", value }] });
    }
  }

  return {
    async peek(sink, max) {
      const sortBy = { field: "entryId", direction: "asc" as const };
      const rows = await findRows<OutboxRow>(adapter, model, { sink }, { sortBy, limit: max });
      return rows.map(({ entryId, event, enqueuedAt }) => ({
        entryId,
        event,
        enqueuedAtMs: Date.parse(enqueuedAt),
      }));
    },
    remove: (_sink, entryIds) => removeRows(entryIds),
    count: (sink) => adapter.count({ model, where: where({ sink }) }),
    async removeOthers(sinks, before) {
      const rows = await adapter.findMany<OutboxRow>({
        model,
        where: [
          { field: "enqueuedAt", operator: "lt", value: before.toISOString() },
          { field: "sink", operator: "not_in", value: [...sinks] },
        ],
        limit: MAX_LIST,
      });
      await removeRows(rows.map(({ entryId }) => entryId));
      return rows.length;
    },
  };
}

/** Creates the outbox rows of events that are stored together, in the order of delivery. */
export function createOutboxRows(
  sinks: readonly string[],
): (events: readonly StoredFlagEvent[], nowMs: number) => Omit<OutboxRow, "id">[] {
  const nextId = createEntryIds();
  return (events, nowMs) => {
    const enqueuedAt = new Date(nowMs).toISOString();
    return events.flatMap((event) =>
      sinks.map((sink) => ({ entryId: nextId(nowMs), sink, event: outboxText(event), enqueuedAt })),
    );
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
