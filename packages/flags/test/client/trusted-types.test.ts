/** Checks the types of conditions on trusted attributes: a misspelt path does not compile. */
import { defineTrusted, featureFlags, type TrustedPath, trustedConditions } from "@halyard/flags";
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
  const { when } = trustedConditions(trusted);
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
  const { when } = trustedConditions(defineTrusted({ user: ["plan"] }));
  // @ts-expect-error there is no compute
  when("trusted.seats", "equals", 1);
});
