/** One sink at work: what waits for it is delivered in order, by the node that holds the lease, until it has arrived. */
import { areRequestsIsolated } from "../isolated-requests.ts";
import { LEASE_MS, type Lease } from "../lease.ts";
import { repeat, within } from "../wait.ts";
import type { Outbox, OutboxEntry } from "./outbox.ts";
import type { EventSink } from "./sink.ts";
import { type DeliveryBatch, MAX_AGE_MS, MAX_EVENTS, makeBatch, retryDelayMs } from "./sink-batch.ts";

/** The part of the service's meter that is used. */
export interface DeliveryMeter {
  delivered(sink: string, outcome: "delivered" | "failed", events: number): void;
  lost(what: "sink-event", count: number): void;
  observe(name: string, help: string, read: () => number, labels: { readonly sink: string }): void;
}

export interface Delivery {
  /**
   * Delivers what waits, if it is this node's turn, and lets go of the turn unless it was this node's before: whoever
   * asks may be gone the moment it is answered. Says how many events have arrived. Never rejects.
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
/** A sink that has not answered by then has failed, whatever becomes of it. */
const TIMEOUT_MS = 60_000;
/** How often a long outbox is counted. */
const COUNT_MS = 15_000;
/** The longest a closing process waits for a delivery under way; the next holder repeats it. */
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
  /** What is being tried, the same until it has arrived; `hasArrived` when only its removal is left to do. */
  let current: { readonly batch: DeliveryBatch; hasArrived: boolean } | undefined;
  let failures = 0;
  let retryAtMs = Number.NEGATIVE_INFINITY;
  let isSaid = false;
  let isClosed = false;
  let running: Promise<number> | undefined;
  let oldestAtMs: number | undefined;
  let backlog = Number.NaN;
  let countedAtMs = Number.NEGATIVE_INFINITY;
  let askedAtMs = Number.NEGATIVE_INFINITY;

  function say(message: string, error: unknown): void {
    if (!isSaid) warn(`${message} (sink ${name})`, error);
    isSaid = true;
  }

  async function look(max: number): Promise<readonly OutboxEntry[]> {
    const entries = await outbox.peek(name, max);
    oldestAtMs = entries[0]?.enqueuedAtMs;
    return entries;
  }

  async function next(): Promise<DeliveryBatch | undefined> {
    const waiting = await look(MAX_EVENTS);
    if (waiting.length < MAX_EVENTS) backlog = waiting.length;
    else if (monotonicMs() - countedAtMs >= COUNT_MS) {
      countedAtMs = monotonicMs();
      backlog = await outbox.count(name);
    }
    if (waiting.length === 0) return undefined;
    const { batch, unreadable } = await makeBatch(name, waiting);
    if (unreadable.length > 0) await giveUp(unreadable);
    return batch.entries.length === 0 ? next() : batch;
  }

  async function giveUp(entryIds: readonly string[]): Promise<void> {
    await outbox.remove(name, entryIds);
    meter.lost("sink-event", entryIds.length);
  }

  /** All that is too old goes, not only what was tried: a sink that stays away must not fill the database. */
  async function giveUpOld(): Promise<void> {
    const limitMs = nowMs() - MAX_AGE_MS;
    if (oldestAtMs === undefined || oldestAtMs >= limitMs) return;
    current = undefined;
    for (;;) {
      const old = (await look(MAX_EVENTS)).filter(({ enqueuedAtMs }) => enqueuedAtMs < limitMs);
      if (old.length === 0) return;
      await giveUp(old.map(({ entryId }) => entryId));
    }
  }

  async function attempt({ events, deliveryId }: DeliveryBatch): Promise<boolean> {
    const context = { attempt: failures + 1, deliveryId };
    try {
      const delivering = (async () => sink.deliver(events, context))();
      await within(delivering, TIMEOUT_MS, "The sink did not answer within a minute.");
      failures = 0;
      isSaid = false;
      meter.delivered(name, "delivered", events.length);
      return true;
    } catch (error) {
      failures += 1;
      retryAtMs = monotonicMs() + retryDelayMs(failures, Math.random());
      meter.delivered(name, "failed", events.length);
      say("Events cannot be delivered now; they wait, and are tried again for 48 hours.", error);
      return false;
    }
  }

  /** Undefined when there is nothing more to do for now. */
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
        await giveUpOld();
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
    askedAtMs = monotonicMs();
    try {
      if (!lease.isHeld() && !(await lease.hold())) {
        // Another node may be further with these by now.
        current = undefined;
        failures = 0;
        retryAtMs = Number.NEGATIVE_INFINITY;
        backlog = Number.NaN;
        await look(1);
        return 0;
      }
      while (!isClosed && lease.isHeld()) {
        const count = await step();
        if (count === undefined) break;
        delivered += count;
      }
    } catch (error) {
      say("The events for a sink cannot be read; they wait.", error);
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

  /** Whoever has to wait for another node to be gone need not ask as often. */
  async function tick(): Promise<void> {
    if (lease.isHeld() || monotonicMs() - askedAtMs >= HOLD_MS) await deliver();
  }

  /** Keeps the lease while a delivery takes its time. */
  async function keep(): Promise<void> {
    if (!lease.isHeld()) return;
    await lease.hold().catch((error: unknown) => say("The lease of a sink cannot be kept.", error));
  }

  const labels = { sink: name };
  const ageMs = () => (oldestAtMs === undefined ? 0 : Math.max(0, nowMs() - oldestAtMs));
  meter.observe(
    "sink_backlog_seconds",
    "The age of the oldest event that waits for a sink.",
    () => ageMs() / 1000,
    labels,
  );
  meter.observe(
    "sink_backlog_events",
    "Events that wait for a sink; known to the node that delivers.",
    () => backlog,
    labels,
  );
  // Where requests are isolated the timers of one would end with it, in the middle of a delivery.
  const timers = isolated ? [] : [repeat(pollMs, tick), repeat(HOLD_MS, keep)];

  async function deliverOnce(): Promise<number> {
    const wasHeld = lease.isHeld();
    const delivered = await deliver();
    if (!wasHeld) await lease.release().catch((error: unknown) => say("A sink cannot be handed on.", error));
    return delivered;
  }

  return {
    deliverOnce,
    isHolder: () => lease.isHeld(),
    async close() {
      isClosed = true;
      for (const timer of timers) timer.stop();
      // Whatever goes wrong here, the next node waits for the lease to run out instead.
      await within(finish(), CLOSE_WAIT_MS, "The sink did not answer in time.").catch(() => undefined);
    },
  };

  async function finish(): Promise<void> {
    await running;
    await lease.release();
  }
}
