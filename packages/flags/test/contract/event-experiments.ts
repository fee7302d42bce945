/** The contract of every event log for experiments: exposures by arm, and the arm that an event is credited to. */
import { expect, test } from "vitest";
import type { ArmFigures, Exposure } from "../../src/store/events/event-log.ts";
import {
  DAY,
  DAY_MS,
  type EntryFields,
  type EventLogTraits,
  entryOf,
  flagIdOf,
  flagOf,
  HOUR_MS,
  NOON,
} from "./event-host.ts";
import type { EventNodes } from "./events.ts";
import { fresh } from "./store-host.ts";

const MINUTE_MS = 60_000;

const shown = (tenant: string, fields: Partial<Exposure> & { atMs?: number } = {}): Exposure => {
  const { atMs = NOON, ...others } = fields;
  return {
    tenant,
    flagId: flagIdOf(tenant),
    arm: "a",
    byChance: true,
    subject: "ann",
    userId: others.subject ?? "ann",
    firstMs: atMs,
    lastMs: atMs,
    ...others,
  };
};

/** The figures by arm as plain objects: exposures and users, then by event name count and converters. */
function plain({ exposures, events }: ArmFigures) {
  const arms = new Set([...exposures.keys(), ...events.keys()]);
  return Object.fromEntries(
    Array.from(arms, (arm) => [
      arm,
      [
        exposures.get(arm)?.exposures ?? 0,
        exposures.get(arm)?.uniqueUsers ?? 0,
        Object.fromEntries(
          Array.from(events.get(arm) ?? [], ([name, { count, converters }]) => [name, [count, converters]]),
        ),
      ],
    ]),
  );
}

