/** Checks how the rate limits of the host and of the plugin work together. */
import type { AuthContext } from "@better-auth/core";
import { describe, expect, test } from "vitest";
import { initLimits, limitsAdvice } from "./create-limits.ts";
import { hostRuleFor } from "./host.ts";

type Rules = NonNullable<AuthContext["rateLimit"]["customRules"]>;
const RULE = { window: 60, max: 3 };

function rulesAfterInit(customRules?: Rules): Rules | undefined {
  const rateLimit = { enabled: true, window: 10, max: 100, storage: "memory" as const, customRules };
  return initLimits(undefined, { rateLimit } as AuthContext, false).context.rateLimit.customRules;
}

describe("Better Auth's rate limiter", () => {
  test("is turned off for the plugin's paths, after the host's rules", () => {
    expect(Object.entries(rulesAfterInit({ "/feature-flags/*": RULE }) ?? {})).toEqual([
      ["/feature-flags/*", RULE],
      ["/feature-flags/**", false],
      ["/ofrep/**", false],
    ]);
    expect(rulesAfterInit()).toEqual({ "/feature-flags/**": false, "/ofrep/**": false });
  });

  test("keeps a rule of the host for all paths of the plugin", () => {
    expect(rulesAfterInit({ "/feature-flags/**": RULE })).toEqual({
      "/feature-flags/**": RULE,
      "/ofrep/**": false,
    });
  });
});

test("the host's rule for a path is the first one that matches", () => {
  const options = {
    rateLimit: {
      customRules: { "/feature-flags/evaluate": RULE, "/feature-flags/admin/*": RULE, "/sign-in/*": RULE },
    },
  };
  expect(hostRuleFor(options, "/feature-flags/evaluate")).toBe("/feature-flags/evaluate");
  expect(hostRuleFor(options, "/feature-flags/evaluate-batch")).toBeUndefined();
  expect(hostRuleFor(options, "/feature-flags/admin/flags")).toBe("/feature-flags/admin/*");
  expect(hostRuleFor(options, "/feature-flags/admin/flags/1")).toBeUndefined();
  expect(hostRuleFor({ rateLimit: { customRules: { "/**": RULE } } }, "/feature-flags/x/y")).toBe("/**");
  expect(hostRuleFor({}, "/feature-flags/evaluate")).toBeUndefined();
});

test.each([
  // Within a segment, Better Auth treats `**` like `*`, so such a rule does not match deeper paths.
  ["/feature-flags/admin**", "/feature-flags/admin", true],
  ["/feature-flags/admin**", "/feature-flags/admin/flags", false],
  ["/feature-flags/**/rules", "/feature-flags/rules", true],
  ["/feature-flags/**/rules", "/feature-flags/admin/flags/1/rules", true],
  ["/feature-flags/**/rules", "/feature-flags/admin/flags/1/rules/2", false],
  ["**/events", "/feature-flags/events", true],
  ["/feature-flags/event?/*", "/feature-flags/events/batch", true],
  [String.raw`/feature-flags/\*`, "/feature-flags/evaluate", false],
  ["/feature.flags/*", "/feature-flags/evaluate", false],
])("the pattern %s matches the path %s: %s", (pattern, path, isMatch) => {
  const options = { rateLimit: { customRules: { [pattern]: RULE } } };
  expect(hostRuleFor(options, path)).toBe(isMatch ? pattern : undefined);
});

describe("a host in production is warned", () => {
  const context = (fields: object, enabled = true) =>
    ({ options: {}, rateLimit: { enabled }, ...fields }) as AuthContext;
  const storage = { increment: () => 1, get: () => null, set: () => null };

  test("if its rate limits are off", () => {
    expect(limitsAdvice(false, context({}), false)).toMatch(/Rate limits are off/);
    expect(limitsAdvice({}, context({}, false), false)).toMatch(/Rate limits are off/);
    expect(limitsAdvice({}, context({}), false)).toBeUndefined();
  });

  test("if each of several processes counts alone", () => {
    expect(limitsAdvice({}, context({}), true)).toMatch(/in memory/);
    expect(limitsAdvice({}, context({ secondaryStorage: {} }), false)).toMatch(/in memory/);
    const memory = { secondaryStorage: storage, options: { rateLimit: { storage: "memory" } } };
    expect(limitsAdvice({}, context(memory), false)).toMatch(/in memory/);
    expect(limitsAdvice({}, context({ secondaryStorage: storage }), true)).toBeUndefined();
    const store = { take: async () => ({ granted: 0, resetMs: 0 }) };
    expect(limitsAdvice({ store }, context({}), true)).toBeUndefined();
  });
});
