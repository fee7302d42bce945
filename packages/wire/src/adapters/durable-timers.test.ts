import { describe, expect, test } from "vitest";
import { Timeout } from "../router/timers.ts";
import { FakeClock } from "../testing/fake-clock.ts";
import type { DurableStorage } from "./durable-platform.ts";
import { DurableTimers } from "./durable-timers.ts";

/** A storage that writes down when its alarm is set. */
function createStorage(): DurableStorage & { alarm: number | null; readonly set: number[] } {
  const values = new Map<string, unknown>();
  return {
    alarm: null,
    set: [],
    kv: {
      get: (key) => values.get(key),
      put: (key, value) => void values.set(key, value),
      delete: (key) => values.delete(key),
      list: ({ prefix }) => [...values].filter(([key]) => key.startsWith(prefix)),
    },
    async getAlarm() {
      return this.alarm;
    },
    async setAlarm(at) {
      this.alarm = at;
      this.set.push(at);
    },
  };
}

function createTimers() {
  const clock = new FakeClock(0);
  const storage = createStorage();
  const rung: string[] = [];
  const timeout = (name: string) => new Timeout(() => rung.push(name));
  return { clock, storage, rung, timeout, timers: new DurableTimers(clock, storage) };
}

describe("deadlines on an alarm", () => {
  test("the alarm is set for the earliest, and not moved for later ones", async () => {
    const { storage, timeout, timers } = createTimers();
    timers.add(timeout("a"), 500);
    await timers.arm();
    timers.add(timeout("b"), 900);
    await timers.arm();
    timers.add(timeout("c"), 100);
    await timers.arm();
    expect(storage.set).toEqual([500, 100]);
  });

  test("an alarm that is no longer needed rings in vain, and the next is set then", async () => {
    const { clock, storage, timeout, timers, rung } = createTimers();
    const done = timeout("done");
    timers.add(done, 100);
    timers.add(timeout("later"), 300);
    await timers.arm();
    timers.remove(done);
    await clock.advance(100);
    timers.rang();
    await timers.arm();
    expect([rung, storage.set]).toEqual([[], [100, 300]]);
    await clock.advance(200);
    timers.rang();
    expect(rung).toEqual(["later"]);
  });

  test("nothing is set for what is over before it is armed", async () => {
    const { storage, timeout, timers } = createTimers();
    const call = timeout("call");
    timers.add(call, 100);
    timers.remove(call);
    await timers.arm();
    expect(storage.set).toEqual([]);
  });

  test("nor while something else is due later: that is what the alarm is set for", async () => {
    const { storage, timeout, timers } = createTimers();
    const call = timeout("call");
    timers.add(timeout("expiry"), 5_000);
    timers.add(call, 100);
    timers.remove(call);
    await timers.arm();
    expect(storage.set).toEqual([5_000]);
    timers.add(call, 100);
    timers.remove(call);
    await timers.arm();
    expect(storage.set).toEqual([5_000]);
  });

  test("an alarm that rings while we ask for it is set again", async () => {
    const { clock, storage, timeout, timers } = createTimers();
    await clock.advance(100);
    storage.alarm = 100;
    timers.add(timeout("later"), 300);
    const asking = timers.arm();
    timers.rang();
    await asking;
    await timers.arm();
    expect(storage.set).toEqual([400]);
  });

  test("an alarm that was deleted is set again once it should have rung", async () => {
    const { clock, storage, timeout, timers } = createTimers();
    timers.add(timeout("first"), 100);
    timers.add(timeout("second"), 300);
    await timers.arm();
    storage.alarm = null;
    await clock.advance(150);
    timers.run();
    await timers.arm();
    expect(storage.set).toEqual([100, 300]);
  });

  test("an alarm that could not be set is set the next time", async () => {
    const { storage, timeout, timers } = createTimers();
    const { setAlarm } = storage;
    storage.setAlarm = () => Promise.reject(new Error("The storage is out of order."));
    timers.add(timeout("a"), 100);
    await expect(timers.arm()).rejects.toThrow("out of order");
    storage.setAlarm = setAlarm;
    await timers.arm();
    expect(storage.set).toEqual([100]);
  });

  test("what is due in a thousand years sets no alarm, and keeps none from being set", async () => {
    const { storage, timeout, timers } = createTimers();
    timers.add(timeout("never"), 8.64e15);
    await timers.arm();
    timers.add(timeout("soon"), 100);
    await timers.arm();
    expect(storage.set).toEqual([100]);
  });

  test.each([Number.NaN, 0, -1, 8.64e15, Number.POSITIVE_INFINITY])("%s is no time for an alarm", (at) => {
    const { storage, timers } = createTimers();
    expect(() => timers.setOwn(at)).toThrow(RangeError);
    expect([...storage.kv.list({ prefix: "" })]).toEqual([]);
  });

  test("what is due runs in order, and may take out what is behind it", async () => {
    const { clock, timers, timeout, rung } = createTimers();
    const last = timeout("last");
    timers.add(last, 30);
    timers.add(timeout("second"), 20);
    timers.add(
      new Timeout(() => {
        rung.push("first");
        timers.remove(last);
      }),
      10,
    );
    await clock.advance(50);
    timers.run();
    expect(rung).toEqual(["first", "second"]);
  });

  test("an alarm that is set already, from before the sleep, is left alone if it is early enough", async () => {
    const { storage, timeout, timers } = createTimers();
    storage.alarm = 50;
    timers.add(timeout("a"), 500);
    await timers.arm();
    expect(storage.set).toEqual([]);
  });

  test("the application's own time is kept beside the deadlines, also over a sleep", async () => {
    const { clock, storage, timeout, timers } = createTimers();
    timers.add(timeout("a"), 100);
    timers.setOwn(400);
    await timers.arm();
    expect(storage.set).toEqual([100]);
    const awake = new DurableTimers(clock, storage);
    await clock.advance(100);
    awake.rang();
    await awake.arm();
    expect(storage.set).toEqual([100, 400]);
    await clock.advance(300);
    awake.rang();
    await awake.arm();
    expect(storage.set).toEqual([100, 400]);
  });
});