export function describeExperiments(
  { host, log }: EventNodes,
  { nodesThatWriteAtOnce }: EventLogTraits,
): void {
  const record = async (...events: EntryFields[]) => {
    for (const event of events) await log().record(entryOf(event));
  };

  test("an exposure counts once per user, flag, arm and day", async () => {
    const tenant = fresh("tenant");
    await log().expose([shown(tenant), shown(tenant), shown(tenant, { atMs: NOON + HOUR_MS })]);
    await log().expose([
      shown(tenant),
      shown(tenant, { subject: "bob" }),
      shown(tenant, { arm: "b" }),
      shown(tenant, { flagId: flagIdOf(tenant, "other") }),
      shown(tenant, { atMs: NOON - DAY_MS + HOUR_MS }),
    ]);
    const figures = await log().flagFigures(flagOf(tenant), DAY);
    expect(plain(figures)).toEqual({ a: [3, 2, {}], b: [1, 1, {}] });
    expect(figures.uniqueUsers).toBe(2);
  });

  test("concurrent calls with the same exposure store it once, with its first and its last time", async () => {
    const tenant = fresh("tenant");
    const second = nodesThatWriteAtOnce === 2 ? await host().open({ nowMs: () => NOON }) : log();
    const users = (atMs: number) =>
      Array.from({ length: 20 }, (_, index) => shown(tenant, { subject: `user-${index}`, atMs }));
    await Promise.all(
      Array.from({ length: 8 }, (_, index) => {
        const some = users(NOON + index * MINUTE_MS);
        return (index % 2 === 0 ? log() : second).expose(index % 3 === 0 ? some : some.reverse());
      }),
    );
    const between = async (startMs: number, endMs: number) =>
      (await log().flagFigures(flagOf(tenant), { startMs, endMs })).uniqueUsers;
    expect(plain(await log().flagFigures(flagOf(tenant), DAY))).toEqual({ a: [20, 20, {}] });
    expect(await between(NOON - DAY_MS, NOON)).toBe(0);
    expect(await between(NOON - DAY_MS, NOON + 1)).toBe(20);
    expect(await between(NOON + 7 * MINUTE_MS, NOON + DAY_MS)).toBe(20);
    expect(await between(NOON + 7 * MINUTE_MS + 1, NOON + DAY_MS)).toBe(0);
  });

  test("unique users and converters are those of exactly the window", async () => {
    const tenant = fresh("tenant");
    const morning = NOON - 12 * HOUR_MS + 5 * MINUTE_MS;
    for (const subject of ["ann", "bob"]) {
      await log().expose([shown(tenant, { subject, atMs: morning })]);
      await log().expose([shown(tenant, { subject, atMs: NOON + 11 * HOUR_MS })]);
    }
    await log().expose([shown(tenant, { subject: "cid", atMs: NOON + 11 * HOUR_MS })]);
    await record(
      { tenant, userId: "ann", atMs: morning },
      { tenant, userId: "bob", atMs: NOON + 11 * HOUR_MS },
    );
    const arm = async (startMs: number, endMs: number) =>
      plain(await log().flagFigures(flagOf(tenant), { startMs, endMs }))["a"];
    expect(await arm(NOON - DAY_MS, NOON + DAY_MS)).toEqual([3, 3, { click: [2, 2] }]);
    expect(await arm(NOON, NOON + DAY_MS)).toEqual([3, 3, { click: [1, 1] }]);
    expect(await arm(NOON - DAY_MS, NOON)).toEqual([2, 2, { click: [1, 1] }]);
    expect(await arm(morning, morning + 1)).toEqual([2, 2, { click: [1, 1] }]);
    expect(await arm(morning + 1, NOON)).toBeUndefined();
    expect(await arm(NOON + 11 * HOUR_MS + 1, NOON + 12 * HOUR_MS)).toBeUndefined();
  });

  test("an event is credited to the subject's first exposure ever, and to none without one", async () => {
    const tenant = fresh("tenant");
    await log().expose([
      shown(tenant, { subject: "ann", arm: "b", atMs: NOON + HOUR_MS }),
      shown(tenant, { subject: "ann", arm: "a" }),
      shown(tenant, { subject: "bob", arm: "b" }),
    ]);
    await record(
      { tenant, userId: "ann", variant: "b" },
      { tenant, userId: "ann", atMs: NOON + 2 * HOUR_MS, receivedAtMs: NOON + 40 * HOUR_MS },
      { tenant, userId: "bob", event: "buy" },
      { tenant, userId: "stranger" },
      { tenant, userId: "stranger" },
      { tenant },
    );
    const figures = await log().flagFigures(flagOf(tenant), DAY);
    expect(plain(figures)).toEqual({
      a: [1, 1, { click: [2, 1] }],
      b: [2, 2, { buy: [1, 1] }],
      "": [0, 0, { click: [3, 1] }],
    });
    const later = { startMs: NOON + HOUR_MS, endMs: NOON + DAY_MS };
    expect(plain(await log().flagFigures(flagOf(tenant), later))).toEqual({
      a: [0, 0, { click: [1, 1] }],
      b: [1, 1, {}],
    });
  });

  test("the order in which exposures and events are reported has no effect on the credit", async () => {
    const reports = (tenant: string) => [
      () => log().expose([shown(tenant, { subject: "ann", arm: "b", atMs: NOON + HOUR_MS })]),
      () => log().expose([shown(tenant, { subject: "ann", arm: "a" })]),
      () => log().expose([shown(tenant, { subject: "ann", arm: "c", byChance: false })]),
      () => record({ tenant, userId: "ann" }),
    ];
    for (const order of [
      [0, 1, 2, 3],
      [3, 0, 2, 1],
      [2, 3, 1, 0],
      [1, 0, 3, 2],
    ]) {
      const tenant = fresh("tenant");
      for (const index of order) await reports(tenant)[index]?.();
      const { events, excluded } = await log().flagFigures(flagOf(tenant), DAY);
      expect([...events.keys(), ...excluded.events.keys()]).toEqual(["a"]);
    }
  });

  test("an event is credited within its own environment, and figures of one environment have only its own", async () => {
    const tenant = fresh("tenant");
    const both = { subject: "ann", userId: "ann" };
    await log().expose([
      shown(tenant, { ...both, arm: "a", environment: "staging" }),
      shown(tenant, { ...both, arm: "b", environment: "production", atMs: NOON + 1 }),
    ]);
    await record(
      { tenant, userId: "ann", environment: "staging" },
      { tenant, userId: "ann", environment: "production", event: "buy" },
      { tenant, userId: "ann" },
    );
    const figuresOf = async (environment?: string) =>
      plain(await log().flagFigures({ ...flagOf(tenant), environment }, DAY));
    expect(await figuresOf()).toEqual({
      a: [1, 1, { click: [1, 1] }],
      b: [1, 1, { buy: [1, 1] }],
      "": [0, 0, { click: [1, 1] }],
    });
    expect(await figuresOf("staging")).toEqual({ a: [1, 1, { click: [1, 1] }] });
    expect(await figuresOf("production")).toEqual({ b: [1, 1, { buy: [1, 1] }] });
  });

  test("users who did not get their arm by chance are apart, with their events", async () => {
    const tenant = fresh("tenant");
    await log().expose([
      shown(tenant, { subject: "ann" }),
      shown(tenant, { subject: "qa", byChance: false }),
      // First by an override, then by chance.
      shown(tenant, { subject: "both", byChance: false, arm: "b", atMs: NOON - HOUR_MS }),
      shown(tenant, { subject: "both" }),
      // First by an admin who acted as the user, which is not the user's exposure, then by chance.
      shown(tenant, { subject: "", userId: "eve", byChance: false, arm: "b", atMs: NOON - HOUR_MS }),
      shown(tenant, { subject: "eve" }),
      shown(tenant, { subject: "", userId: "fay", byChance: false, arm: "b" }),
    ]);
    for (const userId of ["ann", "qa", "both", "eve", "fay"]) await record({ tenant, userId });
    const figures = await log().flagFigures(flagOf(tenant), DAY);
    expect(plain(figures)).toEqual({ a: [3, 3, { click: [2, 2] }], "": [0, 0, { click: [1, 1] }] });
    expect(plain(figures.excluded)).toEqual({
      a: [1, 1, { click: [1, 1] }],
      b: [3, 3, { click: [1, 1] }],
    });
    expect(figures.uniqueUsers).toBe(5);
  });

  test("a link resolves only events that lack the unit's id, and the first link wins", async () => {
    const tenant = fresh("tenant");
    const [laptop, phone] = [`${tenant}-laptop`, `${tenant}-phone`];
    const user = `${tenant}-ann`;
    await log().link([{ anonymousId: laptop, userId: user, atMs: NOON }]);
    await log().link([
      { anonymousId: laptop, userId: "another", atMs: NOON - 1 },
      { anonymousId: phone, userId: user, atMs: NOON + 1 },
    ]);
    await log().expose([
      shown(tenant, { subject: user }),
      shown(tenant, { subject: "another", arm: "b" }),
      shown(tenant, { subject: undefined, userId: undefined, anonymousId: laptop, byChance: false }),
    ]);
    await record(
      { tenant, anonymousId: laptop, event: "before" },
      { tenant, userId: "another", anonymousId: laptop },
      { tenant, anonymousId: "unknown" },
      // A sender who cannot be a subject.
      { tenant, subject: "", anonymousId: laptop },
    );
    const figures = await log().flagFigures(flagOf(tenant), DAY);
    expect(plain(figures)).toEqual({
      a: [1, 1, { before: [1, 1] }],
      b: [1, 1, { click: [1, 1] }],
      "": [0, 0, { click: [2, 0] }],
    });
    // The visitor before the sign-in and the user after it are one.
    expect([figures.uniqueUsers, plain(figures.excluded)]).toEqual([2, { a: [1, 1, {}] }]);
  });

  test("with the unit anonymousId, an event with a user only is credited to the user's first browser", async () => {
    const tenant = fresh("tenant");
    const [laptop, phone] = [`${tenant}-laptop`, `${tenant}-phone`];
    const user = `${tenant}-ann`;
    await log().link([
      { anonymousId: phone, userId: user, atMs: NOON + 1 },
      { anonymousId: laptop, userId: user, atMs: NOON },
    ]);
    await log().expose([
      shown(tenant, { subject: laptop, userId: undefined, anonymousId: laptop, arm: "b" }),
      shown(tenant, { subject: phone, userId: user, anonymousId: phone }),
    ]);
    const { flagId } = entryOf({ tenant });
    await log().record({ ...entryOf({ tenant, userId: user }), subject: undefined });
    await record({ tenant, subject: phone, userId: user, anonymousId: phone });
    const figures = await log().flagFigures({ id: flagId ?? "", unit: "anonymousId" }, DAY);
    expect(plain(figures)).toEqual({ a: [1, 1, { click: [1, 1] }], b: [1, 1, { click: [1, 1] }] });
  });

  test("users whose ids differ only in case are two, and so are flags", async () => {
    const tenant = fresh("tenant");
    await log().expose([shown(tenant, { subject: "ann" }), shown(tenant, { subject: "ANN", arm: "b" })]);
    await record({ tenant, flagKey: "FLAG" }, { tenant, userId: "ANN" });
    const figures = await log().flagFigures(flagOf(tenant), DAY);
    expect(plain(figures)).toEqual({ a: [1, 1, {}], b: [1, 1, { click: [1, 1] }] });
  });

  test("summaries contain exactly the requested flags", async () => {
    const tenant = fresh("tenant");
    const [a, b, none] = ["a", "b", "none"].map((key) => flagIdOf(tenant, key));
    if (a === undefined || b === undefined || none === undefined) throw new Error("There are three flags.");
    const hour = "2030-05-15T12:00:00.000Z";
    await log().count([
      { tenant, flagId: a, hour, reason: "default", count: 2 },
      { tenant, flagId: a, hour, reason: "disabled", count: 3 },
      { tenant, flagId: b, hour, reason: "default", count: 7 },
    ]);
    await log().expose([
      shown(tenant, { flagId: a }),
      shown(tenant, { flagId: a, arm: "b" }),
      shown(tenant, { flagId: a, subject: "bob", byChance: false }),
      shown(tenant, { flagId: b }),
    ]);
    const summaries = await log().summaries(
      [
        { id: a, unit: "userId" },
        { id: none, unit: "other" },
      ],
      DAY,
    );
    expect(summaries.get(a)).toEqual({ evaluations: 5, uniqueUsers: 2 });
    expect(summaries.get(none)).toEqual({ evaluations: 0, uniqueUsers: 0 });
    expect(summaries.has(b)).toBe(false);
    expect((await log().summaries([], DAY)).size).toBe(0);
  });

  test("forgetting a flag deletes its events, exposures and counts, and no other flag's", async () => {
    const tenant = fresh("tenant");
    const [gone, kept] = [flagIdOf(tenant, "gone"), flagIdOf(tenant, "kept")];
    for (const flagId of [gone, kept]) {
      await log().count([{ tenant, flagId, hour: "2030-05-15T12:00:00.000Z", reason: "default", count: 1 }]);
      await log().expose([shown(tenant, { flagId })]);
    }
    await record({ tenant, flagKey: "gone", userId: "ann" }, { tenant, flagKey: "kept", userId: "ann" });
    await log().forget(gone);
    const figures = async (id: string) => {
      const { byReason, uniqueUsers, events } = await log().flagFigures({ id, unit: "userId" }, DAY);
      return [byReason.size, uniqueUsers, events.size];
    };
    expect([await figures(gone), await figures(kept)]).toEqual([
      [0, 0, 0],
      [1, 1, 1],
    ]);
    expect((await host().stored(tenant)).map(({ flagKey }) => flagKey)).toEqual(["kept"]);
    await expect.poll(async () => (await log().usageFigures(tenant, DAY)).events).toBe(1);
  });
}
