/** Where events go onwards: what a sink is, and all sinks of a service at work. */
import type { StoredFlagEvent } from "../../model/event.ts";
import { createLease } from "../lease.ts";
import type { Adapter } from "../rows.ts";
import { repeat, sleep } from "../wait.ts";
import type { Outbox } from "./outbox.ts";
import { MAX_AGE_MS } from "./sink-batch.ts";
import { createDelivery, type Delivery, type DeliveryMeter } from "./sink-delivery.ts";

/** What is known of a delivery beside its events. */
export type EventSinkContext = {
  /** From 1; how often these events have been tried by this process. */
  readonly attempt: number;
  /** The same for the same events in every attempt: whoever has seen it has them. */
  readonly deliveryId: string;
};

/**
 * A place that events are exported to. Events are given to it in the order in which they were stored, by one process at
 * a time, at least once: each has an `id` by which a second one can be told. A rejection means that none has arrived;
 * the same events are then tried again, later and later, for 48 hours.
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
  /** Stays the same from one deploy to the next: events wait under it. Letters, digits, `-` and `_`, at most 64. */
  readonly name: string;
  /** At most 500 events, and about a megabyte. */
  deliver(events: readonly StoredFlagEvent[], context: EventSinkContext): Promise<void>;
};

export interface Sinks {
  /** Delivers what waits, now, and says how much that was. */
  deliver(): Promise<number>;
  close(): Promise<void>;
}

export interface SinksOptions {
  readonly adapter: Adapter;
  readonly outbox: Outbox;
  readonly meter: DeliveryMeter;
  readonly warn: (message: string, error: unknown) => void;
  /** How often the outbox is looked at. */
  readonly pollMs?: number | undefined;
  readonly nowMs?: (() => number) | undefined;
  readonly monotonicMs?: (() => number) | undefined;
}

const SWEEP_MS = 3_600_000;
/** Times that entries are removed in one sweep. */
const MAX_ROUNDS = 200;
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Refuses sinks that could not be told apart. */
export function checkSinks(sinks: readonly EventSink[]): void {
  const names = new Set<string>();
  for (const { name } of sinks) {
    if (!NAME.test(name)) {
      throw new TypeError(
        `A sink's name has 1 to 64 letters, digits, - and _; ${JSON.stringify(name)} has not.`,
      );
    }
    if (names.has(name)) throw new TypeError(`Two sinks are called ${name}. Give each a name of its own.`);
    names.add(name);
  }
}

export function createSinks(sinks: readonly EventSink[], options: SinksOptions): Sinks {
  const { adapter, outbox, meter, warn, nowMs = Date.now, monotonicMs } = options;
  const deliveries = sinks.map((sink): Delivery => {
    const lease = createLease(adapter, `sink:${sink.name}`, { nowMs, monotonicMs });
    return createDelivery(sink, { ...options, lease });
  });
  const names = sinks.map(({ name }) => name);

  /** What waits for a sink that is no longer there is given up like everything else. */
  async function sweep(): Promise<void> {
    if (deliveries[0]?.isHolder() !== true) return;
    try {
      const before = new Date(nowMs() - MAX_AGE_MS);
      for (let round = 0; round < MAX_ROUNDS; round++) {
        const removed = await outbox.removeOthers(names, before);
        if (removed === 0) return;
        meter.lost("sink-event", removed);
        await sleep(0);
      }
    } catch (error) {
      warn("Events for sinks that are no longer configured could not be removed.", error);
    }
  }
  const sweeping = sinks.length === 0 ? undefined : repeat(SWEEP_MS, sweep);

  return {
    async deliver() {
      const counts = await Promise.all(deliveries.map((delivery) => delivery.deliverOnce()));
      return counts.reduce((sum, count) => sum + count, 0);
    },
    async close() {
      sweeping?.stop();
      await Promise.all(deliveries.map((delivery) => delivery.close()));
    },
  };
}
