/** The contract of sinks and the outbox on every database. */
import { uuidv7 } from "@halyard/base";
import { describe, expect, onTestFinished, test } from "vitest";
import type { StoredFlagEvent } from "../../src/model/event.ts";
import type { EventLog } from "../../src/store/events/event-log.ts";
import { LEASE_MS } from "../../src/store/events/sinks/lease.ts";
import type { Outbox } from "../../src/store/events/sinks/outbox.ts";
import type { EventSink } from "../../src/store/events/sinks/sink.ts";
import { createSinks, type Sinks } from "../../src/store/events/sinks/sinks.ts";
import type { Adapter } from "../../src/store/rows/queries.ts";
import { sha256 } from "../../src/store/sha256.ts";
import { fresh } from "./store-host.ts";

/** A process with its own connection and outbox. */
export interface SinkNode {
  readonly adapter: Adapter;
  readonly outbox: Outbox;
  /** Opens the event log of a service with these sinks. */
  log(sinks: readonly string[]): EventLog;
}

export interface SinkHost {
  another(): Promise<SinkNode>;
  /** Inserts an entry whose event does not exist. */
  orphan(sink: string): Promise<void>;
}

const HOUR_MS = 3_600_000;

interface Attempt {
  readonly ids: readonly string[];
  readonly attempt: number;
  readonly deliveryId: string;
}

interface TestNode {
  readonly sinks: Sinks;
  readonly clock: { monotonicMs: number; nowMs: number };
  readonly losses: number[];
  readonly warnings: string[];
  readonly gauges: Map<string, () => number>;
}

