/** Checks that logged errors contain no data of callers. */
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { loggable } from "./loggable.ts";

test("a logged error keeps its message and codes, and contains no statement values of the driver", () => {
  // The shape of errors of mysql2 and pg.
  const driver = Object.assign(new Error("Data too long for column"), {
    code: "ER_DATA_TOO_LONG",
    errno: 1406,
    sql: "insert into t values ('canary')",
    detail: "Failing row contains (canary).",
  });
  // The shape of errors of Drizzle.
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

test("an endless chain of causes is cut, and a value that is not an error is returned unchanged", () => {
  const error = new Error("round and round");
  error.cause = error;
  expect(inspect(loggable(error), { depth: 20 }).match(/round and round/g)).toHaveLength(5);
  expect(loggable("text")).toBe("text");
});
