/** The contract of every event log for the statistics of evaluations, and for usage. */
import { expect, test } from "vitest";
import type { ActivityScope, EvaluationCount, Exposure } from "../../src/store/events/event-log.ts";
import { DAY, type EventLogTraits, entryOf, flagIdOf, flagOf, HOUR_MS, NOON } from "./event-host.ts";
import type { EventNodes } from "./events.ts";
import { fresh } from "./store-host.ts";

const HOUR = "2030-05-15T12:00:00.000Z";
const NEXT_HOUR = "2030-05-15T13:00:00.000Z";

const counted = (tenant: string, fields: Partial<EvaluationCount> = {}): EvaluationCount => ({
  tenant,
  flagId: flagIdOf(tenant),
  hour: HOUR,
  reason: "default",
  count: 1,
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
    const { byReason, byHour } = await log().flagFigures(flagOf(tenant), DAY);
    expect(Object.fromEntries(byReason)).toEqual({
      default: 7,
      rule_match: 2,
      override: 1,
      percentage_rollout: 10,
      disabled: 100,
    });
    expect(Object.fromEntries(byHour)).toEqual({ [HOUR]: 119, [NEXT_HOUR]: 1 });
  });

  test("evaluations by hour and reason are of one flag, of one tenant, or of all", async () => {
    const [tenant, other] = [fresh("tenant"), fresh("tenant")];
    await log().count([
      counted(tenant, { count: 3 }),
      counted(tenant, { flagId: flagIdOf(tenant, "b"), count: 4 }),
      counted(tenant, { hour: NEXT_HOUR, reason: "rule_match", count: 5 }),
      counted(other, { count: 100 }),
    ]);
    const sorted = async (about: ActivityScope) =>
      [...(await log().activity(about, DAY))].sort((a, b) => (a.hour < b.hour ? -1 : 1));
    expect(await sorted({ flagId: flagIdOf(tenant) })).toEqual([
      { hour: HOUR, reason: "default", count: 3 },
      { hour: NEXT_HOUR, reason: "rule_match", count: 5 },
    ]);
    expect(await sorted({ tenant })).toEqual([
      { hour: HOUR, reason: "default", count: 7 },
      { hour: NEXT_HOUR, reason: "rule_match", count: 5 },
    ]);
    const [first] = await sorted("all");
    expect(first?.count).toBeGreaterThanOrEqual(107);
  });

  test("evaluations of many flags by hour are of the requested flags of one tenant", async () => {
    const [tenant, other] = [fresh("tenant"), fresh("tenant")];
    const [a, b, unasked] = [flagIdOf(tenant), flagIdOf(tenant, "b"), flagIdOf(tenant, "unasked")];
    await log().count([
      counted(tenant, { count: 3 }),
      counted(tenant, { reason: "rule_match", count: 2 }),
      counted(tenant, { hour: NEXT_HOUR, count: 5 }),
      counted(tenant, { flagId: b, count: 7 }),
      counted(tenant, { flagId: unasked, count: 100 }),
      counted(other, { count: 100 }),
    ]);
    const found = await log().hourlyEvaluations(tenant, [a, b, flagIdOf(other), "none"], DAY);
    expect(new Map(Array.from(found, ([id, byHour]) => [id, Object.fromEntries(byHour)]))).toEqual(
      new Map<string, object>([
        [a, { [HOUR]: 5, [NEXT_HOUR]: 5 }],
        [b, { [HOUR]: 7 }],
      ]),
    );
    expect((await log().hourlyEvaluations(tenant, [], DAY)).size).toBe(0);
  });

  test("exposures by hour and arm count each user once per hour", async () => {
    const tenant = fresh("tenant");
    const shown = (userId: string, arm: string, atMs: number): Exposure => ({
      tenant,
      flagId: flagIdOf(tenant),
      arm,
      byChance: true,
      userId,
      subject: userId,
      firstMs: atMs,
      lastMs: atMs,
    });
    await log().expose([
      shown("ada", "a", NOON),
      shown("ada", "a", NOON + 1000),
      shown("bob", "a", NOON),
      shown("cleo", "b", NOON),
      shown("ada", "a", NOON + HOUR_MS),
    ]);
    await log().expose([{ ...shown("ada", "a", NOON), flagId: flagIdOf(tenant, "other") }]);
    const found = await log().armActivity(flagIdOf(tenant), DAY);
    expect(found.map(({ hour, arm, count }) => `${hour} ${arm} ${count}`).sort()).toEqual([
      `${HOUR} a 2`,
      `${HOUR} b 1`,
      `${NEXT_HOUR} a 1`,
    ]);
  });

  test("counts of several processes at once lose nothing", async () => {
    const tenant = fresh("tenant");
    const second = nodesThatWriteAtOnce === 2 ? await host().open({ nowMs: () => NOON }) : log();
    const keys = ["a", "b", "c", "d"];
    await Promise.all(
      Array.from({ length: 10 }, (_, index) => {
        // In another order each time, as they come.
        const order = index % 2 === 0 ? keys : [...keys].reverse();
        const counts = order.map((key) => counted(tenant, { flagId: flagIdOf(tenant, key), count: 5 }));
        return (index % 2 === 0 ? log() : second).count(counts);
      }),
    );
    const { byFlag, evaluations } = await log().usageFigures(tenant, DAY);
    expect(evaluations).toBe(200);
    expect(new Map(byFlag.map((flag) => [flag.flagId, flag.evaluations]))).toEqual(
      new Map(keys.map((key) => [flagIdOf(tenant, key), 50])),
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
    expect(ofOne.byFlag).toEqual([{ flagId: flagIdOf(one), evaluations: 2 }]);
    expect(Object.fromEntries(ofOne.byHour)).toEqual({ [hour]: 2 });
    const ofAll = await log().usageFigures("all", window);
    expect([ofAll.evaluations, ofAll.events]).toEqual([7, 3]);
    expect(ofAll.byFlag).toHaveLength(2);
  });

  test("every acknowledged event is counted once, whichever processes record and read", async () => {
    const tenant = fresh("tenant");
    const second = nodesThatWriteAtOnce === 2 ? await host().open({ nowMs: () => NOON }) : log();
    const nodes = [log(), second];
    for (let round = 1; round <= 5; round++) {
      const entries = Array.from({ length: 20 }, () => entryOf({ tenant }));
      await Promise.all(entries.map((entry, index) => nodes[index % 2]?.record(entry)));
      const usages = await Promise.all(nodes.map((node) => node.usageFigures(tenant, DAY)));
      for (const { events, asOfMs } of usages) expect([events, asOfMs]).toEqual([round * 20, NOON]);
    }
  });

  test("events of a process that died are counted by others", async () => {
    const tenant = fresh("tenant");
    const dying = await host().open({ nowMs: () => NOON });
    await dying.record(entryOf({ tenant }));
    await dying.close();
    expect((await log().usageFigures(tenant, DAY)).events).toBe(1);
  });
}
