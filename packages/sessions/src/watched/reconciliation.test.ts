import type { Where } from "@better-auth/core/db/adapter";
import { afterEach, describe, expect, test, vi } from "vitest";
import { ChangeFeed } from "../changes/change-feed.ts";
import { toReading } from "../identify/session-caller.ts";
import type { LiveSession } from "./live-session.ts";
import { LiveSessions } from "./live-sessions.ts";
import { Reconciliation } from "./reconciliation.ts";
import { createRowCounts } from "./row-counts.ts";
import type { Comparison } from "./watched-rows.ts";

const HOUR = 3_600_000;

type CountQuery = { readonly model: string; readonly where?: readonly Where[] | undefined };

afterEach(() => {
  vi.useRealTimers();
});

/** Sessions whose rows were changed an hour ago, with the queries that were made. */
function setUp(versions?: Comparison<LiveSession>) {
  vi.useFakeTimers({ toFake: ["performance", "Date"] });
  const read: number[] = [];
  const counted: number[] = [];
  const report = vi.fn();
  const beforeReading = vi.fn(async () => {});
  const changedAt = new Date(Date.now() - HOUR);
  const store = {
    /** All rows are as they were. */
    count: vi.fn(async ({ model, where }: CountQuery) => {
      const [{ value } = { value: [] }] = where ?? [];
      const size = Array.isArray(value) ? value.length : 1;
      if (model === "session") counted.push(size);
      return size;
    }),
    findMany: async () => [],
  };
  const feed = new ChangeFeed();
  const sessions = new LiveSessions({
    feed,
    report,
    comparisons: [...(versions ? [versions] : []), createRowCounts(store)],
    reader: {
      isBatched: true,
      async read(names) {
        read.push(names.length);
        await beforeReading();
        return new Map(
          names.map(({ sessionId }) => {
            const session = {
              id: sessionId,
              token: sessionId,
              updatedAt: changedAt,
              expiresAt: new Date(9e12),
            };
            return [
              sessionId,
              toReading(session, { id: `of ${sessionId}`, updatedAt: changedAt }, undefined),
            ];
          }),
        );
      },
    },
  });
  const reconciliation = new Reconciliation({ feed, report });
  reconciliation.add(sessions);
  const add = async (count: number, isFollowed: boolean) => {
    const names = Array.from({ length: count }, (_, index) => ({
      sessionId: `s${index}`,
      token: `s${index}`,
    }));
    await Promise.all(names.map((name) => sessions.identify(name)));
    const ended: string[] = [];
    if (isFollowed)
      for (const { sessionId } of names)
        await sessions.follow(sessionId, { changed: () => undefined, ended: () => ended.push(sessionId) });
    read.length = 0;
    return ended;
  };
  return { sessions, feed, reconciliation, store, changedAt, read, counted, report, add, beforeReading };
}

test("a session that no listener follows is dropped after 30 s", async () => {
  const { sessions, reconciliation, add } = setUp();
  await add(1, false);
  await reconciliation.run();
  expect(sessions.size).toBe(1);
  vi.advanceTimersByTime(30_000);
  await reconciliation.run();
  expect(sessions.size).toBe(0);
});

test("a round counts most sessions and reads 500 by value, each of them within a minute", async () => {
  const { reconciliation, add, read, counted } = setUp();
  await add(3000, true);
  const rounds = 15;
  for (let round = 0; round < rounds; round += 1) {
    vi.advanceTimersByTime(4000);
    await reconciliation.run();
  }
  expect(read.reduce((sum, count) => sum + count, 0)).toBe(rounds * 500);
  expect(counted.slice(0, 3)).toEqual([1000, 1000, 1000]);
});

test("a row that changed shortly before the last comparison is read: the clock of another process may be behind", async () => {
  const { reconciliation, add, read, counted, changedAt } = setUp();
  changedAt.setTime(Date.now() - 9_999);
  await add(1200, true);
  vi.advanceTimersByTime(60_000);
  await reconciliation.run();
  expect([read.reduce((sum, count) => sum + count, 0), counted]).toEqual([1200, []]);
  vi.advanceTimersByTime(4000);
  await reconciliation.run();
  expect(counted).toEqual([1000, 200]);
});

test("sessions keep their state while the store does not respond", async () => {
  const { sessions, reconciliation, store, add } = setUp();
  const ended = await add(600, true);
  vi.advanceTimersByTime(4000);
  store.count.mockRejectedValueOnce(new Error("no database"));
  await expect(reconciliation.run()).rejects.toThrow("no database");
  expect([sessions.size, ended]).toEqual([600, []]);
});

/** The versions of a database, where a test may change those of all rows. */
function setUpVersions() {
  const database = { version: "1", compared: [] as number[], isSupported: true };
  const versions: Comparison<LiveSession> = {
    byValueMs: 600_000,
    minByValue: 0,
    async findChanged(sessions) {
      if (!database.isSupported) return undefined;
      database.compared.push(sessions.length);
      const changed = sessions.filter(({ version }) => version !== database.version);
      return new Map(changed.map((session) => [session, database.version]));
    },
  };
  return { database, ...setUp(versions) };
}

