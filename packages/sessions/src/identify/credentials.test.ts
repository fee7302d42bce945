import { describe, expect, test } from "vitest";
import { type CredentialNames, credentialNames, readCredentials } from "./credentials.ts";
import type { HostContext } from "./request.ts";

const NAMES: CredentialNames = {
  sessionToken: "better-auth.session_token",
  sessionData: "better-auth.session_data",
  dontRemember: "better-auth.dont_remember",
  hasCookieCache: false,
  readsAuthorization: true,
  keyHeaders: ["x-api-key"],
};

const read = (headers: Record<string, string>, names: Partial<CredentialNames> = {}) =>
  readCredentials({ ...NAMES, ...names }, (name) => headers[name]);
const cookie = (text: string, names?: Partial<CredentialNames>) => read({ cookie: text }, names);

describe("the credentials of a request as one cache key", () => {
  test("are the session cookie, regardless of other cookies", () => {
    const sessionOnly = cookie("better-auth.session_token=abc.def%3D");
    expect(sessionOnly).toEqual({ cacheKey: "better-auth.session_token=abc.def%3D" });
    for (const others of [
      "theme=dark; better-auth.session_token=abc.def%3D",
      "better-auth.session_token=abc.def%3D; theme=dark",
      "a=1;better-auth.session_token=abc.def%3D;b=2",
      "__Secure-better-auth.session_token=x; better-auth.session_token=abc.def%3D",
      "better-auth.session_token_multi-x=y; better-auth.session_token=abc.def%3D",
      " better-auth.session_token=abc.def%3D",
      "better-auth.session_token=abc.def%3D; better-auth.dont_remember_x=y",
    ]) {
      expect(cookie(others)).toEqual(sessionOnly);
    }
  });

  test("are `none` without a session cookie, a bearer token or an API key", () => {
    for (const headers of [{}, { cookie: "" }, { cookie: "theme=dark" }, { origin: "https://a.example" }]) {
      expect(read(headers)).toBe("none");
    }
    expect(cookie("better-auth.dont_remember=true.x")).toBe("none");
    expect(read({ authorization: "Basic x" }, { readsAuthorization: false })).toBe("none");
    expect(read({ "x-api-key": "k" }, { keyHeaders: [] })).toBe("none");
  });

  test("are `unclear` where Better Auth might parse the cookies differently", () => {
    for (const text of [
      "better-auth.session_token=a; better-auth.session_token=b",
      "better-auth.session_token =a",
      "\u00a0better-auth.session_token=a",
      "x=better-auth.session_token=a",
      "\u007fbetter-auth.session_token=a",
      "junk better-auth.session_token=a",
      "j better-auth.session_token=a",
      "better-auth.session_token",
      // Better Auth deletes a copy of the session that it does not use.
      "better-auth.session_token=a; better-auth.session_data=b",
      "better-auth.session_data=b",
      "better-auth.session_token=a; better-auth.dont_remember=b; better-auth.dont_remember=c",
    ]) {
      expect(cookie(text), text).toBe("unclear");
    }
    // A copy without the session it belongs to.
    expect(cookie("better-auth.session_data=b", { hasCookieCache: true })).toBe("unclear");
  });

  test("include no other cookie than the session and its copy, and do not confuse these two", () => {
    const read = (text: string) => cookie(text, { hasCookieCache: true });
    const both = read("better-auth.session_token=a; better-auth.session_data=b");
    expect(read("x=1;better-auth.session_token=a;y=2;  better-auth.session_data=b; z=3")).toEqual(both);
    expect(read("better-auth.session_token=abetter-auth.session_data=b")).not.toEqual(both);
  });

  test("include the cookie's copy of the session and the cookie that prevents its renewal", () => {
    const all = [
      cookie("better-auth.session_token=a; better-auth.session_data=b", { hasCookieCache: true }),
      cookie("better-auth.session_token=a; better-auth.session_data=c", { hasCookieCache: true }),
      cookie("better-auth.session_token=a; better-auth.session_data.0=b; better-auth.session_data.1=c", {
        hasCookieCache: true,
      }),
      cookie("better-auth.session_token=a; better-auth.dont_remember=true.x"),
      cookie("better-auth.session_token=a"),
    ];
    expect(new Set(all.map((credentials) => JSON.stringify(credentials))).size).toBe(all.length);
    expect(all).not.toContain("unclear");
  });

  test("do not depend on the value of the cookie that prevents renewal, nor confuse it with a session cookie", () => {
    const [first, second] = ["true.x", "y".repeat(3000)].map((value) =>
      cookie(`better-auth.session_token=a; better-auth.dont_remember=${value}`),
    );
    expect(second).toEqual(first);
    expect(cookie("better-auth.session_token=abetter-auth.dont_remember")).not.toEqual(first);
  });

  test("are `unclear` when they are longer than 4,096 characters", () => {
    const headers = (length: number) => ({ authorization: `Bearer ${" ".repeat(length)}t` });
    expect(read(headers(4000))).toEqual({ cacheKey: expect.any(String) });
    expect(read(headers(4096))).toBe("unclear");
    const name = "better-auth.session_token=";
    const text = (length: number) => name.padEnd(length, "a");
    expect([cookie(text(4096)), cookie(text(4097))]).toEqual([{ cacheKey: text(4096) }, "unclear"]);
  });

  test("differ between a bearer token, an API key and a cookie with the same text, alone and combined", () => {
    const text = "better-auth.session_token=a";
    const all = [
      { cookie: text },
      { authorization: text },
      { "x-api-key": text },
      { cookie: text, authorization: text },
      { cookie: text, "x-api-key": text },
      { authorization: text, "x-api-key": text },
    ].map((headers) => JSON.stringify(read(headers)));
    expect(new Set(all).size).toBe(all.length);
  });
});

describe("the host's options decide", () => {
  const namesOf = (plugins?: readonly string[], session?: object) => {
    const named = (name: string) => ({ name });
    const authCookies = {
      sessionToken: named("token"),
      sessionData: named("data"),
      dontRememberToken: named("dont"),
    };
    const options = { ...(plugins && { plugins: plugins.map((id) => ({ id })) }), session };
    return credentialNames({ authCookies, options } as unknown as HostContext);
  };

  test("in which cookies credentials are expected", () => {
    const cookies = { sessionToken: "token", sessionData: "data", dontRemember: "dont" };
    expect(namesOf()).toEqual({
      ...cookies,
      hasCookieCache: false,
      readsAuthorization: false,
      keyHeaders: [],
    });
    expect(namesOf([], {})).toEqual(namesOf());
    expect(namesOf(["admin"], { cookieCache: { enabled: false } })).toEqual(namesOf());
    expect(namesOf([], { cookieCache: { enabled: true } })).toEqual({ ...namesOf(), hasCookieCache: true });
  });

  test("whether a bearer token or an API key is a credential", () => {
    expect(namesOf(["admin", "bearer"])).toEqual({ ...namesOf(), readsAuthorization: true });
    expect(namesOf(["admin", "api-key"])).toEqual({ ...namesOf(), keyHeaders: ["x-api-key"] });
  });
});
