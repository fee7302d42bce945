import { describe, expect, onTestFinished, test, vi } from "vitest";
import { isWellFormed } from "../../model/inputs.ts";
import { sleep } from "../wait.ts";
import type { Exposure, IdentityLink } from "./event-log.ts";
import { createExposures, type Exposures, type ExposuresOptions } from "./exposures.ts";

const NOON = Date.parse("2030-05-15T12:30:00.000Z");
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const shown = ({ atMs = NOON, ...fields }: Partial<Exposure> & { atMs?: number } = {}): Exposure => ({
  tenant: "t",
  flagId: "f",
  arm: "a",
  byChance: true,
  subject: "u",
  firstMs: atMs,
  lastMs: atMs,
  ...fields,
});

interface Set {
  readonly exposures: Exposures;
  readonly written: Exposure[];
  readonly links: IdentityLink[];
  readonly warnings: string[];
  lost: number;
  lostLinks: number;
  fails: boolean;
}

function setUp(options: Partial<ExposuresOptions> = {}): Set {
  const set = { written: [], links: [], warnings: [], lost: 0, lostLinks: 0, fails: false } as unknown as Set;
  const exposures = createExposures({
    log: {
      async expose(some) {
        if (set.fails) throw new Error("The database is down.");
        set.written.push(...some);
      },
      async link(some) {
        if (set.fails) throw new Error("The database is down.");
        set.links.push(...some);
      },
    },
    warn: (message) => set.warnings.push(message),
    lost: (what, count) => {
      if (what === "exposure") set.lost += count;
      else set.lostLinks += count;
    },
    ...options,
  });
  onTestFinished(() => exposures.close());
  return Object.assign(set, { exposures });
}

