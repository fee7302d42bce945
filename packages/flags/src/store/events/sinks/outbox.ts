/**
 * The contract of the outbox, the table of events that wait for a sink. An event log writes one entry per sink, with the
 * event's id, in the transaction that stores the event. It writes none for a duplicate, a conflict or an event that was
 * sampled out.
 */
import type { StoredFlagEvent } from "../../../model/event.ts";

export interface OutboxEntry {
  readonly entryId: string;
  /** Undefined if the event has been deleted with its flag. */
  readonly event: StoredFlagEvent | undefined;
  /** Wall-clock time in ms. */
  readonly enqueuedAtMs: number;
}

/** The entries of all processes. An entry stays until it is removed, so that a process that dies loses nothing. */
export interface Outbox {
  /** The oldest entries of a sink, in the order of insertion. */
  peek(sink: string, max: number): Promise<readonly OutboxEntry[]>;
  remove(sink: string, entryIds: readonly string[]): Promise<void>;
  count(sink: string): Promise<number>;
  /** Removes some entries of sinks other than `sinks`, and returns their number. */
  removeOthers(sinks: readonly string[], before: Date): Promise<number>;
}