describe("with the versions of rows", () => {
  test("a session is read when its version changes, and otherwise once in ten minutes", async () => {
    const { reconciliation, add, database, read, counted } = setUpVersions();
    await add(3000, true);
    const sum = () => read.splice(0).reduce((total, count) => total + count, 0);
    await reconciliation.run();
    expect(sum()).toBe(3000);
    for (let round = 0; round < 150; round += 1) {
      vi.advanceTimersByTime(4000);
      await reconciliation.run();
    }
    expect(sum()).toBe(3000);
    database.version = "2";
    await reconciliation.run();
    expect(sum()).toBe(3000);
    expect([new Set(database.compared), counted]).toEqual([new Set([3000]), []]);
  });

  test("a version counts only after a reading that began when it was known", async () => {
    const { reconciliation, add, database, read, sessions, beforeReading } = setUpVersions();
    await add(1, true);
    await reconciliation.run();
    read.length = 0;
    database.version = "2";
    beforeReading.mockRejectedValueOnce(new Error("no database"));
    await reconciliation.run();
    const [live] = sessions.all();
    expect([read.length, live?.version]).toEqual([1, "1"]);
    await reconciliation.run();
    expect([read.length, live?.version]).toEqual([2, "2"]);
  });

  test("a session that has expired is read, whatever its version", async () => {
    const { reconciliation, add, read } = setUpVersions();
    await add(300, true);
    await reconciliation.run();
    read.length = 0;
    vi.setSystemTime(9.1e12);
    await reconciliation.run();
    expect(read).toEqual([300]);
  });

  test("a database that has none is compared by counts", async () => {
    const { reconciliation, add, database, counted } = setUpVersions();
    await add(1200, true);
    await reconciliation.run();
    database.isSupported = false;
    vi.advanceTimersByTime(4000);
    await reconciliation.run();
    expect(counted).toEqual([1000, 200]);
  });
});

describe("more sessions than the budget of a round", () => {
  const ROUNDS = 5;

  /** 3,000 sessions and a budget of 1,000 a round, with the number that each round compares. */
  async function setUpMany(unbrokenSinceMs: () => number | undefined) {
    const made = setUpVersions();
    const { add, database, feed, reconciliation } = made;
    await add(3000, true);
    reconciliation.lookupsPerSecond = 250;
    feed.links.add(async () => unbrokenSinceMs());
    await reconciliation.run();
    const rounds = async () => {
      database.compared.length = 0;
      for (let round = 0; round < ROUNDS; round += 1) {
        vi.advanceTimersByTime(4000);
        await reconciliation.run();
      }
      return [...database.compared];
    };
    return { ...made, rounds };
  }

  test("are compared in turn while a bus announces every change", async () => {
    const { rounds, sessions } = await setUpMany(() => 0);
    // Reading by value each session once in ten minutes is within the budget too.
    expect(await rounds()).toEqual(Array(ROUNDS).fill(980));
    const oldestMs = Math.min(...[...sessions.all()].map(({ comparedAtMs }) => comparedAtMs));
    expect(performance.now() - oldestMs).toBeLessThanOrEqual(16_000);
  });

  test("that were compared a moment ago give their turn to others", async () => {
    const { reconciliation, database, sessions } = await setUpMany(() => 0);
    vi.advanceTimersByTime(4000);
    const recent = [...sessions.all()].slice(0, 500);
    for (const live of recent) live.comparedAtMs = performance.now();
    database.compared.length = 0;
    await reconciliation.run();
    vi.advanceTimersByTime(3000);
    await reconciliation.run();
    vi.advanceTimersByTime(500);
    await reconciliation.run();
    expect(database.compared).toEqual([980, 980, 540]);
  });

  test.each([
    ["without a bus that is connected", undefined],
    ["after a gap, until a round has compared all", 4001],
  ])("are all compared %s", async (_what, since) => {
    let unbrokenSinceMs: number | undefined = 0;
    const { rounds } = await setUpMany(() => unbrokenSinceMs);
    unbrokenSinceMs = since && performance.now() + since;
    const [first, second, ...others] = await rounds();
    expect([first, second]).toEqual([3000, 3000]);
    expect(new Set(others)).toEqual(new Set([since === undefined ? 3000 : 980]));
  });

  test("are all compared if one of two buses is not connected", async () => {
    const { reconciliation, database, feed } = await setUpMany(() => 0);
    feed.links.add(async () => undefined);
    database.compared.length = 0;
    vi.advanceTimersByTime(4000);
    await reconciliation.run();
    expect(database.compared).toEqual([3000]);
  });
});

test("rounds continue while sessions are read without a pause", async () => {
  const { reconciliation, add, sessions, beforeReading, store } = setUp();
  vi.useFakeTimers({ toFake: ["performance", "Date", "setTimeout", "clearTimeout"] });
  await add(600, true);
  // Each reading causes the next one.
  const [live] = sessions.all();
  beforeReading.mockImplementation(async () => {
    if (live !== undefined) sessions.rows.mark([live]);
    await new Promise((resolve) => setTimeout(resolve, 10));
  });
  reconciliation.start();
  await vi.advanceTimersByTimeAsync(13_000);
  expect(store.count.mock.calls.length).toBeGreaterThanOrEqual(3);
  reconciliation.stop();
  beforeReading.mockImplementation(async () => {});
  await vi.advanceTimersByTimeAsync(20);
  await sessions.rows.settled();
});

test("no round follows once they were stopped, also while one is running", async () => {
  const { reconciliation, add, store } = setUp();
  vi.useFakeTimers({ toFake: ["performance", "Date", "setTimeout", "clearTimeout"] });
  await add(600, true);
  const { promise, resolve } = Promise.withResolvers<void>();
  const count = store.count.getMockImplementation();
  store.count.mockImplementationOnce(async (...query) => {
    await promise;
    return (await count?.(...query)) ?? 0;
  });
  reconciliation.start();
  await vi.advanceTimersByTimeAsync(4000);
  expect(store.count).toHaveBeenCalled();
  reconciliation.stop();
  resolve();
  await vi.advanceTimersByTimeAsync(20);
  store.count.mockClear();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(store.count).not.toHaveBeenCalled();
});