export function describeSinks(host: () => SinkHost): void {
  /** A sink that records its events, or fails on demand. */
  function createSink(name = fresh("sink")) {
    const attempts: Attempt[] = [];
    const arrived: string[] = [];
    const behaviour = { fails: false, gate: undefined as Promise<void> | undefined };
    const sink: EventSink = {
      name,
      async deliver(events, { attempt, deliveryId }) {
        attempts.push({ ids: events.map(({ id }) => id), attempt, deliveryId });
        await behaviour.gate;
        if (behaviour.fails) throw new Error("The warehouse is closed.");
        arrived.push(...events.map(({ id }) => id));
      },
    };
    return { sink, attempts, arrived, behaviour };
  }

  async function startNode(
    sinks: readonly EventSink[],
    // The tests say when.
    pollMs = HOUR_MS,
  ): Promise<TestNode & { node: SinkNode }> {
    const node = await host().another();
    const clock = { monotonicMs: 0, nowMs: Date.now() };
    const losses: number[] = [];
    const warnings: string[] = [];
    const gauges = new Map<string, () => number>();
    const started = createSinks(sinks, {
      adapter: node.adapter,
      outbox: node.outbox,
      meter: {
        delivered: () => undefined,
        lost: (_what, count) => losses.push(count),
        observe: (name, _help, read) => gauges.set(name, read),
      },
      warn: (message) => warnings.push(message),
      pollMs,
      nowMs: () => clock.nowMs,
      monotonicMs: () => clock.monotonicMs,
    });
    onTestFinished(() => started.close());
    return { sinks: started, clock, losses, warnings, gauges, node };
  }

  const storedEvent = (fields: Partial<StoredFlagEvent> = {}): StoredFlagEvent => {
    const at = new Date().toISOString();
    const id = uuidv7(Date.now());
    return { id, flagKey: "k", event: "clicked", at, receivedAt: at, sampleRate: 1, ...fields };
  };

  /** Stores events in consecutive batches, and returns their ids in that order. */
  async function store(log: EventLog, ...sizes: readonly number[]): Promise<string[]> {
    const ids: string[] = [];
    for (const size of sizes) {
      const events = Array.from({ length: size }, () => storedEvent());
      const entries = events.map((event) => ({ tenant: "t", event, isKept: true }));
      await log.recordBatch({ entries, failed: 0, batchId: uuidv7(Date.now()) });
      ids.push(...events.map(({ id }) => id));
    }
    return ids;
  }

  async function open(sink: EventSink, pollMs?: number) {
    const started = await startNode([sink], pollMs);
    const log = started.node.log([sink.name]);
    onTestFinished(() => log.close());
    return { ...started, log };
  }

  describe("events for a sink", () => {
    test("are delivered once each, in the order of storage, at most 500 at a time", async () => {
      const { sink, attempts, arrived } = createSink();
      const { sinks, log } = await open(sink);
      const ids = await store(log, 1, 700, 1, 2);
      expect(await sinks.deliver()).toBe(704);
      expect(arrived).toEqual(ids);
      expect(attempts.map(({ ids: { length } }) => length)).toEqual([500, 204]);
      expect(await sinks.deliver()).toBe(0);
      expect(attempts).toHaveLength(2);
    });

    test("have every stored field", async () => {
      const { sink } = createSink();
      const got: StoredFlagEvent[] = [];
      const { sinks, log } = await open({
        ...sink,
        deliver: async (events) => {
          got.push(...events);
        },
      });
      const event = storedEvent({
        value: 1.5,
        properties: { "q'\"\\": ["\u2028", null, { deep: true }] },
        userId: "zoë",
        organizationId: "o",
        variant: "b",
        sampleRate: 0.25,
        idempotencyKey: "key",
      });
      await log.record({ tenant: "t", event, isKept: true });
      await sinks.deliver();
      expect(got).toEqual([event]);
    });

    test("are only those that were stored: no duplicate, no conflict, nothing that was sampled out", async () => {
      const { sink, arrived } = createSink();
      const { sinks, log } = await open(sink);
      const [first, out] = [storedEvent(), storedEvent()];
      const dedupe = { keyHash: await sha256(fresh("key")), bodyHash: await sha256("body") };
      const conflict = { ...dedupe, bodyHash: await sha256("another body") };
      await log.record({ tenant: "t", event: first, isKept: true, dedupe });
      await log.record({ tenant: "t", event: storedEvent(), isKept: true, dedupe });
      await log.record({ tenant: "t", event: storedEvent(), isKept: true, dedupe: conflict });
      await log.record({ tenant: "t", event: out, isKept: false });
      await sinks.deliver();
      expect(arrived).toEqual([first.id]);
    });

    test("reach every sink, and a failing sink does not delay another", async () => {
      const [good, bad] = [createSink(), createSink()];
      bad.behaviour.fails = true;
      const { sinks, node, clock } = await startNode([bad.sink, good.sink]);
      const log = node.log([bad.sink.name, good.sink.name]);
      onTestFinished(() => log.close());
      const ids = await store(log, 3);
      await sinks.deliver();
      expect(good.arrived).toEqual(ids);
      bad.behaviour.fails = false;
      clock.monotonicMs += HOUR_MS;
      await sinks.deliver();
      expect([good.arrived, bad.arrived]).toEqual([ids, ids]);
    });

    test("that failed are retried under the same id, with growing delays, before later events", async () => {
      const { sink, attempts, arrived, behaviour } = createSink();
      behaviour.fails = true;
      const { sinks, log, clock, warnings } = await open(sink);
      const first = await store(log, 2);
      await sinks.deliver();
      const second = await store(log, 1);
      await sinks.deliver();
      expect(attempts).toHaveLength(1);
      clock.monotonicMs += 1000;
      await sinks.deliver();
      expect(attempts).toHaveLength(2);
      clock.monotonicMs += 999;
      await sinks.deliver();
      expect(attempts).toHaveLength(2);
      behaviour.fails = false;
      clock.monotonicMs += 1001;
      await sinks.deliver();
      expect(arrived).toEqual([...first, ...second]);
      const tries = attempts.slice(0, 3);
      expect(tries.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
      expect(new Set(tries.map(({ deliveryId }) => deliveryId)).size).toBe(1);
      expect(attempts[3]?.deliveryId).not.toBe(tries[0]?.deliveryId);
      expect(warnings).toHaveLength(1);
    });

    test("are delivered by one process at a time, and by the next one after the first is closed", async () => {
      const { sink, arrived } = createSink();
      const first = await open(sink, 5);
      const ids = await store(first.log, 1);
      await expect.poll(() => arrived, { timeout: 10_000 }).toEqual(ids);
      const second = await open(sink);
      ids.push(...(await store(second.log, 2)));
      // It is the first one's turn for as long as it lives.
      expect(await second.sinks.deliver()).toBe(0);
      await expect.poll(() => arrived, { timeout: 10_000 }).toEqual(ids);
      await first.sinks.close();
      ids.push(...(await store(second.log, 1)));
      expect(await second.sinks.deliver()).toBe(1);
      expect(arrived).toEqual(ids);
    });

    test("are delivered by processes that end after one call", async () => {
      const { sink, arrived } = createSink();
      const ids: string[] = [];
      for (let call = 0; call < 3; call++) {
        const { sinks, log } = await open(sink);
        ids.push(...(await store(log, 2)));
        expect(await sinks.deliver()).toBe(2);
      }
      expect(arrived).toEqual(ids);
    });

    test("are taken over after five minutes by a process that never saw the dead one alive", async () => {
      const { sink, attempts, behaviour } = createSink();
      const { promise, resolve } = Promise.withResolvers<void>();
      const first = await open(sink);
      await store(first.log, 3);
      behaviour.gate = promise;
      const dying = first.sinks.deliver();
      await expect.poll(() => attempts.length, { timeout: 10_000 }).toBe(1);
      behaviour.gate = undefined;
      const early = await open(sink);
      early.clock.nowMs += 200_000;
      expect(await early.sinks.deliver()).toBe(0);
      const late = await open(sink);
      late.clock.nowMs += 400_000;
      expect(await late.sinks.deliver()).toBe(3);
      resolve();
      await dying;
    });

    test("are taken over from a dead process, and its last batch is delivered again under the same id", async () => {
      const { sink, attempts, behaviour } = createSink();
      const { promise, resolve } = Promise.withResolvers<void>();
      const first = await open(sink);
      const ids = await store(first.log, 3);
      behaviour.gate = promise;
      // The process sends the batch and gets no response, as if it had been killed there.
      const dying = first.sinks.deliver();
      await expect.poll(() => attempts.length, { timeout: 10_000 }).toBe(1);
      const second = await open(sink);
      expect(await second.sinks.deliver()).toBe(0);
      second.clock.monotonicMs += LEASE_MS - 1;
      expect(await second.sinks.deliver()).toBe(0);
      second.clock.monotonicMs += 1;
      behaviour.gate = undefined;
      expect(await second.sinks.deliver()).toBe(3);
      expect(attempts.map(({ ids: sent }) => sent)).toEqual([ids, ids]);
      expect(attempts[1]?.deliveryId).toBe(attempts[0]?.deliveryId);
      resolve();
      await dying;
    });

    test("that could not be delivered for 48 hours are dropped and counted; younger ones are kept", async () => {
      const { sink, attempts, arrived, behaviour } = createSink();
      behaviour.fails = true;
      const { sinks, log, clock, losses, gauges } = await open(sink);
      await store(log, 700);
      await sinks.deliver();
      expect(losses).toEqual([]);
      clock.nowMs += 47 * HOUR_MS;
      clock.monotonicMs += HOUR_MS;
      await sinks.deliver();
      expect([attempts.length, losses]).toEqual([2, []]);
      expect(gauges.get("sink_backlog_seconds")?.()).toBeGreaterThan(46 * 3600);
      expect(gauges.get("sink_backlog_events")?.()).toBe(700);
      clock.nowMs += 2 * HOUR_MS;
      clock.monotonicMs += HOUR_MS;
      await sinks.deliver();
      expect(losses).toEqual([500, 200]);
      behaviour.fails = false;
      clock.monotonicMs += HOUR_MS;
      expect(await sinks.deliver()).toBe(0);
      expect(arrived).toEqual([]);
      expect(gauges.get("sink_backlog_events")?.()).toBe(0);
    });

    test("are dropped and counted when their flag is deleted", async () => {
      const { sink, arrived } = createSink();
      const { sinks, log, losses } = await open(sink);
      const flagId = fresh("flag");
      for (const entry of [{ flagId }, { flagId }, {}]) {
        await log.record({ tenant: "t", event: storedEvent(), isKept: true, ...entry });
      }
      await log.forget(flagId);
      expect(await sinks.deliver()).toBe(1);
      expect([arrived.length, losses]).toEqual([1, [2]]);
    });

    test("are kept beyond their retention until the sink has them", async () => {
      const { sink, arrived } = createSink();
      const { sinks, log } = await open(sink);
      const ids = await store(log, 3);
      await log.sweep(Date.now() + 100 * 24 * HOUR_MS);
      expect(await sinks.deliver()).toBe(3);
      expect(arrived).toEqual(ids);
    });

    test("are not blocked by an entry whose event is gone, which is counted as lost", async () => {
      const { sink, arrived } = createSink();
      const { sinks, log, losses } = await open(sink);
      await host().orphan(sink.name);
      const ids = await store(log, 2);
      expect(await sinks.deliver()).toBe(2);
      expect([arrived, losses]).toEqual([ids, [1]]);
    });
  });
}
