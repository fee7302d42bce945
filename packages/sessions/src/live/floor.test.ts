import { afterEach, expect, test, vi } from "vitest";
import { ChangeFeed } from "../changes/change-feed.ts";
import { createFloor } from "./floor.ts";
import { LiveSessions } from "./live-sessions.ts";
import { toReading } from "./session-caller.ts";

const HOUR = 3_600_000;

afterEach(() => {
  vi.useRealTimers();
});

/** Sessions whose rows were changed an hour ago, with the queries that were made. */
function setUp() {
  vi.useFakeTimers({ toFake: ["performance", "Date"] });
  const read: number[] = [];
  const counted: number[] = [];
  const report = vi.fn();
  const changedAt = new Date(Date.now() - HOUR);
  const sessions = new LiveSessions({
    feed: new ChangeFeed(),
    report,
    reader: {
      isBatched: true,
      async read(names) {
        read.push(names.length);
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
  const changes = {
    changedSessions: vi.fn(async (rows: readonly unknown[]) => {
      counted.push(rows.length);
      return new Set<string>();
    }),
    changedMembers: async () => new Set<string>(),
  };
  const floor = createFloor({ sessions, changes: () => changes, report });
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
  return { sessions, floor, changes, read, counted, report, add };
}

test("a session that no listener follows is dropped after 30 s", async () => {
  const { sessions, floor, add } = setUp();
  await add(1, false);
  await floor.run();
  expect(sessions.size).toBe(1);
  vi.advanceTimersByTime(30_000);
  await floor.run();
  expect(sessions.size).toBe(0);
});

test("a round counts most sessions and reads 500 by value, each of them within a minute", async () => {
  const { floor, add, read, counted } = setUp();
  await add(3000, true);
  const rounds = 15;
  for (let round = 0; round < rounds; round += 1) {
    vi.advanceTimersByTime(4000);
    await floor.run();
  }
  expect(read.reduce((sum, count) => sum + count, 0)).toBe(rounds * 500);
  expect(counted.slice(0, 3)).toEqual([1000, 1000, 500]);
});

test("a count after a long pause proves nothing, so all sessions are read", async () => {
  const { floor, add, read, counted } = setUp();
  await add(1200, true);
  vi.advanceTimersByTime(60_000);
  await floor.run();
  expect([read.reduce((sum, count) => sum + count, 0), counted]).toEqual([1200, []]);
});

test("sessions keep their state while the store does not respond", async () => {
  const { sessions, floor, changes, add } = setUp();
  const ended = await add(600, true);
  vi.advanceTimersByTime(4000);
  changes.changedSessions.mockRejectedValueOnce(new Error("no database"));
  await expect(floor.run()).rejects.toThrow("no database");
  expect([sessions.size, ended]).toEqual([600, []]);
});
