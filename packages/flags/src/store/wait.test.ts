import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createLimit, pause, repeat, sleep } from "./wait.ts";

/** A promise that the test settles. */
function promised<Result = void>() {
  let resolve: (result: Result) => void = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<Result>((...settle) => {
    [resolve, reject] = settle;
  });
  return { promise, resolve, reject };
}

describe("with timers", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("sleep takes as long as it is told", async () => {
    const woken = vi.fn();
    void sleep(50).then(woken);
    await vi.advanceTimersByTimeAsync(49);
    expect(woken).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(woken).toHaveBeenCalledOnce();
  });

  test("repeated work begins again an interval after it has ended, until it is stopped", async () => {
    let end = promised();
    const work = vi.fn(() => end.promise);
    const { stop } = repeat(100, work);
    await vi.advanceTimersByTimeAsync(99);
    expect(work).toHaveBeenCalledTimes(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(work).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(1000);
    expect(work).toHaveBeenCalledTimes(1);
    end.resolve();
    await vi.advanceTimersByTimeAsync(100);
    expect(work).toHaveBeenCalledTimes(2);
    // Stopped while the work runs: it does not begin again.
    end = promised();
    await vi.advanceTimersByTimeAsync(100);
    expect(work).toHaveBeenCalledTimes(3);
    stop();
    end.resolve();
    await vi.advanceTimersByTimeAsync(1000);
    expect([work.mock.calls.length, vi.getTimerCount()]).toEqual([3, 0]);
  });

  test("repeated work that is stopped between two runs does not begin again", async () => {
    const work = vi.fn(async () => {});
    const { stop } = repeat(100, work);
    await vi.advanceTimersByTimeAsync(150);
    stop();
    await vi.advanceTimersByTimeAsync(1000);
    expect([work.mock.calls.length, vi.getTimerCount()]).toEqual([1, 0]);
  });
});

test.each([
  ["where there is setImmediate", globalThis.setImmediate],
  ["elsewhere", undefined],
])("a pause lets what has arrived run first, %s", async (_where, immediate) => {
  vi.stubGlobal("setImmediate", immediate);
  const order: string[] = [];
  const paused = pause().then(() => order.push("after the pause"));
  for (let step = 0; step < 3; step++) await Promise.resolve().then(() => order.push("arrived"));
  await paused;
  vi.unstubAllGlobals();
  expect(order).toEqual(["arrived", "arrived", "arrived", "after the pause"]);
});

describe("a limit", () => {
  test("runs no more at a time than it allows, the others in the order of their calls, and goes on after a failure", async () => {
    const limit = createLimit(2);
    const begun: number[] = [];
    const ends = Array.from({ length: 5 }, () => promised<number>());
    const results = ends.map(({ promise }, index) =>
      limit(() => {
        begun.push(index);
        return promise;
      }),
    );
    const settle = () => new Promise((resolve) => setImmediate(resolve));
    await settle();
    expect(begun).toEqual([0, 1]);
    ends[1]?.reject(new Error("of the work"));
    await expect(results[1]).rejects.toThrow("of the work");
    await settle();
    expect(begun).toEqual([0, 1, 2]);
    for (const index of [2, 0, 3, 4]) ends[index]?.resolve(index);
    expect(await Promise.all([results[0], results[2], results[3], results[4]])).toEqual([0, 2, 3, 4]);
    // All places are free again.
    begun.length = 0;
    const again = [5, 6, 7].map((index) => limit(async () => void begun.push(index)));
    await Promise.resolve();
    expect(begun).toEqual([5, 6]);
    await Promise.all(again);
  });
});
