/** The contract of a sink, and the check of a list of sinks. */
import type { StoredFlagEvent } from "../../../model/event.ts";

/** Describes one delivery attempt. */
export type EventSinkContext = {
  /** Attempt of this process to deliver these events, from 1. */
  readonly attempt: number;
  /** The same in every attempt for the same events. Use it to deduplicate. */
  readonly deliveryId: string;
};

/**
 * A destination for events. One process at a time delivers events in the order in which they were stored, at least once;
 * use the `id` of an event to deduplicate. If `deliver` rejects, the same events are retried with backoff for 48 hours.
 *
 * ```ts
 * import { type EventSink, featureFlags } from "@halyard/flags";
 *
 * declare const warehouse: { insert(table: string, rows: readonly object[], deduplicate: string): Promise<void> };
 * const sink: EventSink = {
 *   name: "warehouse",
 *   deliver: (events, { deliveryId }) => warehouse.insert("flag_events", events, deliveryId),
 * };
 * featureFlags({ events: { sinks: [sink] } });
 * ```
 */
export type EventSink = {
  /** Keep it across deploys: the outbox stores events under it. At most 64 letters, digits, `-` and `_`. */
  readonly name: string;
  /** Gets at most 500 events, about 1 MB of JSON. */
  deliver(events: readonly StoredFlagEvent[], context: EventSinkContext): Promise<void>;
};

const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Throws on invalid and duplicate names. */
export function checkSinks(sinks: readonly EventSink[]): void {
  const names = new Set<string>();
  for (const { name } of sinks) {
    if (!NAME.test(name)) {
      throw new TypeError(
        `The sink name ${JSON.stringify(name)} is invalid. Use 1 to 64 letters, digits, - and _.`,
      );
    }
    if (names.has(name))
      throw new TypeError(`Two sinks have the name "${name}". Give each sink a different name.`);
    names.add(name);
  }
}
