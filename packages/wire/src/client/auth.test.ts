import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { WsError } from "../protocol/error.ts";
import { address } from "./auth.ts";
import type { ClientOptions } from "./options.ts";

const page = { location: { href: "https://app.example/rooms/1?x=2" } } as never;
const nowhere = {} as never;

describe("the URL of a socket", () => {
  test.each<[string | URL, string]>([
    ["ws://a.example/x?y=1", "ws://a.example/x?y=1"],
    [new URL("wss://a.example"), "wss://a.example/"],
    ["http://a.example/x", "ws://a.example/x"],
    ["/ws", "wss://app.example/ws"],
    ["ws", "wss://app.example/rooms/ws"],
  ])("%s becomes %s in a page", (url, expected) => {
    expect(address({ url }, page, null)[0]).toBe(expected);
  });

  test("cannot be relative without a page", () => {
    expect(() => address({ url: "/ws" }, nowhere, null)).toThrow('The url "/ws" is not valid.');
  });

  test("has no fragment, which a socket would refuse", () => {
    expect(address({ url: "ws://a.example/x#y" }, nowhere, null)[0]).toBe("ws://a.example/x");
  });

  test("needs neither setters nor a correct path from the platform's URL, as in React Native", () => {
    const Platform = URL;
    // React Native's URL has getters only, and adds a slash to the path.
    vi.stubGlobal(
      "URL",
      class {
        readonly href: string;
        constructor(url: string, base?: string) {
          this.href = `${new Platform(url, base).href}/`;
        }
        get searchParams(): never {
          throw new Error("not implemented");
        }
      },
    );
    try {
      const auth: ClientOptions["auth"] = { getToken: () => null };
      expect(address({ url: "https://a.example/ws", auth }, nowhere, "t")[0]).toBe(
        "wss://a.example/ws?access_token=t",
      );
    } finally {
      vi.unstubAllGlobals();
    }
  });

  test("has the token before its other parameters", () => {
    const auth: ClientOptions["auth"] = { getToken: () => null };
    expect(address({ url: "ws://a/?b=?&access_token=old", auth }, nowhere, "new")[0]).toBe(
      "ws://a/?access_token=new&b=?&access_token=old",
    );
  });

  test("carries any token in the query and decodes it unchanged", () => {
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

  test("goes with valid protocol names only, and an error for an invalid token does not contain it", () => {
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
