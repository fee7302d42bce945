/** Checks the builders of conditions: a misspelt attribute or a wrong operand does not compile, and groups mean what they say. */
import {
  defineTrusted,
  featureFlags,
  flagConditions,
  type RuleConditions,
  type TrustedPath,
} from "@halyard/flags";
import { compileFlag } from "@halyard/flags/engine";
import { expect, expectTypeOf, test } from "vitest";

const trusted = defineTrusted({
  user: ["plan", "createdAt"],
  organization: ["tier"],
  compute: async ({ user }) => ({ seats: user === undefined ? 0 : 12, limits: { rows: 5 } }),
});

test("conditions know the paths of the trusted attributes", () => {
  expectTypeOf<TrustedPath<typeof trusted>>().toEqualTypeOf<
    | "user.plan"
    | "user.createdAt"
    | "organization.tier"
    | "trusted.seats"
    | `trusted.seats.${string}`
    | "trusted.limits"
    | `trusted.limits.${string}`
  >();
  const { when } = flagConditions(trusted);
  expect(when("user.plan", "equals", "pro")).toEqual({
    attribute: "user.plan",
    operator: "equals",
    value: "pro",
  });
  when("trusted.seats", "greater_than", 1);
  when("trusted.limits.rows", "greater_than", 1);
  when("email", "ends_with", "@example.com");
  when("geo.country", "in", ["NO"]);
  when("attributes.beta", "equals", true);
  // @ts-expect-error misspelt
  when("user.pln", "equals", "pro");
  // @ts-expect-error misspelt
  when("emial", "equals", "x");
  // @ts-expect-error not returned by compute
  when("trusted.seat", "equals", 1);
  // @ts-expect-error not listed
  when("session.channel", "equals", "x");
  // @ts-expect-error a bare name is read from what callers send
  when("plan", "equals", "pro");
  // @ts-expect-error not an operator
  when("user.plan", "is", "pro");
});

test("the declaration is the option", () => {
  expectTypeOf(featureFlags).toBeCallableWith({ trusted });
  expectTypeOf(featureFlags).toBeCallableWith({ trusted: { user: ["plan"] } });
});

test("without compute, no path under trusted is known", () => {
  const { when } = flagConditions(defineTrusted({ user: ["plan"] }));
  // @ts-expect-error there is no compute
  when("trusted.seats", "equals", 1);
});

test("without trusted attributes, only the paths of every context are known", () => {
  const { when } = flagConditions();
  when("email", "equals", null);
  // @ts-expect-error there are no trusted attributes
  when("user.plan", "equals", "pro");
});

test("an operator takes only operands that it can compare with", () => {
  const { when } = flagConditions();
  when("role", "in", ["admin", "owner"]);
  when("attributes.since", "less_than_or_equal", "2026-01-31");
  when("attributes.tags", "contains", 3);
  // @ts-expect-error not a list
  when("role", "not_in", "admin");
  // @ts-expect-error not text
  when("email", "starts_with", 1);
  // @ts-expect-error not text
  when("email", "regex", ["a"]);
  // @ts-expect-error neither a number nor a date
  when("attributes.age", "greater_than", true);
});

test("a group holds as its name says, nested and with segments", () => {
  const { all, any, inSegment, none, when } = flagConditions();
  const [norway, ada] = [when("geo.country", "equals", "NO"), when("userId", "equals", "ada")];
  const segments = new Map([["beta", any(when("role", "equals", "beta"))]]);
  const holdsFor = (conditions: RuleConditions) => {
    const rule = { id: "r", enabled: true, conditions, value: true, salt: "s" };
    const flag = compileFlag({ key: "k", type: "boolean", enabled: true, rules: [rule] }, segments);
    const contexts = [
      { userId: "ada" },
      { geo: { country: "NO" } },
      { userId: "ada", geo: { country: "NO" } },
      {},
    ];
    return contexts.map((context) => flag.evaluate({ ...context, role: "beta" }).value);
  };
  expect(holdsFor(all(ada, norway))).toEqual([false, false, true, false]);
  expect(holdsFor(any(ada, norway))).toEqual([true, true, true, false]);
  expect(holdsFor(none(ada, norway))).toEqual([false, false, false, true]);
  expect(holdsFor(all(ada, none(norway)))).toEqual([true, false, false, false]);
  expect(holdsFor(any(norway, all(ada, inSegment("beta"))))).toEqual([true, true, true, false]);
  expect(holdsFor(all(inSegment("beta")))).toEqual([true, true, true, true]);
  expect(holdsFor(none(inSegment("beta")))).toEqual([false, false, false, false]);
});

test("only `all` may be empty, because an empty group is everyone", () => {
  const { all, any, none } = flagConditions();
  expect(all()).toEqual({ conditions: [] });
  // @ts-expect-error without members it would hold for everyone
  any();
  // @ts-expect-error without members it would hold for no user
  none();
});
