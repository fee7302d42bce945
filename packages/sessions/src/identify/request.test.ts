import { expect, test } from "vitest";
import { headersOf, type IdentityRequest, isServerCall } from "./request.ts";

const read = (call: object) => headersOf(call as IdentityRequest);

test("the headers of a request are those that Better Auth passes, and otherwise those of the HTTP request", () => {
  const passed = new Headers({ cookie: "a=1" });
  const sent = { headers: new Headers({ cookie: "b=2" }) };
  expect(read({ headers: passed, request: sent })).toBe(passed);
  expect(read({ headers: { cookie: "c=3" }, request: sent }).get("cookie")).toBe("c=3");
  expect(read({ request: sent }).get("cookie")).toBe("b=2");
  expect([...read({})]).toEqual([]);
});

test("only a call without a request and without headers is the application's own", () => {
  expect(isServerCall({ headers: undefined })).toBe(true);
  expect(isServerCall({ headers: new Headers() })).toBe(false);
  expect(isServerCall({ headers: undefined, request: { headers: new Headers() } })).toBe(false);
});
