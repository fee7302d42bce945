/** Checks the rate limits of one process. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LimitPrincipal, LimitRule, LimitVerdict } from "./limits.ts";
import { MemoryLimits } from "./memory-limits.ts";
import { createQuotas, DEFAULT_QUOTAS, type QuotaOptions } from "./rules.ts";

const USER: LimitPrincipal = { kind: "user", id: "u" };
const address = (id: string): LimitPrincipal => ({ kind: "address", id });

function start({ quotas = {}, maxBuckets = 100 }: { quotas?: QuotaOptions; maxBuckets?: number } = {}) {
  const clock = { nowMs: 1_000_000 };
  const warnings: string[] = [];
  const limits = new MemoryLimits({
    quotaOf: createQuotas(quotas),
    warnOnce: (message) => warnings.push(message),
    monotonicMs: () => clock.nowMs,
    maxBuckets,
  });
  const ask = (rule: LimitRule, principal = USER) => limits.consume(rule, principal) as LimitVerdict;
  const spend = (rule: LimitRule, count: number, principal = USER) =>
    Array.from({ length: count }, () => ask(rule, principal)).filter(({ allowed }) => allowed).length;
  return { clock, warnings, ask, spend };
}

describe("a bucket", () => {
  test.each(Object.entries(DEFAULT_QUOTAS))("of the rule %s permits exactly its limit", (rule, { max }) => {
    expect(start().spend(rule as LimitRule, max + 100)).toBe(max);
  });

  test("has a window that starts with the first request and does not refill before it ends", () => {
    const { clock, ask, spend } = start();
    spend("admin", 1);
    clock.nowMs += 59_000;
    expect(spend("admin", 30)).toBe(19);
    clock.nowMs += 999;
    expect(ask("admin")).toEqual({ allowed: false, retryAfterSeconds: 1 });
    clock.nowMs += 1;
    expect(spend("admin", 30)).toBe(20);
  });

  test("returns the time until its window ends in whole seconds, rounded up", () => {
    const { clock, ask, spend } = start();
    spend("admin", 20);
    expect(ask("admin")).toEqual({ allowed: false, retryAfterSeconds: 60 });
    clock.nowMs += 1;
    expect(ask("admin")).toEqual({ allowed: false, retryAfterSeconds: 60 });
    clock.nowMs += 58_999;
    expect(ask("admin")).toEqual({ allowed: false, retryAfterSeconds: 1 });
  });

  test("returns at least one second and at most the window, even if the clock jumps", () => {
    const { clock, ask, spend } = start();
    spend("admin", 20);
    clock.nowMs -= 3_600_000;
    expect(ask("admin")).toEqual({ allowed: false, retryAfterSeconds: 60 });
    clock.nowMs += 2 * 3_600_000;
    expect(spend("admin", 30)).toBe(20);
  });

  test("belongs to one principal, even if a user, an API key and an address have the same id", () => {
    const { spend } = start();
    spend("evaluate", 100);
    expect(spend("evaluate", 1)).toBe(0);
    expect(spend("evaluate", 1, { kind: "user", id: "v" })).toBe(1);
    expect(spend("evaluate", 1, address("u"))).toBe(1);
    expect(spend("evaluate", 1, { kind: "nobody" })).toBe(1);
    expect(spend("bootstrap", 1)).toBe(1);
  });
});

describe("the rate limits", () => {
  test("are those the host sets, and none for a rule that is false", () => {
    const { spend } = start({
      quotas: { rules: { evaluate: { max: 3, windowSeconds: 1 }, admin: false } },
    });
    expect([spend("evaluate", 9), spend("admin", 1000)]).toEqual([3, 1000]);
  });

  test("do not apply to API keys unless the host sets a limit for them", () => {
    const key: LimitPrincipal = { kind: "key", id: "k" };
    expect(start().spend("admin", 1000, key)).toBe(1000);
    const limited = start({ quotas: { keys: { max: 5, windowSeconds: 60 } } });
    expect([limited.spend("admin", 9, key), limited.spend("evaluate", 9, key)]).toEqual([5, 5]);
    expect(limited.spend("off", 30, key)).toBe(20);
  });

  test.each([0, -1, 1.5, Number.NaN])("cannot be set to %s", (max) => {
    expect(() => createQuotas({ rules: { admin: { max, windowSeconds: 60 } } })).toThrow(
      /rateLimit\.rules\["admin"\]\.max/,
    );
    expect(() => createQuotas({ keys: { max: 1, windowSeconds: max } })).toThrow(
      /rateLimit\.keys\.windowSeconds/,
    );
  });
});

describe("with too many buckets", () => {
  test("the oldest window is evicted, but no spent one", () => {
    const { warnings, spend } = start({ maxBuckets: 3 });
    spend("admin", 20, address("spent"));
    spend("admin", 5, address("oldest"));
    spend("admin", 5, address("newer"));
    spend("admin", 1, address("another"));
    expect(spend("admin", 1, address("spent"))).toBe(0);
    expect(spend("admin", 30, address("newer"))).toBe(15);
    expect(spend("admin", 30, address("oldest"))).toBe(20);
    expect(warnings).toEqual([]);
  });

  test("the oldest is evicted and a warning is logged if all are spent", () => {
    const { warnings, spend } = start({ maxBuckets: 2 });
    for (const id of ["a", "b", "c"]) spend("admin", 20, address(id));
    expect(spend("admin", 1, address("c"))).toBe(0);
    expect(spend("admin", 1, address("b"))).toBe(0);
    expect(warnings[0]).toMatch(/More than 2 callers/);
    expect(spend("admin", 1, address("a"))).toBe(1);
  });

  test("windows that have ended are evicted first", () => {
    const { clock, warnings, spend } = start({ maxBuckets: 2 });
    spend("admin", 20, address("a"));
    clock.nowMs += 60_000;
    spend("admin", 1, address("b"));
    spend("admin", 1, address("c"));
    expect(spend("admin", 30, address("b"))).toBe(19);
    expect(warnings).toEqual([]);
  });
});

test("no window permits more requests than its limit, for any sequence of requests", () => {
  const steps = fc.array(
    fc.record({ id: fc.constantFrom("a", "b", "c"), waitMs: fc.integer({ min: 0, max: 2500 }) }),
    { maxLength: 200 },
  );
  fc.assert(
    fc.property(steps, (calls) => {
      const { clock, spend } = start({ quotas: { rules: { evaluate: { max: 3, windowSeconds: 5 } } } });
      const windows = new Map<string, { endsAtMs: number; used: number }>();
      for (const { id, waitMs } of calls) {
        clock.nowMs += waitMs;
        const window = windows.get(id);
        const openWindow = window && clock.nowMs < window.endsAtMs ? window : undefined;
        const current = openWindow ?? { endsAtMs: clock.nowMs + 5000, used: 0 };
        windows.set(id, current);
        const isExpected = current.used < 3;
        expect(spend("evaluate", 1, address(id))).toBe(isExpected ? 1 : 0);
        if (isExpected) current.used++;
      }
    }),
  );
});
