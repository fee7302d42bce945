import { describe, expect, test } from "vitest";
import { FeatureFlagError } from "../model/errors.ts";
import { refusesWrites, storageError } from "./unavailable.ts";

const failure = (code: string | undefined, message = "of the driver") =>
  new Error("wrapped", { cause: Object.assign(new Error(message), code !== undefined && { code }) });

describe("an error of the database", () => {
  test.each([
    ["PostgreSQL, read-only", failure("25006")],
    ["PostgreSQL, no connection left", failure("53300")],
    ["PostgreSQL, starting", failure("57P03")],
    ["PostgreSQL, no connections accepted", failure("55000")],
    ["PostgreSQL, a lock that was not free", failure("55P03")],
    ["no server", failure("ECONNREFUSED")],
    ["a pool that is used up", failure(undefined, "timeout exceeded when trying to connect")],
    ["a connection that broke", failure(undefined, "Connection terminated unexpectedly")],
    ["MariaDB, read-only", failure("ER_OPTION_PREVENTS_STATEMENT")],
    ["MariaDB, no connection left", failure("ER_CON_COUNT_ERROR")],
  ])("that passes is a 503 with the time to repeat the request: %s", (_name, error) => {
    const refusal = storageError(error);
    expect(refusal).toMatchObject({ code: "STORAGE_ERROR", status: 503, details: { retryAfter: 5 } });
    expect(refusal.cause).toBe(error);
  });

  test.each([
    ["a key that exists", failure("23505")],
    ["no code", failure(undefined)],
    ["no error", { code: "25006" }],
  ])("that does not pass is a 500: %s", (_name, error) => {
    expect(storageError(error)).toMatchObject({ code: "STORAGE_ERROR", status: 500 });
  });

  test("that is an answer to the caller stays as it is", () => {
    const refusal = new FeatureFlagError("VALIDATION_ERROR", "of the caller", { cause: failure("25006") });
    expect(storageError(refusal)).toBe(refusal);
  });

  test("tells whether the database refuses all writes", () => {
    const errors = ["25006", "ER_READ_ONLY_MODE", "55P03", undefined].map((code) => failure(code));
    expect(errors.map(refusesWrites)).toEqual([true, true, false, false]);
  });
});
