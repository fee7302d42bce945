import { describe, expect, test } from "vitest";
import { FakeClock } from "../../testing/fake-clock.ts";
import { Timeout } from "../../time/timers.ts";
import type { DurableStorage } from "./platform.ts";
import { DurableTimers } from "./timers.ts";

/** A storage that records when its alarm is set. */
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
    sql: { exec: () => [] },
    transactionSync: (run) => run(),
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

describe("a deadline on an alarm", () => {
  test("sets the alarm when it is the earliest, and later deadlines do not move the alarm", async () => {
    const { storage, timeout, timers } = createTimers();
    timers.add(timeout("a"), 500);
    await timers.arm();
    timers.add(timeout("b"), 900);
    await timers.arm();
    timers.add(timeout("c"), 100);
    await timers.arm();
    expect(storage.set).toEqual([500, 100]);
  });

  test("that was cancelled leaves its alarm to fire without effect, and then the next alarm is set", async () => {
    const { clock, storage, timeout, timers, rung } = createTimers();
    const done = timeout("done");
    timers.add(done, 100);
    timers.add(timeout("later"), 300);
    await timers.arm();
    timers.remove(done);
    await clock.advance(100);
    timers.alarmFired();
    await timers.arm();
    expect([rung, storage.set]).toEqual([[], [100, 300]]);
    await clock.advance(200);
    timers.alarmFired();
    expect(rung).toEqual(["later"]);
  });

  test("that is cancelled before it is armed sets no alarm", async () => {
    const { storage, timeout, timers } = createTimers();
    const call = timeout("call");
    timers.add(call, 100);
    timers.remove(call);
    await timers.arm();
    expect(storage.set).toEqual([]);
  });

  test("that is cancelled sets no alarm while a later one exists, which sets it", async () => {
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

  test("sets its alarm again when the alarm fires during the read", async () => {
    const { clock, storage, timeout, timers } = createTimers();
    await clock.advance(100);
    storage.alarm = 100;
    timers.add(timeout("later"), 300);
    const asking = timers.arm();
    timers.alarmFired();
    await asking;
    await timers.arm();
    expect(storage.set).toEqual([400]);
  });

  test("sets its alarm again after the alarm was deleted and should have fired", async () => {
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

  test("sets its alarm the next time after setting it failed", async () => {
    const { storage, timeout, timers } = createTimers();
    const { setAlarm } = storage;
    storage.setAlarm = () => Promise.reject(new Error("The storage is out of order."));
    timers.add(timeout("a"), 100);
    await expect(timers.arm()).rejects.toThrow("out of order");
    storage.setAlarm = setAlarm;
    await timers.arm();
    expect(storage.set).toEqual([100]);
  });

  test("in a thousand years sets no alarm and does not prevent other alarms", async () => {
    const { storage, timeout, timers } = createTimers();
    timers.add(timeout("never"), 8.64e15);
    await timers.arm();
    timers.add(timeout("soon"), 100);
    await timers.arm();
    expect(storage.set).toEqual([100]);
  });

  test.each([Number.NaN, 0, -1, 8.64e15, Number.POSITIVE_INFINITY])(
    "refuses %s as the time of an alarm",
    (at) => {
      const { storage, timers } = createTimers();
      expect(() => timers.setApplicationAlarm(at)).toThrow(RangeError);
      expect([...storage.kv.list({ prefix: "" })]).toEqual([]);
    },
  );

  test("runs in order, and may cancel later ones", async () => {
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

  test("keeps an existing alarm from before hibernation when it is early enough", async () => {
    const { storage, timeout, timers } = createTimers();
    storage.alarm = 50;
    timers.add(timeout("a"), 500);
    await timers.arm();
    expect(storage.set).toEqual([]);
  });

  test("is kept beside the application's alarm, also during hibernation", async () => {
    const { clock, storage, timeout, timers } = createTimers();
    timers.add(timeout("a"), 100);
    timers.setApplicationAlarm(400);
    await timers.arm();
    expect(storage.set).toEqual([100]);
    const awake = new DurableTimers(clock, storage);
    await clock.advance(100);
    awake.alarmFired();
    await awake.arm();
    expect(storage.set).toEqual([100, 400]);
    await clock.advance(300);
    awake.alarmFired();
    await awake.arm();
    expect(storage.set).toEqual([100, 400]);
  });
});
