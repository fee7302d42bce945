/** Counts the events that wait in the outbox, through the adapter. */
import type { EventRow } from "../../../model/event-rows.ts";
import type { LeaseRow, OutboxRow } from "../../../model/tables.ts";
import { type Adapter, findRows, findRowsIn } from "../../rows/queries.ts";
import { STATISTICS } from "../storage.ts";
import { eventIdsOf, OUTBOX, removeEntries } from "./outbox.ts";
import { addEvents } from "./rollup.ts";
import { prolongSubjects } from "./subjects.ts";

/** What one transaction folds. An entry has the events of one group, which may be a single event. */
const MAX_ENTRIES = 100;
const MAX_EVENTS = 100;
/** The row that all processes lock before they fold, because all of them add to the same rows. */
const LOCK = "statistics";

const oldestFirst = { sortBy: { field: "entryId", direction: "asc" as const } };

export async function oldestEntry(adapter: Adapter): Promise<OutboxRow | undefined> {
  const match = { sink: STATISTICS };
  return (await findRows<OutboxRow>(adapter, OUTBOX, match, { ...oldestFirst, limit: 1 }))[0];
}

/** Returns false if no entry is left. */
export async function foldEntries(tx: Adapter): Promise<boolean> {
  await lock(tx);
  const match = { sink: STATISTICS };
  const oldest = await findRows<OutboxRow>(tx, OUTBOX, match, { ...oldestFirst, limit: MAX_ENTRIES });
  const entries: OutboxRow[] = [];
  const ids: string[] = [];
  for (const entry of oldest) {
    if (ids.length >= MAX_EVENTS) break;
    entries.push(entry);
    ids.push(...eventIdsOf(entry));
  }
  const events = await findRowsIn<EventRow>(tx, "featureFlagEvent", {}, "eventId", ids);
  await addEvents(tx, events);
  await prolongSubjects(tx, events);
  await removeEntries(
    tx,
    entries.map(({ entryId }) => entryId),
  );
  return oldest.length === MAX_ENTRIES || entries.length < oldest.length;
}

/** Before the first read, because databases show what is committed until then. */
async function lock(tx: Adapter): Promise<void> {
  const model = "featureFlagLease";
  const where = [{ field: "name", value: LOCK }];
  const locked = await tx.incrementOne<{ beat: number }>({ model, where, increment: { beat: 1 } });
  if (locked === null) await tx.create<LeaseRow>({ model, data: { name: LOCK, holder: "", beat: 0 } });
}
