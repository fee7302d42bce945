import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FakeClock } from "./fake-clock.ts";

describe("the fake clock", () => {
  test("starts at the given wall time and moves only on command", async () => {
    const clock = new FakeClock(1_000);
    expect([clock.now(), clock.wall()]).toEqual([0, 1_000]);
    await clock.advance(250);
    expect([clock.now(), clock.wall()]).toEqual([250, 1_250]);
  });

  test("fires timers at their time, in order of time and then of creation", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(100), { maxLength: 30 }), async (delays) => {
        const clock = new FakeClock();
        const fired: { i: number; at: number }[] = [];
        delays.forEach((delayMs, i) => {
          clock.setTimeout(() => fired.push({ i, at: clock.now() }), delayMs);
        });
        await clock.advance(50);
        await clock.advance(50);
        const expected = delays.map((at, i) => ({ i, at })).sort((a, b) => a.at - b.at || a.i - b.i);
        expect(fired).toEqual(expected);
        expect(clock.pendingTimers).toBe(0);
      }),
    );
  });

  test("fires a timer that another timer set within the same advance if it is due", async () => {
    const clock = new FakeClock();
    const at: number[] = [];
    const tick = () => {
      at.push(clock.now());
      clock.setTimeout(tick, 10);
    };
    clock.setTimeout(tick, 10);
    await clock.advance(35);
    expect(at).toEqual([10, 20, 30]);
  });

  test("does not fire a cleared timer, also when another timer clears it", async () => {
    const clock = new FakeClock();
    const fired: string[] = [];
    const second = clock.setTimeout(() => fired.push("second"), 10);
    const first = clock.setTimeout(() => fired.push("first"), 5);
    clock.setTimeout(() => clock.clearTimeout(second), 7);
    clock.clearTimeout(first);
    await clock.advance(20);
    expect(fired).toEqual([]);
  });

  test("runs promise callbacks of a timer before the next timer fires", async () => {
    const clock = new FakeClock();
    const order: string[] = [];
    clock.setTimeout(() => void Promise.resolve().then(() => order.push("promise")), 1);
    clock.setTimeout(() => order.push("timer"), 2);
    await clock.advance(2);
    expect(order).toEqual(["promise", "timer"]);
  });

  test("treats a negative delay as 0", async () => {
    const clock = new FakeClock();
    await clock.advance(100);
    let at = -1;
    clock.setTimeout(() => {
      at = clock.now();
    }, -50);
    await clock.advance(0);
    expect(at).toBe(100);
  });
});
