/** Events on their way to sinks: written in the transaction that stores them, taken out when a sink has them. */
import type { StoredFlagEvent } from "../../model/event.ts";
import type { OutboxRow } from "../../model/tables.ts";

/*
 * Both event logs take the names of the sinks as the option `outbox: readonly string[]` (none by default). For every
 * event they store for the first time and keep, they write one entry per sink in the same transaction:
 *
 * - through the adapter: one row of `featureFlagOutbox` for each that `createOutboxRows(sinks)` gives;
 * - on PostgreSQL, in the statement that inserts the events, in their order:
 *     insert into halyard_flag_outbox (sink, event)
 *     select sink, event from … cross join unnest($sinks::text[]) as sink order by …
 *   where `event` is `outboxText(event)`.
 *
 * Nothing is written for duplicates, conflicts and events that were sampled out.
 */

/** The table on PostgreSQL; part of `featureFlagsPostgresMigration`. `position` is the order of insertion. */
export const POSTGRES_OUTBOX_SQL: string = `create table if not exists halyard_flag_outbox (
  sink text collate "C" not null,
  position bigint generated always as identity,
  event text not null,
  enqueued_at timestamptz not null default now(),
  primary key (sink, position)
);`;

export interface OutboxEntry {
  readonly entryId: string;
  /** As `outboxText` wrote it. */
  readonly event: string;
  /** Wall-clock time in ms. */
  readonly enqueuedAtMs: number;
}

/** The entries of all nodes. What is read stays until it is removed, so that a node that dies loses nothing. */
export interface Outbox {
  /** The oldest entries of a sink, in the order in which they were written. */
  peek(sink: string, max: number): Promise<readonly OutboxEntry[]>;
  remove(sink: string, entryIds: readonly string[]): Promise<void>;
  count(sink: string): Promise<number>;
  /** Removes, a bounded number at a time, entries of sinks other than these; says how many. */
  removeOthers(sinks: readonly string[], before: Date): Promise<number>;
}

/** The event as an entry carries it. */
export function outboxText(event: StoredFlagEvent): string {
  return JSON.stringify(event);
}

/** Makes the rows for events that are stored together, in the order in which sinks shall get them. */
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

/** Ids that sort by time and, from one maker, in the order of the calls. Hex and dashes, which all collations sort alike. */
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
