import { inspect } from "node:util";
import { expect, test } from "vitest";
import { loggable } from "./loggable.ts";

test("an error in the log says what went wrong, and has none of the values that drivers put into it", () => {
  // As mysql2 and pg give them.
  const driver = Object.assign(new Error("Data too long for column"), {
    code: "ER_DATA_TOO_LONG",
    errno: 1406,
    sql: "insert into t values ('canary')",
    detail: "Failing row contains (canary).",
  });
  // As Drizzle does.
  const error = new Error("Failed query: insert into t values (?)\nparams: canary,\ncanary", {
    cause: driver,
  });
  const text = inspect(loggable(error), { depth: 10 });
  expect(text).not.toContain("canary");
  for (const part of ["Failed query: insert into t", "Data too long", "ER_DATA_TOO_LONG", "1406"]) {
    expect(text).toContain(part);
  }
  expect(text).toContain("loggable.test.ts");
});

test("a chain of causes that has no end does no harm, and what is no error stays as it is", () => {
  const error = new Error("round and round");
  error.cause = error;
  expect(inspect(loggable(error), { depth: 20 }).match(/round and round/g)).toHaveLength(5);
  expect(loggable("text")).toBe("text");
});
