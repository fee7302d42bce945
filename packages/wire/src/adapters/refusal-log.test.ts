import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { describeError, quoted, RefusalLog } from "./refusal-log.ts";

const warn = vi.spyOn(console, "warn");
beforeEach(() => void warn.mockImplementation(() => undefined));
afterEach(() => void warn.mockReset());

test("each reason is logged once per minute, and the next line counts the others", () => {
  let now = 0;
  const log = new RefusalLog(() => now);
  for (let i = 0; i < 5; i++) log.refused("origin", "An upgrade was refused.");
  log.refused("login", "A login was refused.");
  expect(warn).toHaveBeenCalledTimes(2);
  now = 59_999;
  log.refused("origin", "An upgrade was refused.");
  expect(warn).toHaveBeenCalledTimes(2);
  now = 60_000;
  log.refused("origin", "An upgrade was refused.");
  expect(warn.mock.calls.map(([line]) => line)).toEqual([
    "[halyard] An upgrade was refused. Refusals for this reason are logged at most once per minute. See https://github.com/halyard/halyard/blob/main/docs/guide/wire-troubleshooting.md",
    "[halyard] A login was refused. Refusals for this reason are logged at most once per minute. See https://github.com/halyard/halyard/blob/main/docs/guide/wire-troubleshooting.md",
    "[halyard] An upgrade was refused. 5 more were refused since the last line. Refusals for this reason are logged at most once per minute. See https://github.com/halyard/halyard/blob/main/docs/guide/wire-troubleshooting.md",
  ]);
});

test("values of the peer are short and cannot add a line to the log", () => {
  expect(quoted("https://a.test\n[halyard] forged")).toBe('"https://a.test\\n[halyard] forged"');
  expect(quoted("x".repeat(5_000)).length).toBeLessThan(110);
});

test("an error is described by its class and place, never by its message", () => {
  const error = new TypeError("the token is\n    at secret-1234");
  expect(describeError(error)).toMatch(/^TypeError at .*refusal-log\.test\.ts:\d+:\d+\)?$/);
  expect(describeError("secret-1234")).toBe("a value of type string");
  const wrapped = new Error("secret-1", {
    cause: new Error("secret-2", { cause: new TypeError("secret-3", { cause: "secret-4" }) }),
  });
  expect(describeError(wrapped)).toMatch(
    /^Error at .*\.ts:\d+:\d+\)?, caused by TypeError at .*\.ts:\d+:\d+\)?$/,
  );
  expect(describeError(wrapped)).not.toContain("secret-");
  expect(describeError(Object.assign(new Error("secret-4"), { code: "42P01" }))).toMatch(/^Error 42P01 at /);
  expect(describeError(Object.assign(new Error("secret-5"), { code: "secret-6" }))).toMatch(/^Error at /);
});
