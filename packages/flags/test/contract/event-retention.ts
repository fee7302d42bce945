/** The contract of every event log for retention: it deletes expired rows and nothing else. */
import { expect, test } from "vitest";
import type { EvaluationCount } from "../../src/store/events/event-log.ts";
import { batchOf, DAY_MS, entryOf, flagIdOf, flagOf, HOUR_MS, NOON, newDedupe } from "./event-host.ts";
import type { EventNodes } from "./events.ts";
import { fresh } from "./store-host.ts";

export function describeRetention({ host }: EventNodes): void {
  test("a sweep deletes events, exposures, keys and roll-ups past their retention", async () => {
    let nowMs = NOON;
    const own = await host().open({ nowMs: () => nowMs, retentionDays: 30 });
    const tenant = fresh("tenant");
    const ages = [0, 29, 31, 399, 402];
    for (const days of ages) {
      const atMs = NOON - days * DAY_MS;
      const hour = new Date(atMs - (atMs % HOUR_MS)).toISOString();
      const flagId = flagIdOf(tenant);
      const count: EvaluationCount = { tenant, flagId, hour, reason: "default", count: 1 };
      await own.record(entryOf({ tenant, atMs, userId: `${days}` }));
      await own.count([count]);
      const subject = `${days}`;
      await own.expose([{ tenant, flagId, arm: "a", byChance: true, subject, firstMs: atMs, lastMs: atMs }]);
      await own.link([{ anonymousId: `${tenant}-${days}`, userId: subject, atMs }]);
      await own.record(entryOf({ tenant, anonymousId: `${tenant}-${days}`, event: "before" }));
    }
    const all = { startMs: NOON - 500 * DAY_MS, endMs: NOON + DAY_MS };
    await own.sweep(NOON);
    const stored = (await host().stored(tenant)).filter(({ event }) => event === "click");
    expect(stored.map(({ userId }) => userId)).toEqual(["29", "0"]);
    const figures = await own.flagFigures(flagOf(tenant), all);
    expect(figures.uniqueUsers).toBe(2);
    expect(figures.byReason.get("default")).toBe(4);
    expect(figures.events.get("a")?.get("click")?.count).toBe(2);
    expect((await own.usageFigures(tenant, all)).events).toBe(4 + ages.length);
    // An event prolongs the row of its subject, and links are kept as long as roll-ups: only the oldest visitor is unknown.
    expect(figures.events.get("a")?.get("before")).toMatchObject({ count: 4, converters: 4 });
    expect(figures.events.get("")?.get("before")).toMatchObject({ count: 1, converters: 0 });

    const keys = await host().keyCount();
    await own.record(entryOf({ tenant, dedupe: newDedupe() }));
    nowMs = NOON + HOUR_MS;
    await own.record(entryOf({ tenant, dedupe: newDedupe() }));
    expect(await host().keyCount()).toBe(keys + 2);
    // All keys of this suite but the last are older than 48 hours then.
    await own.sweep(NOON + 48 * HOUR_MS + 1);
    expect(await host().keyCount()).toBeLessThanOrEqual(keys + 1);
    await own.sweep(NOON + 100 * HOUR_MS);
    expect(await host().keyCount()).toBe(0);
  });

  test("a subject is kept until the retention after its last exposure or event", async () => {
    const own = await host().open({ nowMs: () => NOON, retentionDays: 30 });
    const tenant = fresh("tenant");
    const atMs = NOON - 40 * DAY_MS;
    const shown = { tenant, flagId: flagIdOf(tenant), arm: "a", byChance: true, firstMs: atMs, lastMs: atMs };
    await own.expose(["active", "idle"].map((subject) => ({ ...shown, subject })));
    await own.record(entryOf({ tenant, userId: "active", atMs: NOON - 10 * DAY_MS }));
    await own.sweep(NOON);
    for (const userId of ["active", "idle"]) await own.record(entryOf({ tenant, userId, event: "late" }));
    const { events } = await own.flagFigures(flagOf(tenant), {
      startMs: NOON - DAY_MS,
      endMs: NOON + DAY_MS,
    });
    expect(events.get("a")?.get("late")).toMatchObject({ count: 1, converters: 1 });
    expect(events.get("")?.get("late")).toMatchObject({ count: 1, converters: 1 });
  });

  test("a sweep deletes more rows than one chunk", async () => {
    const own = await host().open({ nowMs: () => NOON, retentionDays: 30 });
    const tenant = fresh("tenant");
    const atMs = NOON - 31 * DAY_MS;
    for (const length of [1000, 10]) {
      await own.recordBatch(batchOf(Array.from({ length }, () => entryOf({ tenant, atMs }))));
    }
    await own.record(entryOf({ tenant }));
    await own.sweep(NOON);
    expect(await host().stored(tenant)).toHaveLength(1);
  });
}
