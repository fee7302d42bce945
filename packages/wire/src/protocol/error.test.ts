import { describe, expect, expectTypeOf, test } from "vitest";
import { ERROR_CODES, type ErrorCode, WsError } from "./error.ts";

const terminal = Object.keys(ERROR_CODES).filter(
  (code) => ERROR_CODES[code as ErrorCode].class === "terminal",
);

describe("ERROR_CODES", () => {
  test("has thirteen codes, of which the transient ones and ABORTED are retryable", () => {
    expect(Object.keys(ERROR_CODES)).toHaveLength(13);
    expect(terminal).toHaveLength(8);
    const retryable = Object.entries(ERROR_CODES).filter(([, info]) => info.retryable);
    expect(retryable.map(([code]) => code).sort()).toEqual([
      "ABORTED",
      "DEADLINE_EXCEEDED",
      "RESOURCE_EXHAUSTED",
      "UNAVAILABLE",
    ]);
  });
});

describe("WsError", () => {
  test("infers retryable from the code unless it is given", () => {
    expect(new WsError("UNAVAILABLE").retryable).toBe(true);
    expect(new WsError("UNAVAILABLE", "", undefined, { retryable: false }).retryable).toBe(false);
    expect(new WsError("MY_OWN").retryable).toBe(false);
    expect(new WsError("MY_OWN", "", undefined, { retryable: true }).retryable).toBe(true);
    expect(new WsError("constructor").retryable).toBe(false);
  });

  test.each(terminal)("refuses retryAfterMs with the terminal code %s", (code) => {
    expect(() => new WsError(code, "", undefined, { retryAfterMs: 1 })).toThrow(code);
  });

  test("keeps the original as cause in wrap, and wrap returns a WsError unchanged", () => {
    const original = new TypeError("inner");
    const wrapped = WsError.wrap(original, "UNAVAILABLE");
    expect(wrapped).toMatchObject({
      code: "UNAVAILABLE",
      message: "inner",
      cause: original,
      originalError: original,
    });
    expect(WsError.wrap(wrapped, "INTERNAL")).toBe(wrapped);
    expect(WsError.wrap("text", "INTERNAL").message).toBe("text");
  });

  test("has a payload without stack and cause, and with retryable only when it was given", () => {
    const wrapped = WsError.wrap(new Error("inner"), "UNAVAILABLE", "outer", { a: 1 });
    expect(wrapped.toPayload()).toEqual({ code: "UNAVAILABLE", message: "outer", details: { a: 1 } });
    expect(new WsError("ABORTED", "m", undefined, { retryable: false }).toPayload()).toEqual({
      code: "ABORTED",
      message: "m",
      retryable: false,
    });
    expect(JSON.stringify(wrapped)).toContain("inner");
  });

  test("is recognised by isWsError also from another copy of the package", () => {
    const foreign = Object.assign(new Error("x"), { name: "WsError", code: "INTERNAL" });
    expect(WsError.isWsError(foreign)).toBe(true);
    for (const other of [new Error("x"), null, {}, "INTERNAL", { name: "WsError", code: "INTERNAL" }]) {
      expect(WsError.isWsError(other)).toBe(false);
    }
    expectTypeOf(new WsError("NOT_FOUND").retryable).toEqualTypeOf<boolean>();
  });
});
