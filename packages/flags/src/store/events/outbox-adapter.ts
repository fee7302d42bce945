/** The outbox in a table of the host's database, through Better Auth's adapter. */
import type { OutboxRow } from "../../model/tables.ts";
import { type Adapter, findRows, where } from "../rows.ts";
import type { Outbox } from "./outbox.ts";

const model = "featureFlagOutbox";

/** Every database takes as many parameters. */
const MAX_LIST = 500;

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
