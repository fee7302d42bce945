import { describe, expect, test } from "vitest";
import { evaluate, type FlagType } from "./evaluate.ts";

describe("evaluate", () => {
  test("an enabled flag gives its default value", () => {
    expect(evaluate({ type: "string", enabled: true, defaultValue: "own" }, {}, "caller")).toEqual({
      value: "own",
      reason: "default",
    });
  });

  test("a disabled flag gives its own default value, not the caller's", () => {
    expect(evaluate({ type: "string", enabled: false, defaultValue: "own" }, {}, "caller")).toEqual({
      value: "own",
      reason: "disabled",
    });
  });

  test.each([false, 0, "", null, [], {}])("a stored %j is a value, not a missing one", (stored) => {
    expect(evaluate({ type: "json", enabled: true, defaultValue: stored }, {}, "caller").value).toEqual(
      stored,
    );
  });

  test.each<[FlagType, unknown]>([
    ["boolean", false],
    ["string", ""],
    ["number", 0],
    ["json", null],
  ])("a %s flag without a default value gives %j, not the caller's default", (type, empty) => {
    expect(evaluate({ type, enabled: true }, {}, "caller")).toEqual({ value: empty, reason: "default" });
  });

  test.each(["x", false, 0, "", { a: [1] }])("a flag that does not exist gives the caller's %j", (given) => {
    expect(evaluate(undefined, {}, given)).toEqual({ value: given, reason: "not_found" });
  });

  test("a flag that does not exist gives null when the caller has no default", () => {
    expect(evaluate(undefined, {}, undefined)).toEqual({ value: null, reason: "not_found" });
  });
});
