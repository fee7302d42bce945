import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { WsError } from "../protocol/error.ts";
import { address } from "./auth.ts";
import type { ClientOptions } from "./options.ts";

const page = { location: { href: "https://app.example/rooms/1?x=2" } } as never;
const nowhere = {} as never;

describe("the address of a socket", () => {
  test.each<[string | URL, string]>([
    ["ws://a.example/x?y=1", "ws://a.example/x?y=1"],
    [new URL("wss://a.example"), "wss://a.example/"],
    ["http://a.example/x", "ws://a.example/x"],
    ["/ws", "wss://app.example/ws"],
    ["ws", "wss://app.example/rooms/ws"],
  ])("%s is %s in a page", (url, expected) => {
    expect(address({ url }, page, null)[0]).toBe(expected);
  });

  test("cannot be relative where there is no page", () => {
    expect(() => address({ url: "/ws" }, nowhere, null)).toThrow(TypeError);
  });

  test("carries any token in the query, and gives it back unchanged", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 1 }), (token) => {
        const [url, protocols] = address(
          { url: "ws://a/?b=1", auth: { getToken: () => null } },
          nowhere,
          token,
        );
        expect(new URL(url).searchParams.get("access_token")).toBe(token);
        expect(protocols).toEqual(["halyard.v1.json"]);
      }),
    );
  });

  test("offers only names that a socket accepts, or says that the token is none, without saying it", () => {
    const auth: ClientOptions["auth"] = { attach: "protocol", getToken: () => null };
    fc.assert(
      fc.property(fc.string({ minLength: 8, maxLength: 20 }), (token) => {
        try {
          const [url, protocols] = address({ url: "ws://a/", auth }, nowhere, token);
          expect(url).toBe("ws://a/");
          expect(protocols).toEqual(["halyard.v1.json", `bearer.${token}`]);
          expect(token).toMatch(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/);
        } catch (error) {
          if (!WsError.isWsError(error)) throw error;
          expect(error.message).not.toContain(token);
        }
      }),
    );
  });
});
