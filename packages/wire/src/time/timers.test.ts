import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FakeClock } from "../testing/fake-clock.ts";
import { Timeout, TimerWheel } from "./timers.ts";

const TICK_MS = 16;

/** A wheel whose entries record when they expire. */
function createWheel() {
  const clock = new FakeClock();
  const wheel = new TimerWheel(clock);
  const expired: { id: number; at: number }[] = [];
  const entry = (id: number, then?: () => void) =>
    new Timeout(() => {
      expired.push({ id, at: clock.now() });
      then?.();
    });
  return { clock, wheel, expired, entry };
}

describe("the timer wheel", () => {
  test("expires entries in time under any sequence of adding, moving, removing and waiting", async () => {
    const id = fc.integer({ min: 0, max: 9 });
    const step = fc.oneof(
      fc.record({ add: id, delayMs: fc.oneof(fc.nat(100), fc.nat(10_000), fc.nat(400_000)) }),
      fc.record({ remove: id }),
      fc.record({ waitMs: fc.oneof(fc.nat(20), fc.nat(1_000), fc.nat(50_000)) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { clock, wheel, expired, entry } = createWheel();
        const entries = Array.from({ length: 10 }, (_, i) => entry(i));
        /** The model: the due time of each entry. */
        const due = new Map<number, number>();
        const check = () => {
          for (const { id: at, at: when } of expired.splice(0)) {
            const dueAt = due.get(at);
            expect(dueAt, `entry ${at} expired though it was not in`).toBeDefined();
            expect(when).toBeGreaterThanOrEqual(dueAt ?? 0);
            expect(when - (dueAt ?? 0)).toBeLessThanOrEqual(TICK_MS);
            due.delete(at);
          }
          for (const dueAt of due.values()) expect(dueAt).toBeGreaterThan(clock.now() - TICK_MS);
        };
        for (const action of steps) {
          if ("add" in action) {
            wheel.add(entries[action.add] ?? entry(-1), action.delayMs);
            due.set(action.add, clock.now() + action.delayMs);
          } else if ("remove" in action) {
            wheel.remove(entries[action.remove] ?? entry(-1));
            due.delete(action.remove);
          } else {
            await clock.advance(action.waitMs);
            check();
          }
        }
        await clock.advance(1_000_000);
        check();
        expect(due.size).toBe(0);
        expect(clock.pendingTimers).toBe(0);
      }),
      { numRuns: 100 },
    );
  });

  test("does not expire an entry that another one removed in the same tick", async () => {
    const { clock, wheel, expired, entry } = createWheel();
    const entries: Timeout[] = [];
    for (let i = 0; i < 3; i++) {
      const others = () => {
        for (const other of entries) wheel.remove(other);
      };
      entries.push(entry(i, others));
    }
    for (const one of entries) wheel.add(one, 10);
    await clock.advance(100);
    expect(expired).toHaveLength(1);
    expect(clock.pendingTimers).toBe(0);
  });

  test("expires an entry that another one moved in the same tick once, at its new time", async () => {
    const { clock, wheel, expired, entry } = createWheel();
    const moved = entry(1);
    const mover = entry(0, () => wheel.add(moved, 1_000));
    // The last one added is the first one to expire.
    wheel.add(moved, 10);
    wheel.add(mover, 10);
    await clock.advance(500);
    expect(expired.map(({ id }) => id)).toEqual([0]);
    await clock.advance(1_000);
    expect(expired.map(({ id }) => id)).toEqual([0, 1]);
  });

  test("lets an entry add itself again, as an interval does", async () => {
    const { clock, wheel, expired, entry } = createWheel();
    const interval: Timeout = entry(0, () => wheel.add(interval, 100));
    wheel.add(interval, 100);
    await clock.advance(1_000);
    expect(expired.length).toBeGreaterThanOrEqual(8);
    expect(expired.length).toBeLessThanOrEqual(10);
    wheel.remove(interval);
    await clock.advance(1_000);
    expect(expired.length).toBeLessThanOrEqual(10);
  });

  test("uses no system timer longer than the maximum, however late an entry is due", async () => {
    const { clock, wheel, expired, entry } = createWheel();
    const delays: number[] = [];
    const { setTimeout } = clock;
    clock.setTimeout = (callback, delayMs) => {
      delays.push(delayMs);
      return setTimeout.call(clock, callback, delayMs);
    };
    wheel.add(entry(0), 60 * 24 * 3_600_000);
    await clock.advance(60_000);
    expect(Math.max(...delays)).toBeLessThan(2 ** 31);
    // It wakes up about once per round, not once per tick.
    expect(delays.length).toBeLessThan(20);
    expect(expired).toEqual([]);
  });

  test("wakes up as rarely for many entries that are due much later as for one", async () => {
    const { clock, wheel, expired, entry } = createWheel();
    let wakes = 0;
    const { setTimeout } = clock;
    clock.setTimeout = (callback, delayMs) => {
      wakes += 1;
      return setTimeout.call(clock, callback, delayMs);
    };
    for (let id = 0; id < 2_000; id += 1) wheel.add(entry(id), 300_000 + id);
    await clock.advance(250_000);
    expect(wakes).toBeLessThan(20);
    // Requests with a deadline come and go beside them.
    for (let id = 0; id < 100; id += 1) {
      const deadline = entry(id);
      wheel.add(deadline, 30_000);
      await clock.advance(100);
      wheel.remove(deadline);
    }
    expect(wakes).toBeLessThan(40);
    await clock.advance(50_000);
    expect(expired).toHaveLength(2_000);
  });

  test("never expires an infinite delay, which removes the entry", async () => {
    const { clock, wheel, expired, entry } = createWheel();
    const one = entry(0);
    wheel.add(one, 10);
    wheel.add(one, Number.POSITIVE_INFINITY);
    await clock.advance(100_000);
    expect(expired).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
  });

  test("keeps no system timer when it is empty, and clear empties it", async () => {
    const { clock, wheel, expired, entry } = createWheel();
    wheel.add(entry(0), 100);
    wheel.add(entry(1), 100_000);
    expect(clock.pendingTimers).toBe(1);
    wheel.clear();
    expect(clock.pendingTimers).toBe(0);
    await clock.advance(200_000);
    expect(expired).toEqual([]);
  });

  test("expires everything that became due during a long pause of the process", async () => {
    const { clock, wheel, expired, entry } = createWheel();
    let paused = 0;
    const { now } = clock;
    // Time has jumped by the time the timer fires.
    clock.now = () => now.call(clock) + paused;
    for (let i = 0; i < 1_000; i++) wheel.add(entry(i), i * 20);
    paused = 30_000;
    await clock.advance(TICK_MS * 2);
    expect(new Set(expired.map(({ id }) => id)).size).toBe(1_000);
    expect(expired).toHaveLength(1_000);
  });
});
