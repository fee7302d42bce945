/** The contract of every event log for recording. Each log runs this suite. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { EventLog, FlagFigures } from "../../src/store/events/event-log.ts";
import { describeExperiments } from "./event-experiments.ts";
import { describeFigures } from "./event-figures.ts";
import {
  answerOf,
  batchOf,
  DAY,
  type EventLogHost,
  type EventLogTraits,
  entryOf,
  flagOf,
  HOUR_MS,
  NOON,
  newDedupe,
} from "./event-host.ts";
import { describeRetention } from "./event-retention.ts";
import { fresh, refusalOf } from "./store-host.ts";

export function describeEventLog(
  name: string,
  openHost: () => Promise<EventLogHost>,
  traits: EventLogTraits,
): void {
  describe(`events ${name}`, () => {
    let host: EventLogHost;
    let log: EventLog;
    beforeAll(async () => {
      host = await openHost();
      log = await host.open({ nowMs: () => NOON });
    });
    afterAll(() => host?.close());
    const nodes = { host: () => host, log: () => log };
    describeRecording(nodes);
    describeIdempotency(nodes, traits);
    describeBatches(nodes, traits);
    describeQueue(nodes);
    describeFigures(nodes, traits);
    describeExperiments(nodes, traits);
    describeRetention(nodes);
  });
}

export interface EventNodes {
  host(): EventLogHost;
  log(): EventLog;
}

function clicksIn(figures: FlagFigures, variant = "", event = "click") {
  return figures.events.get(variant)?.get(event) ?? { count: 0, sum: 0, valued: 0, converters: 0 };
}

function describeRecording({ host, log }: EventNodes): void {
  test("an event is stored unchanged", async () => {
    const tenant = fresh("tenant");
    const entry = entryOf({
      tenant,
      flagKey: "Checkout_v2",
      event: "gekauft 🛒 'now'",
      value: -0.000_001_25,
      properties: { deep: [{ is: ["a", null, true, 1e21, ""] }], "": "\u0001 ü" },
      userId: "user-1",
      anonymousId: "visitor-1",
      organizationId: tenant,
      variant: "b",
      sampleRate: 0.3,
      idempotencyKey: "key 1",
      atMs: NOON - 47 * HOUR_MS,
      receivedAtMs: NOON,
    });
    expect(await log().record(entry)).toEqual({ outcome: "stored", eventId: entry.event.id });
    expect(await host().stored(tenant)).toEqual([entry.event]);
  });

  test("optional fields that are absent stay absent", async () => {
    const tenant = fresh("tenant");
    const entry = entryOf({ tenant });
    await log().record(entry);
    expect(await host().stored(tenant)).toEqual([entry.event]);
  });

  test("the figures have every event and the exact sum of the values", async () => {
    const tenant = fresh("tenant");
    await Promise.all(
      [0.1, 0.2, 2.5, -1, undefined].map((value) =>
        log().record(entryOf({ tenant, ...(value !== undefined && { value }) })),
      ),
    );
    expect(clicksIn(await log().flagFigures(flagOf(tenant), DAY))).toEqual({
      count: 5,
      sum: 1.8,
      valued: 4,
      converters: 0,
    });
  });

  test("a sampled event is weighted by its sample rate", async () => {
    const tenant = fresh("tenant");
    await log().record(entryOf({ tenant, sampleRate: 0.25, value: 3 }));
    await log().record(entryOf({ tenant, value: 1 }));
    expect(clicksIn(await log().flagFigures(flagOf(tenant), DAY))).toEqual({
      count: 5,
      sum: 13,
      valued: 5,
      converters: 0,
    });
  });

  test("an event that is sampled out is answered and stores nothing", async () => {
    const tenant = fresh("tenant");
    const entry = entryOf({ tenant, isKept: false });
    expect(await log().record(entry)).toEqual({ outcome: "stored", eventId: entry.event.id });
    expect(await host().stored(tenant)).toEqual([]);
    expect((await log().flagFigures(flagOf(tenant), DAY)).events.size).toBe(0);
  });

  test("the largest values are recorded, and do not affect later ones", async () => {
    const tenant = fresh("tenant");
    for (const value of [Number.MAX_VALUE, Number.MAX_VALUE, 1e15, 1]) {
      await log().record(entryOf({ tenant, value, sampleRate: 0.001 }));
    }
    const { count, sum } = clicksIn(await log().flagFigures(flagOf(tenant), DAY));
    expect(count).toBe(4000);
    expect(Number.isNaN(sum)).toBe(false);
    expect(await host().stored(tenant)).toHaveLength(4);
  });
}

function describeIdempotency({ host, log }: EventNodes, { nodesThatWriteAtOnce }: EventLogTraits): void {
  test("the same key with the same body returns the first answer and is counted once", async () => {
    const tenant = fresh("tenant");
    const dedupe = newDedupe();
    const first = entryOf({ tenant, dedupe });
    expect(await log().record(first)).toEqual({ outcome: "stored", eventId: first.event.id });
    expect(await log().record(entryOf({ tenant, dedupe }))).toEqual({
      outcome: "duplicate",
      eventId: first.event.id,
    });
    expect(await host().stored(tenant)).toEqual([first.event]);
    expect(clicksIn(await log().flagFigures(flagOf(tenant), DAY)).count).toBe(1);
  });

  test("the same key with another body is a conflict and stores nothing", async () => {
    const tenant = fresh("tenant");
    const dedupe = newDedupe();
    await log().record(entryOf({ tenant, dedupe }));
    const { outcome } = await log().record(entryOf({ tenant, dedupe: dedupe.again("another") }));
    expect(outcome).toBe("conflict");
    expect(await host().stored(tenant)).toHaveLength(1);
  });

  test("the key of an event that was sampled out is remembered", async () => {
    const tenant = fresh("tenant");
    const dedupe = newDedupe();
    const first = entryOf({ tenant, dedupe, isKept: false });
    await log().record(first);
    expect(await log().record(entryOf({ tenant, dedupe }))).toEqual({
      outcome: "duplicate",
      eventId: first.event.id,
    });
    expect(await host().stored(tenant)).toEqual([]);
  });

  test.each(nodesThatWriteAtOnce === 1 ? [1] : [1, 2])(
    "of 64 with one key at once, over %d processes, one is stored",
    async (processes) => {
      const tenant = fresh("tenant");
      const dedupe = newDedupe();
      const logs = [log(), ...(processes === 2 ? [await host().open({ nowMs: () => NOON })] : [])];
      const recorded = await Promise.all(
        Array.from({ length: 64 }, (_, index) =>
          logs[index % processes]?.record(entryOf({ tenant, dedupe })),
        ),
      );
      expect(new Set(recorded.map((one) => one?.eventId)).size).toBe(1);
      expect(recorded.filter((one) => one?.outcome === "stored")).toHaveLength(1);
      expect(recorded.filter((one) => one?.outcome === "duplicate")).toHaveLength(63);
      expect(await host().stored(tenant)).toHaveLength(1);
      expect(clicksIn(await log().flagFigures(flagOf(tenant), DAY)).count).toBe(1);
    },
  );

  test("of concurrent requests with two bodies per key, one body per key is stored", async () => {
    const tenant = fresh("tenant");
    const dedupes = Array.from({ length: 20 }, () => newDedupe());
    const requests = dedupes.flatMap((dedupe) => [
      dedupe,
      dedupe.again("another"),
      dedupe.again("body"),
      dedupe.again("another"),
    ]);
    const recorded = await Promise.all(requests.map((dedupe) => log().record(entryOf({ tenant, dedupe }))));
    const outcomes = recorded.map(({ outcome }) => outcome).sort();
    expect(outcomes).toEqual([
      ...Array(40).fill("conflict"),
      ...Array(20).fill("duplicate"),
      ...Array(20).fill("stored"),
    ]);
    expect(await host().stored(tenant)).toHaveLength(20);
  });

  test("a key is valid for 48 hours and can be used again afterwards", async () => {
    let nowMs = NOON;
    const own = await host().open({ nowMs: () => nowMs });
    const tenant = fresh("tenant");
    const dedupe = newDedupe();
    await own.record(entryOf({ tenant, dedupe }));
    nowMs = NOON + 48 * HOUR_MS - 1;
    expect((await own.record(entryOf({ tenant, dedupe }))).outcome).toBe("duplicate");
    nowMs = NOON + 48 * HOUR_MS;
    const next = entryOf({ tenant, dedupe: dedupe.again("another") });
    expect(await own.record(next)).toEqual({ outcome: "stored", eventId: next.event.id });
    nowMs += HOUR_MS;
    expect((await own.record(entryOf({ tenant, dedupe }))).outcome).toBe("conflict");
    expect(await host().stored(tenant)).toHaveLength(2);
  });
}

function describeBatches({ host, log }: EventNodes, { nodesThatWriteAtOnce }: EventLogTraits): void {
  test("a batch stores its events and counts items that failed validation", async () => {
    const tenant = fresh("tenant");
    const entries = [entryOf({ tenant }), entryOf({ tenant, isKept: false }), entryOf({ tenant })];
    const batch = batchOf(entries, { failed: 2 });
    const recorded = await log().recordBatch(batch);
    expect(recorded.outcome).toBe("stored");
    expect(answerOf(recorded)).toEqual({ success: 3, failed: 2, batchId: batch.batchId });
    expect(await host().stored(tenant)).toHaveLength(2);
  });

  test("a batch in which everything failed is answered", async () => {
    const batch = batchOf([], { failed: 3 });
    expect(answerOf(await log().recordBatch(batch))).toEqual({
      success: 0,
      failed: 3,
      batchId: batch.batchId,
    });
  });

  test("the same batch key returns the first answer and adds nothing; with another body it is a conflict", async () => {
    const tenant = fresh("tenant");
    const dedupe = newDedupe();
    const first = batchOf([entryOf({ tenant }), entryOf({ tenant })], { failed: 1, dedupe });
    const answer = answerOf(await log().recordBatch(first));
    const again = await log().recordBatch(batchOf([entryOf({ tenant })], { dedupe }));
    expect(again).toEqual({ outcome: "duplicate", answer });
    const other = batchOf([entryOf({ tenant })], { dedupe: dedupe.again("another") });
    expect(await log().recordBatch(other)).toEqual({ outcome: "conflict" });
    expect(await host().stored(tenant)).toHaveLength(2);
  });

  test("events of a batch share their keys with single ones: duplicates succeed, conflicts fail", async () => {
    const tenant = fresh("tenant");
    const used = newDedupe();
    const own = newDedupe();
    await log().record(entryOf({ tenant, dedupe: used }));
    const dedupes = [used, used.again("another"), own, own, own.again("another"), undefined];
    const batch = batchOf(dedupes.map((dedupe) => entryOf({ tenant, ...(dedupe && { dedupe }) })));
    expect(answerOf(await log().recordBatch(batch))).toEqual({
      success: 4,
      failed: 2,
      batchId: batch.batchId,
    });
    expect((await log().record(entryOf({ tenant, dedupe: own }))).outcome).toBe("duplicate");
    expect(await host().stored(tenant)).toHaveLength(3);
    expect(clicksIn(await log().flagFigures(flagOf(tenant), DAY)).count).toBe(3);
  });

  test("concurrent requests with the same batch record it once", async () => {
    const tenant = fresh("tenant");
    const dedupe = newDedupe();
    const keys = Array.from({ length: 5 }, () => newDedupe());
    const second = nodesThatWriteAtOnce === 2 ? await host().open({ nowMs: () => NOON }) : log();
    const answers = await Promise.all(
      Array.from({ length: 16 }, async (_, index) => {
        const entries = keys.map((key) => entryOf({ tenant, dedupe: key }));
        const batch = batchOf(entries, { dedupe, batchId: "the-batch" });
        return answerOf(await (index % 2 === 0 ? log() : second).recordBatch(batch));
      }),
    );
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]).toEqual({ success: 5, failed: 0, batchId: "the-batch" });
    expect(await host().stored(tenant)).toHaveLength(5);
  });

  test("a batch of 1,000 events is stored completely", async () => {
    const tenant = fresh("tenant");
    const entries = Array.from({ length: 1000 }, (_, index) => entryOf({ tenant, event: `e${index % 7}` }));
    expect(answerOf(await log().recordBatch(batchOf(entries))).success).toBe(1000);
    expect(await host().stored(tenant)).toHaveLength(1000);
    const named = (await log().flagFigures(flagOf(tenant), DAY)).events.get("");
    expect([...(named?.values() ?? [])].reduce((sum, { count }) => sum + count, 0)).toBe(1000);
  });
}

function describeQueue({ host, log }: EventNodes): void {
  test("requests that do not fit into the queue get 429, and accepted ones are stored", async () => {
    const tenant = fresh("tenant");
    const small = await host().open({ nowMs: () => NOON, maxQueued: 10 });
    const settled = await Promise.allSettled(
      Array.from({ length: 200 }, () => small.record(entryOf({ tenant }))),
    );
    const refused = settled.filter((one) => one.status === "rejected");
    expect(refused.length).toBeGreaterThan(0);
    for (const { reason } of refused) {
      const refusal = await refusalOf(Promise.reject(reason));
      expect([refusal.code, refusal.status]).toEqual(["RATE_LIMIT_EXCEEDED", 429]);
      expect(refusal.details).toEqual({ retryAfter: 1 });
    }
    expect(await host().stored(tenant)).toHaveLength(200 - refused.length);
    expect((await small.record(entryOf({ tenant }))).outcome).toBe("stored");
  });

  test("a batch larger than the queue is accepted while nothing else waits", async () => {
    const tenant = fresh("tenant");
    const small = await host().open({ nowMs: () => NOON, maxQueued: 10 });
    const batch = batchOf(Array.from({ length: 30 }, () => entryOf({ tenant })));
    expect(answerOf(await small.recordBatch(batch)).success).toBe(30);
  });

  test("close waits for accepted requests", async () => {
    const tenant = fresh("tenant");
    const own = await host().open({ nowMs: () => NOON });
    await own.record(entryOf({ tenant }));
    const recorded = Promise.all(Array.from({ length: 20 }, () => own.record(entryOf({ tenant }))));
    // Accepted is what has reached the queue, which takes a turn.
    await new Promise((resolve) => setTimeout(resolve, 0));
    await own.close();
    expect(await host().stored(tenant)).toHaveLength(21);
    await recorded;
  });

  test("the queue is empty when every request is answered", async () => {
    await Promise.all(Array.from({ length: 20 }, () => log().record(entryOf({ tenant: fresh("tenant") }))));
    expect(log().depth()).toBe(0);
  });
}
