/** Delivers the outbox of one sink in order, in the process that holds the lease, and retries failed batches. */
import { within } from "@halyard/base";
import { areRequestsIsolated } from "../../isolated-requests.ts";
import { repeat } from "../../wait.ts";
import { type DeliveryBatch, MAX_AGE_MS, MAX_EVENTS, makeBatch, retryDelayMs } from "./batch.ts";
import { LEASE_MS, type Lease } from "./lease.ts";
import type { Outbox, OutboxEntry } from "./outbox.ts";
import type { EventSink } from "./sink.ts";

/** The part of the metrics that is used. */
export interface DeliveryMeter {
  delivered(sink: string, outcome: "delivered" | "failed", events: number): void;
  lost(what: "sink-event", count: number): void;
  observe(name: string, help: string, read: () => number, labels: { readonly sink: string }): void;
}

export interface Delivery {
  /**
   * Delivers the waiting events if this process gets the lease, and returns their number. Releases the lease unless this
   * process held it before, because the process may end right after the call. Never rejects.
   */
  deliverOnce(): Promise<number>;
  isHolder(): boolean;
  close(): Promise<void>;
}

export interface DeliveryOptions {
  readonly outbox: Outbox;
  readonly lease: Lease;
  readonly meter: DeliveryMeter;
  readonly warn: (message: string, error: unknown) => void;
  readonly pollMs?: number | undefined;
  readonly nowMs?: (() => number) | undefined;
  readonly monotonicMs?: (() => number) | undefined;
}

const POLL_MS = 1000;
const HOLD_MS = LEASE_MS / 4;
/** Timeout of one delivery. */
const TIMEOUT_MS = 60_000;
/** Minimum interval between two counts of a long outbox. */
const COUNT_MS = 15_000;
/** The longest that `close` waits for a running delivery. The next holder of the lease repeats it. */
const CLOSE_WAIT_MS = 5000;

