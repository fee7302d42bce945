import { describe, expect, test } from "vitest";
import { PrincipalCache } from "../identify/principal-cache.ts";
import type { IdentityChange } from "./identity-change.ts";

function setUp() {
  let passedMs = 0;
  const clock = () => passedMs;
  return {
    principals: new PrincipalCache({ monotonicMs: clock, nowMs: clock }),
    pass: (ms: number) => {
      passedMs += ms;
    },
  };
}

describe("a change by this process", () => {
  const facts = {
    caller: { kind: "user" as const, user: { id: "ann", email: "ann@example.com" } },
    credentialId: "token-ann",
    validUntilMs: Number.POSITIVE_INFINITY,
  };

  test.each<[string, IdentityChange]>([
    ["of the session", { kind: "session", id: "token-ann" }],
    ["of the user", { kind: "user", id: "ann" }],
    ["of rows that are not known", { kind: "unknown" }],
  ])("%s outdates a verification that began before it and ends after it", (_what, change) => {
    const { principals, pass } = setUp();
    const startedAt = principals.now();
    pass(5);
    principals.apply(change);
    pass(5);
    expect(principals.remember("ann", facts, startedAt)).toBeUndefined();
    expect(principals.recall("ann")).toBeUndefined();
    expect(principals.remember("ann", facts, principals.now())).toBeDefined();
    expect(principals.recall("ann")).toMatchObject({ isStale: false });
  });

  test("of another caller leaves a verification as it is", () => {
    const { principals, pass } = setUp();
    const startedAt = principals.now();
    pass(5);
    principals.apply({ kind: "session", id: "token-bob" });
    principals.apply({ kind: "user", id: "bob" });
    principals.apply({ kind: "organization", id: "acme" });
    expect(principals.remember("ann", facts, startedAt)).toBeDefined();
  });

  test.each<[string, IdentityChange]>([
    ["of the membership", { kind: "member", id: "m1" }],
    ["of the organization", { kind: "organization", id: "acme" }],
  ])("%s removes its members from the cache, and outdates a query that began before it", (_what, change) => {
    const { principals, pass } = setUp();
    const [ann, bob] = ["ann", "bob"].map((name) => {
      const principal = principals.remember(name, { ...facts, credentialId: name }, principals.now());
      if (principal === undefined) throw new Error("A change was made at the same time.");
      return principal;
    });
    if (ann === undefined || bob === undefined) throw new Error("Two principals are missing.");
    ann.addMembership("acme", { id: "m1", role: "member" });
    const startedAt = principals.now();
    pass(5);
    principals.apply(change);
    principals.addMembership(bob, "acme", { id: "m1", role: "member" }, startedAt);
    expect(principals.recall("ann")).toBeUndefined();
    expect(principals.recall("bob")).toMatchObject({ isStale: false });
    expect(bob.memberships).toBeUndefined();
    pass(5);
    principals.addMembership(bob, "acme", { id: "m1", role: "member" }, principals.now());
    expect(bob.memberships?.get("acme")).toEqual({ id: "m1", role: "member" });
  });

  test("that is one of more than 10,000 outdates the verifications that began before the forgotten ones", () => {
    const { principals, pass } = setUp();
    const beforeAll = principals.now();
    pass(1);
    principals.apply({ kind: "user", id: "ann" });
    pass(1);
    const afterAnn = principals.now();
    for (let at = 0; at < 10_000; at++) principals.apply({ kind: "user", id: `other-${at}` });
    expect(principals.remember("ann", facts, beforeAll)).toBeUndefined();
    const bob = { ...facts, caller: { ...facts.caller, user: { id: "bob", email: "b@example.com" } } };
    expect(principals.remember("bob", { ...bob, credentialId: "token-bob" }, beforeAll)).toBeUndefined();
    expect(principals.remember("ann", facts, afterAnn)).toBeDefined();
  });

  test("is kept in mind for 15 s, and a verification that takes longer is not remembered", () => {
    const { principals, pass } = setUp();
    const startedAt = principals.now();
    pass(15_000);
    expect(principals.remember("in time", facts, startedAt)).toBeDefined();
    pass(1);
    expect(principals.remember("late", facts, startedAt)).toBeUndefined();
  });
});

test("one session is remembered at most 8 times, the latest ones", () => {
  const { principals } = setUp();
  const facts = (credentialId: string) => ({
    caller: { kind: "user" as const, user: { id: "ann", email: "ann@example.com" } },
    credentialId,
    validUntilMs: Number.POSITIVE_INFINITY,
  });
  principals.remember("other session", facts("other"), principals.now());
  for (let spelling = 0; spelling < 20; spelling++) {
    principals.remember(`spelling ${spelling}`, facts("token-ann"), principals.now());
  }
  expect(principals.size).toBe(9);
  expect(principals.recall("spelling 11")).toBeUndefined();
  expect(principals.recall("spelling 12")).toBeDefined();
  expect(principals.recall("other session")).toBeDefined();
});
