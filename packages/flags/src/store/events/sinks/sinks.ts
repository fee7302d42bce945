/** All sinks of a service: one delivery per sink, and the removal of entries for sinks that are no longer configured. */
import type { Adapter } from "../../rows/queries.ts";
import { repeat, sleep } from "../../wait.ts";
import { SWEEP_MS } from "../limits.ts";
import { MAX_AGE_MS } from "./batch.ts";
import { createDelivery, type Delivery, type DeliveryMeter } from "./delivery.ts";
import { createLease } from "./lease.ts";
import type { Outbox } from "./outbox.ts";
import type { EventSink } from "./sink.ts";

export interface Sinks {
  /** Delivers the waiting events now, and returns their number. */
  deliver(): Promise<number>;
  close(): Promise<void>;
}

export interface SinksOptions {
  readonly adapter: Adapter;
  readonly outbox: Outbox;
  readonly meter: DeliveryMeter;
  readonly warn: (message: string, error: unknown) => void;
  /** Interval at which the outbox is read. */
  readonly pollMs?: number | undefined;
  readonly nowMs?: (() => number) | undefined;
  readonly monotonicMs?: (() => number) | undefined;
}

/** Calls of `removeOthers` per sweep. */
const MAX_ROUNDS = 200;

export function createSinks(sinks: readonly EventSink[], options: SinksOptions): Sinks {
  const { adapter, outbox, meter, warn, nowMs = Date.now, monotonicMs } = options;
  const deliveries = sinks.map((sink): Delivery => {
    const lease = createLease(adapter, `sink:${sink.name}`, { nowMs, monotonicMs });
    return createDelivery(sink, { ...options, lease });
  });
  const names = sinks.map(({ name }) => name);

  /** Drops old entries of sinks that are no longer configured. */
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
      warn(
        "Events of sinks that are no longer configured cannot be deleted now. The next sweep retries.",
        error,
      );
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
