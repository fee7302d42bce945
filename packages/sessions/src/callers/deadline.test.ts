import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { later, within } from "./deadline.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("work that ends in time settles as it does, and leaves no timer", async () => {
  expect(await within(Promise.resolve("done"), 1000, "late")).toBe("done");
  await expect(within(Promise.reject(new Error("failed")), 1000, "late")).rejects.toThrow("failed");
  await vi.advanceTimersByTimeAsync(0);
  expect(vi.getTimerCount()).toBe(0);
});

test("work that takes longer rejects after its time with the message", async () => {
  const outcomes: unknown[] = [];
  within(new Promise(() => {}), 1000, "late").catch((error: Error) => outcomes.push(error.message));
  await vi.advanceTimersByTimeAsync(999);
  expect(outcomes).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(outcomes).toEqual(["late"]);
});

test("a timer does not keep the process alive, and may be a number", () => {
  vi.useRealTimers();
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
