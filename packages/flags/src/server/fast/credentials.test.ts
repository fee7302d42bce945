import { describe, expect, test } from "vitest";
import { type CredentialNames, readCredential } from "./credentials.ts";

const NAMES: CredentialNames = {
  sessionToken: "better-auth.session_token",
  sessionData: "better-auth.session_data",
  dontRemember: "better-auth.dont_remember",
  hasCookieCache: false,
  readsAuthorization: true,
  keyHeaders: ["x-api-key"],
};

const read = (headers: Record<string, string>, names: Partial<CredentialNames> = {}) =>
  readCredential({ ...NAMES, ...names }, (name) => headers[name]);
const cookie = (text: string, names?: Partial<CredentialNames>) => read({ cookie: text }, names);

describe("the credential of a request", () => {
  test("is the session's cookie, whatever others there are", () => {
    const alone = cookie("better-auth.session_token=abc.def%3D");
    expect(alone).toEqual({ proof: "better-auth.session_token=abc.def%3D" });
    for (const others of [
      "theme=dark; better-auth.session_token=abc.def%3D",
      "better-auth.session_token=abc.def%3D; theme=dark",
      "a=1;better-auth.session_token=abc.def%3D;b=2",
      "__Secure-better-auth.session_token=x; better-auth.session_token=abc.def%3D",
      "better-auth.session_token_multi-x=y; better-auth.session_token=abc.def%3D",
    ]) {
      expect(cookie(others)).toEqual(alone);
    }
  });

  test("is none without one", () => {
    for (const headers of [{}, { cookie: "" }, { cookie: "theme=dark" }, { origin: "https://a.example" }]) {
      expect(read(headers)).toBe("none");
    }
    expect(read({ authorization: "Basic x" }, { readsAuthorization: false })).toBe("none");
    expect(read({ "x-api-key": "k" }, { keyHeaders: [] })).toBe("none");
  });

  test("is unclear where Better Auth might read the cookies another way", () => {
    for (const text of [
      "better-auth.session_token=a; better-auth.session_token=b",
      "better-auth.session_token =a",
      "\u00a0better-auth.session_token=a",
      "x=better-auth.session_token=a",
      "junk better-auth.session_token=a",
      "better-auth.session_token",
      // Better Auth removes a copy that it does not use.
      "better-auth.session_token=a; better-auth.session_data=b",
      "better-auth.session_data=b",
    ]) {
      expect(cookie(text), text).toBe("unclear");
    }
  });

  test("has the copy of the session in it, where there is one, and whether the session is to be prolonged", () => {
    const proofs = [
      cookie("better-auth.session_token=a; better-auth.session_data=b", { hasCookieCache: true }),
      cookie("better-auth.session_token=a; better-auth.session_data=c", { hasCookieCache: true }),
      cookie("better-auth.session_token=a; better-auth.session_data.0=b; better-auth.session_data.1=c", {
        hasCookieCache: true,
      }),
      cookie("better-auth.session_token=a; better-auth.dont_remember=true.x"),
      cookie("better-auth.session_token=a"),
    ];
    expect(new Set(proofs.map((proof) => JSON.stringify(proof))).size).toBe(proofs.length);
    expect(proofs).not.toContain("unclear");
  });

  test("tells a bearer, a key and a cookie with the same text apart, alone and together", () => {
    const text = "better-auth.session_token=a";
    const proofs = [
      { cookie: text },
      { authorization: text },
      { "x-api-key": text },
      { cookie: text, authorization: text },
      { cookie: text, "x-api-key": text },
      { authorization: text, "x-api-key": text },
    ].map((headers) => JSON.stringify(read(headers)));
    expect(new Set(proofs).size).toBe(proofs.length);
  });
});
