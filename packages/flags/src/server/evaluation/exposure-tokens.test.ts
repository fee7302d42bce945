import { describe, expect, test } from "vitest";
import { createExposureTokens, type ShownFlag, secretsOf } from "./exposure-tokens.ts";

const NOON = Date.parse("2030-05-15T12:30:00.000Z");
const HOUR_MS = 3_600_000;
const SECRET = "a secret of the application, of sufficient length";

const shown: ShownFlag = {
  tenant: "org-ü",
  flagId: "0190a000-0000-7000-8000-000000000001",
  arm: "träge 🐢",
  byChance: true,
  revision: 17,
  subject: "user-1",
  userId: "user-1",
  anonymousId: "visitor-1",
  atMs: NOON,
};

describe("an exposure token", () => {
  const tokens = createExposureTokens([SECRET]);

  test.each<[string, Partial<ShownFlag>]>([
    ["the user is the subject", {}],
    ["the visitor is the subject", { subject: "visitor-1" }],
    ["another unit is the subject", { subject: "acme" }],
    ["the caller has no id", { subject: undefined, userId: undefined, anonymousId: undefined }],
    ["chance did not decide", { byChance: false }],
  ])("says what was shown when %s", (_case, fields) => {
    const given = { ...shown, ...fields };
    const token = tokens.sign(given);
    expect(token).toMatch(/^[\w-]+\.[\w-]{22}$/);
    expect(tokens.read(token, NOON)).toEqual(JSON.parse(JSON.stringify(given)));
  });

  test("is valid for 24 hours", () => {
    const token = tokens.sign(shown);
    expect(tokens.read(token, NOON + 24 * HOUR_MS - 1)).toBeDefined();
    expect(tokens.read(token, NOON + 24 * HOUR_MS)).toBeUndefined();
  });

  test("with any character changed, added or removed is not accepted", () => {
    const token = tokens.sign(shown);
    for (let at = 0; at < token.length; at++) {
      const other = token[at] === "A" ? "B" : "A";
      expect(tokens.read(token.slice(0, at) + other + token.slice(at + 1), NOON)).toBeUndefined();
      expect(tokens.read(token.slice(0, at), NOON)).toBeUndefined();
    }
    for (const bad of [`${token}A`, `A${token}`, `${token} `, "", ".", "a.b", null, 1, {}, ["a"]]) {
      expect(tokens.read(bad, NOON)).toBeUndefined();
    }
    expect(tokens.read(`${"A".repeat(100_000)}.${"A".repeat(22)}`, NOON)).toBeUndefined();
  });

  test("of another secret is not accepted, and one of a previous secret is", () => {
    const token = tokens.sign(shown);
    expect(createExposureTokens(["another secret"]).read(token, NOON)).toBeUndefined();
    const rotated = createExposureTokens(["another secret", SECRET]);
    expect(rotated.read(token, NOON)).toBeDefined();
    expect(tokens.read(rotated.sign(shown), NOON)).toBeUndefined();
  });
});

test("the secrets of an application are the current one, then the previous ones", () => {
  expect(secretsOf({ secret: "one", secretConfig: "one" })).toEqual(["one"]);
  const keys = new Map([
    [1, "one"],
    [2, "two"],
  ]);
  const secretConfig = { keys, currentVersion: 2, legacySecret: "zero" };
  expect(secretsOf({ secret: "two", secretConfig })).toEqual(["two", "one", "zero"]);
});
