import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Clock, later, systemClock } from "./clock.ts";
import { pause, within } from "./waits.ts";

describe("with timers", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("work that ends in time settles as it does, and leaves no timer", async () => {
    const failure = new Error("of the work");
    expect(await within(Promise.resolve(1), 1000, "too late")).toBe(1);
    await expect(within(Promise.reject(failure), 1000, "too late")).rejects.toBe(failure);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("work that takes longer rejects after its time with the message", async () => {
    const outcome = vi.fn();
    within(new Promise(() => {}), 1000, "too late").catch(outcome);
    await vi.advanceTimersByTimeAsync(999);
    expect(outcome).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    await vi.waitFor(() => expect(outcome.mock.calls).toEqual([[new Error("too late")]]));
  });

  test("a result that comes too late is handed over, one that comes in time is not", async () => {
    const late: unknown[] = [];
    let end: (result: string) => void = () => {};
    const work = new Promise<string>((resolve) => {
      end = resolve;
    });
    const outcome = within(work, 1000, "too late", { tooLate: (result) => late.push(result) });
    const refused = expect(outcome).rejects.toThrow("too late");
    await vi.advanceTimersByTimeAsync(1000);
    await refused;
    expect(late).toEqual([]);
    end("at last");
    await vi.waitFor(() => expect(late).toEqual(["at last"]));
    await within(Promise.resolve("at once"), 1000, "too late", { tooLate: (result) => late.push(result) });
    expect(late).toEqual(["at last"]);
  });

  test("a pause ends after its time", async () => {
    const ended = vi.fn();
    void pause(systemClock, 50).then(ended);
    await vi.advanceTimersByTimeAsync(49);
    expect(ended).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(ended).toHaveBeenCalledOnce();
  });
});

test("an answer that has arrived counts, although its time is over before the process reads it", async () => {
  let read: () => void = () => {};
  let fire: () => void = () => {};
  const busy: Clock = {
    ...systemClock,
    setTimeout(callback) {
      fire = callback;
    },
    afterReads: (callback) => {
      read();
      queueMicrotask(() => queueMicrotask(callback));
    },
  };
  const answer = new Promise<string>((resolve) => {
    read = () => resolve("arrived");
  });
  const outcome = within(answer, 1000, "too late", { clock: busy });
  fire();
  expect(await outcome).toBe("arrived");
});

test("a timer does not keep the process alive, and may be a number", () => {
  const timer = later(() => {}, 60_000);
  expect(timer.hasRef()).toBe(false);
  clearTimeout(timer);
  const setTimeoutOfBrowsers = vi.fn(() => 7);
  vi.stubGlobal("setTimeout", setTimeoutOfBrowsers);
  const work = () => {};
  expect(later(work, 5)).toBe(7);
  vi.unstubAllGlobals();
  expect(setTimeoutOfBrowsers).toHaveBeenCalledWith(work, 5);
});
