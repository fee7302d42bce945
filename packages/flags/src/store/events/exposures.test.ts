import { describe, expect, onTestFinished, test } from "vitest";
import { isWellFormed } from "../../model/inputs.ts";
import type { Exposure } from "./event-log.ts";
import { createExposures, type Exposures, type ExposuresOptions } from "./exposures.ts";

const NOON = Date.parse("2030-05-15T12:30:00.000Z");
const DAY_MS = 86_400_000;

const shown = (fields: Partial<Exposure> = {}): Exposure => ({
  tenant: "t",
  flagKey: "f",
  variant: "a",
  userId: "u",
  atMs: NOON,
  ...fields,
});

interface Set {
  readonly exposures: Exposures;
  readonly written: Exposure[];
  readonly warnings: string[];
  lost: number;
  fails: boolean;
}

function setUp(options: Partial<ExposuresOptions> = {}): Set {
  const set = { written: [], warnings: [], lost: 0, fails: false } as unknown as Set;
  const exposures = createExposures({
    log: {
      async expose(some) {
        if (set.fails) throw new Error("The database is down.");
        set.written.push(...some);
      },
    },
    warn: (message) => set.warnings.push(message),
    lost: (count) => {
      set.lost += count;
    },
    ...options,
  });
  onTestFinished(() => exposures.close());
  return Object.assign(set, { exposures });
}

describe("exposures", () => {
  test("are written once per user, flag, variant, tenant and day", async () => {
    const { exposures, written } = setUp();
    const different = [
      {},
      { userId: "v" },
      { flagKey: "g" },
      { variant: "" },
      { tenant: "" },
      { atMs: NOON + DAY_MS },
    ];
    for (const fields of different) {
      exposures.add(shown(fields));
      exposures.add(shown(fields));
    }
    await exposures.flush();
    expect(written).toEqual(different.map(shown));
  });

  test("are written in the background", async () => {
    const { exposures, written } = setUp();
    exposures.add(shown());
    expect(written).toEqual([]);
    await expect.poll(() => written.length).toBe(1);
  });

  test("that do not fit into the queue are counted as lost, and can be added again later", async () => {
    const set = setUp({ maxQueued: 2 });
    set.fails = true;
    for (const userId of ["a", "b", "c", "d"]) set.exposures.add(shown({ userId }));
    await set.exposures.flush();
    expect([set.lost, set.exposures.depth()]).toEqual([2, 2]);
    set.fails = false;
    await set.exposures.flush();
    set.exposures.add(shown({ userId: "c" }));
    await set.exposures.flush();
    expect(set.written.map(({ userId }) => userId)).toEqual(["a", "b", "c"]);
  });

  test("that could not be written are kept and retried", async () => {
    const set = setUp();
    set.fails = true;
    set.exposures.add(shown());
    await expect.poll(() => set.warnings.length).toBe(1);
    set.fails = false;
    await expect.poll(() => set.written.length, { timeout: 10_000 }).toBe(1);
  });

  test("are deduplicated up to a limit; above it the oldest are written again", async () => {
    const { exposures, written } = setUp({ maxRemembered: 2 });
    for (const userId of ["a", "b", "c", "d", "d", "e", "a"]) exposures.add(shown({ userId }));
    await exposures.flush();
    expect(written.map(({ userId }) => userId)).toEqual(["a", "b", "c", "d", "e", "a"]);
  });

  test("are written on close, or counted as lost", async () => {
    const set = setUp();
    set.exposures.add(shown());
    await set.exposures.close();
    expect(set.written).toHaveLength(1);
    const down = setUp();
    down.fails = true;
    down.exposures.add(shown());
    await down.exposures.close();
    expect([down.lost, down.exposures.depth()]).toEqual([1, 0]);
  });

  test("have user ids that every database can hold", async () => {
    const { exposures, written } = setUp();
    exposures.add(shown({ userId: "a\0\ud800" }));
    await exposures.flush();
    expect(written[0]?.userId).toBe("a\ufffd\ufffd");
  });

  test("with long user ids stay distinct, and the ids are shortened", async () => {
    const { exposures, written } = setUp();
    const long = "\ud83d\ude00".repeat(8000);
    // The first two differ only at the end, the third is cut in the middle of a character.
    const userIds = [`${long}a`, `${long}b`, `x${long}`];
    for (const userId of [...userIds, ...userIds]) {
      for (const flagKey of ["f", "g"]) exposures.add(shown({ flagKey, userId }));
    }
    await exposures.flush();
    expect(written).toHaveLength(6);
    const stored = new Set(written.map(({ userId }) => userId));
    expect(stored.size).toBe(3);
    for (const userId of stored) {
      expect(userId.length).toBeLessThanOrEqual(255);
      expect(isWellFormed(userId)).toBe(true);
    }
  });
});
