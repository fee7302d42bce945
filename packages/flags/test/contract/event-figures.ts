/** The contract of every event log for statistics: evaluations, exposures and events. */
import { expect, test } from "vitest";
import type { EvaluationCount, Exposure } from "../../src/store/events/event-log.ts";
import { DAY, DAY_MS, type EventLogTraits, entryOf, HOUR_MS, NOON } from "./event-host.ts";
import type { EventNodes } from "./events.ts";
import { fresh } from "./store-host.ts";

const HOUR = "2030-05-15T12:00:00.000Z";
const NEXT_HOUR = "2030-05-15T13:00:00.000Z";

const counted = (tenant: string, fields: Partial<EvaluationCount> = {}): EvaluationCount => ({
  tenant,
  flagKey: "flag",
  hour: HOUR,
  reason: "default",
  count: 1,
  ...fields,
});

const shown = (tenant: string, fields: Partial<Exposure> = {}): Exposure => ({
  tenant,
  flagKey: "flag",
  variant: "a",
  userId: "ann",
  atMs: NOON,
  ...fields,
});

export function describeFigures({ host, log }: EventNodes, { nodesThatWriteAtOnce }: EventLogTraits): void {
  test("evaluations are added up by reason and by hour", async () => {
    const tenant = fresh("tenant");
    await log().count([counted(tenant, { count: 3 }), counted(tenant, { reason: "rule_match", count: 2 })]);
    await log().count([
      counted(tenant, { count: 4 }),
      counted(tenant, { hour: NEXT_HOUR, reason: "override" }),
      counted(tenant, { reason: "percentage_rollout", count: 10 }),
      counted(tenant, { reason: "disabled", count: 100 }),
    ]);
    const { byReason, byHour } = await log().flagFigures(tenant, "flag", DAY);
    expect(Object.fromEntries(byReason)).toEqual({
      default: 7,
      rule_match: 2,
      override: 1,
      percentage_rollout: 10,
      disabled: 100,
    });
    expect(Object.fromEntries(byHour)).toEqual({ [HOUR]: 119, [NEXT_HOUR]: 1 });
  });

  test("counts of several processes at once lose nothing", async () => {
    const tenant = fresh("tenant");
    const second = nodesThatWriteAtOnce === 2 ? await host().open({ nowMs: () => NOON }) : log();
    const keys = ["a", "b", "c", "d"];
    await Promise.all(
      Array.from({ length: 10 }, (_, index) => {
        // In another order each time, as they come.
        const order = index % 2 === 0 ? keys : [...keys].reverse();
        const counts = order.map((flagKey) => counted(tenant, { flagKey, count: 5 }));
        return (index % 2 === 0 ? log() : second).count(counts);
      }),
    );
    const { byFlag, evaluations } = await log().usageFigures(tenant, DAY);
    expect(evaluations).toBe(200);
    expect(new Map(byFlag.map((flag) => [flag.flagKey, flag.evaluations]))).toEqual(
      new Map(keys.map((key) => [key, 50])),
    );
  });

  test("counts with an id are added once, even if several processes repeat them", async () => {
    const tenant = fresh("tenant");
    const second = nodesThatWriteAtOnce === 2 ? await host().open({ nowMs: () => NOON }) : log();
    const [one, other] = [crypto.randomUUID(), crypto.randomUUID()];
    await log().count([counted(tenant, { count: 3 })], one);
    const again = [log(), second, log(), second].map((node) => node.count([counted(tenant)], other));
    await Promise.all([...again, second.count([counted(tenant, { count: 3 })], one)]);
    expect((await log().usageFigures(tenant, DAY)).evaluations).toBe(4);
  });

  test("an exposure counts once per user, flag, variant and day", async () => {
    const tenant = fresh("tenant");
    await log().expose([shown(tenant), shown(tenant), shown(tenant, { atMs: NOON + HOUR_MS })]);
    await log().expose([
      shown(tenant),
      shown(tenant, { userId: "bob" }),
      shown(tenant, { variant: "b" }),
      shown(tenant, { flagKey: "other" }),
      shown(tenant, { atMs: NOON - DAY_MS + HOUR_MS }),
    ]);
    const { exposures, uniqueUsers } = await log().flagFigures(tenant, "flag", DAY);
    expect(Object.fromEntries(exposures)).toEqual({
      a: { exposures: 3, uniqueUsers: 2 },
      b: { exposures: 1, uniqueUsers: 1 },
    });
    expect(uniqueUsers).toBe(2);
  });

  test("concurrent calls with the same exposure store it once", async () => {
    const tenant = fresh("tenant");
    const second = nodesThatWriteAtOnce === 2 ? await host().open({ nowMs: () => NOON }) : log();
    const users = Array.from({ length: 20 }, (_, index) => shown(tenant, { userId: `user-${index}` }));
    await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        (index % 2 === 0 ? log() : second).expose(index % 3 === 0 ? users : [...users].reverse()),
      ),
    );
    const { exposures } = await log().flagFigures(tenant, "flag", DAY);
    expect(exposures.get("a")).toEqual({ exposures: 20, uniqueUsers: 20 });
  });

  test("users whose ids differ only in case are two, and so are flags", async () => {
    const tenant = fresh("tenant");
    await log().expose([shown(tenant, { userId: "ann" }), shown(tenant, { userId: "ANN" })]);
    await log().count([counted(tenant, { flagKey: "FLAG", count: 9 }), counted(tenant, { count: 2 })]);
    await log().record(entryOf({ tenant, flagKey: "FLAG" }));
    const figures = await log().flagFigures(tenant, "flag", DAY);
    expect(figures.uniqueUsers).toBe(2);
    expect(figures.byReason.get("default")).toBe(2);
    expect(figures.events.size).toBe(0);
  });

  test("events are counted by variant and name, in the hour of the event", async () => {
    const tenant = fresh("tenant");
    await log().record(entryOf({ tenant, variant: "a", value: 1 }));
    await log().record(entryOf({ tenant, variant: "a", value: 2 }));
    await log().record(entryOf({ tenant, variant: "a", event: "buy" }));
    await log().record(entryOf({ tenant, atMs: NOON - 40 * HOUR_MS, receivedAtMs: NOON }));
    const { events } = await log().flagFigures(tenant, "flag", DAY);
    expect(Object.fromEntries(events.get("a") ?? [])).toEqual({
      click: { count: 2, sum: 3, valued: 2 },
      buy: { count: 1, sum: 0, valued: 0 },
    });
    expect(events.has("")).toBe(false);
  });

  test("a window includes the hours that it overlaps, and its end is exclusive", async () => {
    const tenant = fresh("tenant");
    await log().count([counted(tenant), counted(tenant, { hour: NEXT_HOUR, count: 10 })]);
    const until = async (startMs: number, endMs: number) =>
      (await log().usageFigures(tenant, { startMs, endMs })).evaluations;
    const hourMs = Date.parse(HOUR);
    expect(await until(hourMs, hourMs + HOUR_MS)).toBe(1);
    expect(await until(hourMs + HOUR_MS, hourMs + 2 * HOUR_MS)).toBe(10);
    expect(await until(hourMs - HOUR_MS, hourMs)).toBe(0);
    expect(await until(hourMs, hourMs + HOUR_MS + 1)).toBe(11);
    expect(await until(hourMs + 1000, hourMs + HOUR_MS)).toBe(1);
  });

  test("summaries contain exactly the requested flags", async () => {
    const tenant = fresh("tenant");
    await log().count([
      counted(tenant, { flagKey: "a", count: 2 }),
      counted(tenant, { flagKey: "a", reason: "disabled", count: 3 }),
      counted(tenant, { flagKey: "b", count: 7 }),
      counted(fresh("another"), { flagKey: "a", count: 100 }),
    ]);
    await log().expose([
      shown(tenant, { flagKey: "a" }),
      shown(tenant, { flagKey: "a", variant: "b" }),
      shown(tenant, { flagKey: "a", userId: "bob" }),
    ]);
    const summaries = await log().summaries(tenant, ["a", "nothing"], DAY);
    expect(summaries.get("a")).toEqual({ evaluations: 5, uniqueUsers: 2 });
    expect(summaries.get("nothing") ?? { evaluations: 0, uniqueUsers: 0 }).toEqual({
      evaluations: 0,
      uniqueUsers: 0,
    });
    expect(summaries.has("b")).toBe(false);
    expect((await log().summaries(tenant, [], DAY)).size).toBe(0);
  });

  test("usage covers one tenant or all tenants", async () => {
    const [one, other] = [fresh("tenant"), fresh("tenant")];
    const past = Date.parse("2029-01-10T05:10:00.000Z");
    const hour = "2029-01-10T05:00:00.000Z";
    const window = { startMs: past - HOUR_MS, endMs: past + HOUR_MS };
    await log().count([counted(one, { hour, count: 2 }), counted(other, { hour, count: 5 })]);
    await log().record(entryOf({ tenant: one, atMs: past, sampleRate: 0.5 }));
    await log().record(entryOf({ tenant: other, atMs: past, flagKey: "unknown" }));
    const ofOne = await log().usageFigures(one, window);
    expect([ofOne.evaluations, ofOne.events]).toEqual([2, 2]);
    expect(ofOne.byFlag).toEqual([{ tenant: one, flagKey: "flag", evaluations: 2 }]);
    expect(Object.fromEntries(ofOne.byHour)).toEqual({ [hour]: 2 });
    const ofAll = await log().usageFigures("all", window);
    expect([ofAll.evaluations, ofAll.events]).toEqual([7, 3]);
    expect(ofAll.byFlag).toHaveLength(2);
  });
}