export function createDelivery(
  sink: EventSink,
  {
    outbox,
    lease,
    meter,
    warn,
    pollMs = POLL_MS,
    nowMs = Date.now,
    monotonicMs = () => performance.now(),
  }: DeliveryOptions,
): Delivery {
  const { name } = sink;
  const isolated = areRequestsIsolated();
  /** The batch that is being delivered, unchanged across retries. `hasArrived`: only its removal is left. */
  let current: { readonly batch: DeliveryBatch; hasArrived: boolean } | undefined;
  let failures = 0;
  let retryAtMs = Number.NEGATIVE_INFINITY;
  let hasWarned = false;
  let isClosed = false;
  let running: Promise<number> | undefined;
  let oldestAtMs: number | undefined;
  let backlog = Number.NaN;
  let countedAtMs = Number.NEGATIVE_INFINITY;
  let triedAtMs = Number.NEGATIVE_INFINITY;

  function warnOnce(message: string, error: unknown): void {
    if (!hasWarned) warn(`${message} (sink ${name})`, error);
    hasWarned = true;
  }

  async function peek(max: number): Promise<readonly OutboxEntry[]> {
    const entries = await outbox.peek(name, max);
    oldestAtMs = entries[0]?.enqueuedAtMs;
    return entries;
  }

  async function next(): Promise<DeliveryBatch | undefined> {
    const waiting = await peek(MAX_EVENTS);
    if (waiting.length < MAX_EVENTS) backlog = waiting.length;
    else if (monotonicMs() - countedAtMs >= COUNT_MS) {
      countedAtMs = monotonicMs();
      backlog = await outbox.count(name);
    }
    if (waiting.length === 0) return undefined;
    const { batch, deleted } = await makeBatch(name, waiting);
    if (deleted.length > 0) await drop(deleted);
    return batch.entries.length === 0 ? next() : batch;
  }

  async function drop(entryIds: readonly string[]): Promise<void> {
    await outbox.remove(name, entryIds);
    meter.lost("sink-event", entryIds.length);
  }

  /** Drops all entries that are too old, so that an unreachable sink does not fill the database. */
  async function dropOld(): Promise<void> {
    const limitMs = nowMs() - MAX_AGE_MS;
    if (oldestAtMs === undefined || oldestAtMs >= limitMs) return;
    current = undefined;
    for (;;) {
      const old = (await peek(MAX_EVENTS)).filter(({ enqueuedAtMs }) => enqueuedAtMs < limitMs);
      if (old.length === 0) return;
      await drop(old.map(({ entryId }) => entryId));
    }
  }

  async function attempt({ events, deliveryId }: DeliveryBatch): Promise<boolean> {
    const context = { attempt: failures + 1, deliveryId };
    try {
      const delivering = (async () => sink.deliver(events, context))();
      await within(delivering, TIMEOUT_MS, "The sink did not answer within 60 s.");
      failures = 0;
      hasWarned = false;
      meter.delivered(name, "delivered", events.length);
      return true;
    } catch (error) {
      failures += 1;
      retryAtMs = monotonicMs() + retryDelayMs(failures, Math.random());
      meter.delivered(name, "failed", events.length);
      warnOnce("Events cannot be delivered now. They are retried for 48 h.", error);
      return false;
    }
  }

  /** Delivers one batch. Undefined if there is nothing to do now. */
  async function step(): Promise<number | undefined> {
    if (current === undefined) {
      const batch = await next();
      if (batch === undefined) return undefined;
      current = { batch, hasArrived: false };
    }
    const { batch } = current;
    if (!current.hasArrived) {
      if (monotonicMs() < retryAtMs) return undefined;
      if (!(await attempt(batch))) {
        await dropOld();
        return undefined;
      }
      current.hasArrived = true;
    }
    await outbox.remove(
      name,
      batch.entries.map(({ entryId }) => entryId),
    );
    current = undefined;
    return batch.events.length;
  }

  async function run(): Promise<number> {
    let delivered = 0;
    triedAtMs = monotonicMs();
    try {
      if (!lease.isHeld() && !(await lease.hold())) {
        // Another process may have delivered the batch in the meantime.
        current = undefined;
        failures = 0;
        retryAtMs = Number.NEGATIVE_INFINITY;
        backlog = Number.NaN;
        await peek(1);
        return 0;
      }
      while (!isClosed && lease.isHeld()) {
        const count = await step();
        if (count === undefined) break;
        delivered += count;
      }
    } catch (error) {
      warnOnce("The outbox cannot be read now. Its events are kept.", error);
    }
    return delivered;
  }

  function deliver(): Promise<number> {
    if (isolated) return run();
    running ??= run().finally(() => {
      running = undefined;
    });
    return running;
  }

  /** A process without the lease tries to get it less often. */
  async function tick(): Promise<void> {
    if (lease.isHeld() || monotonicMs() - triedAtMs >= HOLD_MS) await deliver();
  }

  /** Renews the lease during a long delivery. */
  async function keep(): Promise<void> {
    if (!lease.isHeld()) return;
    await lease.hold().catch((error: unknown) => warnOnce("The lease of the sink cannot be renewed.", error));
  }

  const labels = { sink: name };
  const ageMs = () => (oldestAtMs === undefined ? 0 : Math.max(0, nowMs() - oldestAtMs));
  meter.observe(
    "sink_backlog_seconds",
    "Age of the oldest event that waits for a sink.",
    () => ageMs() / 1000,
    labels,
  );
  meter.observe(
    "sink_backlog_events",
    "Events that wait for a sink. Only the process that delivers reports it.",
    () => backlog,
    labels,
  );
  // Where requests are isolated, timers end with their request, possibly during a delivery.
  const timers = isolated ? [] : [repeat(pollMs, tick), repeat(HOLD_MS, keep)];

  async function deliverOnce(): Promise<number> {
    const wasHeld = lease.isHeld();
    const delivered = await deliver();
    if (!wasHeld)
      await lease
        .release()
        .catch((error: unknown) => warnOnce("The lease of the sink cannot be released.", error));
    return delivered;
  }

  return {
    deliverOnce,
    isHolder: () => lease.isHeld(),
    async close() {
      isClosed = true;
      for (const timer of timers) timer.stop();
      // If the release fails, the next process waits until the lease expires.
      await within(finish(), CLOSE_WAIT_MS, "The sink did not answer in time.").catch(() => undefined);
    },
  };

  async function finish(): Promise<void> {
    await running;
    await lease.release();
  }
}
