import { afterEach, expect, test, vi } from "vitest";
import { rarely } from "./rarely.ts";

afterEach(() => void vi.useRealTimers());

test("the same message is logged at most once a minute, and others are not held back by it", () => {
  vi.useFakeTimers();
  const logged: string[] = [];
  const warn = rarely((message) => logged.push(message));
  for (let count = 0; count < 10_000; count++) warn("one", undefined);
  warn("two", undefined);
  expect(logged).toEqual(["one", "two"]);
  vi.advanceTimersByTime(60_000);
  warn("one", undefined);
  expect(logged).toEqual(["one", "two", "one"]);
});