describe("exposures", () => {
  test("are written once per user, flag, arm, tenant and hour", async () => {
    const { exposures, written } = setUp();
    const different = [
      {},
      { subject: "v" },
      { userId: "v" },
      { anonymousId: "v" },
      { flagId: "g" },
      { arm: "b" },
      { byChance: false },
      { tenant: "" },
      { atMs: NOON + HOUR_MS },
    ];
    for (const fields of different) {
      exposures.add(shown(fields));
      exposures.add(shown(fields));
    }
    await exposures.flush();
    expect(written).toEqual(different.map(shown));
  });

  test("of the same hour are merged to their first and their last time", async () => {
    const { exposures, written } = setUp();
    for (const minutes of [5, 0, 10, 7]) exposures.add(shown({ atMs: NOON + minutes * MINUTE_MS }));
    await exposures.flush();
    expect(written).toEqual([shown({ firstMs: NOON, lastMs: NOON + 10 * MINUTE_MS })]);
    exposures.add(shown({ atMs: NOON + 9 * MINUTE_MS }));
    await exposures.flush();
    expect(written).toHaveLength(1);
    exposures.add(shown({ atMs: NOON + 11 * MINUTE_MS }));
    await exposures.flush();
    expect(written[1]).toEqual(shown({ atMs: NOON + 11 * MINUTE_MS }));
  });

  test("are written in the background, and later times of written ones after a delay", async () => {
    const { exposures, written } = setUp({ updateMs: 50 });
    exposures.add(shown());
    expect(written).toEqual([]);
    await expect.poll(() => written.length).toBe(1);
    for (let second = 1; second < 10; second++) exposures.add(shown({ atMs: NOON + second * 1000 }));
    expect(exposures.depth()).toBe(1);
    await expect.poll(() => written.length).toBe(2);
    expect(written[1]?.lastMs).toBe(NOON + 9000);
  });

  test("that do not fit into the queue are counted as lost, and can be added again later", async () => {
    const set = setUp({ maxQueued: 2 });
    set.fails = true;
    const added = ["a", "b", "c", "d"].map((subject) => set.exposures.add(shown({ subject })));
    expect(added).toEqual([true, true, false, false]);
    await set.exposures.flush();
    expect([set.lost, set.exposures.depth()]).toEqual([2, 2]);
    set.fails = false;
    await set.exposures.flush();
    set.exposures.add(shown({ subject: "c" }));
    await set.exposures.flush();
    expect(set.written.map(({ subject }) => subject)).toEqual(["a", "b", "c"]);
  });

  test("that could not be written are kept and retried", async () => {
    const set = setUp();
    set.fails = true;
    set.exposures.add(shown());
    await expect.poll(() => set.warnings.length).toBe(1);
    set.fails = false;
    await expect.poll(() => set.written.length, { timeout: 10_000 }).toBe(1);
  });

  test("that are added during a flush do not delay it", async () => {
    let written = 0;
    const { exposures } = setUp({
      log: {
        async expose(some) {
          await sleep(5);
          written += some.length;
        },
        async link() {},
      },
    });
    const end = performance.now() + 2000;
    for (let user = 0; user < 250; user++) exposures.add(shown({ subject: `before ${user}` }));
    const flushed = exposures.flush();
    const writtenThen = flushed.then(() => written);
    let isFlushed = false;
    void flushed.then(() => {
      isFlushed = true;
    });
    for (let user = 0; !isFlushed && performance.now() < end; user++) {
      exposures.add(shown({ subject: `during ${user}` }));
      await sleep(1);
    }
    expect(performance.now()).toBeLessThan(end);
    expect(await writtenThen).toBeGreaterThanOrEqual(250);
    await expect.poll(() => exposures.depth()).toBe(0);
  });

  test("are retried once a second during an outage, however many calls wait for them", async () => {
    let attempts = 0;
    const { exposures } = setUp({
      log: {
        async expose() {
          attempts += 1;
          throw new Error("The database is down.");
        },
        async link() {},
      },
    });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    exposures.add(shown());
    for (let call = 0; call < 20; call++) {
      await exposures.flush();
      await vi.advanceTimersByTimeAsync(10);
    }
    attempts = 0;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(attempts).toBeLessThanOrEqual(11);
    expect(attempts).toBeGreaterThanOrEqual(9);
  });

  test("are deduplicated up to a limit; above it the oldest are written again", async () => {
    const { exposures, written } = setUp({ maxRemembered: 2 });
    for (const subject of ["a", "b", "c", "d", "d", "e"]) exposures.add(shown({ subject }));
    await exposures.flush();
    exposures.add(shown({ subject: "a" }));
    await exposures.flush();
    expect(written.map(({ subject }) => subject)).toEqual(["a", "b", "c", "d", "e", "a"]);
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

  test("have ids that every database can hold", async () => {
    const { exposures, written } = setUp();
    exposures.add(shown({ userId: "a\0\ud800" }));
    await exposures.flush();
    expect(written[0]?.userId).toBe("a\ufffd\ufffd");
  });

  test("with long ids stay distinct, and the ids are shortened", async () => {
    const { exposures, written } = setUp();
    const long = "\ud83d\ude00".repeat(8000);
    // The first two differ only at the end, the third is cut in the middle of a character.
    const subjects = [`${long}a`, `${long}b`, `x${long}`];
    for (const subject of [...subjects, ...subjects]) {
      for (const flagId of ["f", "g"]) exposures.add(shown({ flagId, subject }));
    }
    await exposures.flush();
    expect(written).toHaveLength(6);
    const stored = new Set(written.map(({ subject }) => subject ?? ""));
    expect(stored.size).toBe(3);
    for (const subject of stored) {
      expect(subject.length).toBeLessThanOrEqual(255);
      expect(isWellFormed(subject)).toBe(true);
    }
  });
});

describe("links", () => {
  const link = (anonymousId: string, userId: string): IdentityLink => ({ anonymousId, userId, atMs: NOON });

  test("are written in the background, the first of an anonymous id before all others", async () => {
    const { exposures, links } = setUp();
    exposures.link(link("visitor", "ann"));
    exposures.link(link("visitor", "bob"));
    await exposures.flush();
    expect(links).toEqual([link("visitor", "ann")]);
  });

  test("that could not be written are kept and retried", async () => {
    const set = setUp();
    set.fails = true;
    set.exposures.link(link("visitor", "ann"));
    await expect.poll(() => set.warnings.length).toBe(1);
    expect(set.exposures.depth()).toBe(1);
    set.fails = false;
    await set.exposures.flush();
    expect(set.links).toHaveLength(1);
  });

  test("that do not fit into the queue, or cannot be written before the end, are counted as lost", async () => {
    const set = setUp({ maxQueued: 1 });
    set.fails = true;
    for (const anonymousId of ["a", "a", "b", "c"]) set.exposures.link(link(anonymousId, "ann"));
    expect([set.lostLinks, set.exposures.depth()]).toEqual([2, 1]);
    await set.exposures.close();
    expect([set.lostLinks, set.lost]).toEqual([3, 0]);
  });
});
