import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createChangeChecks } from "./change-checks.ts";

describe("a tenant whose change is announced", () => {
  let nowMs: number;
  let checks: [tenant: string, revision: number][];
  let finish: (() => void)[];
  let wake: (tenant: string, revision: number) => void;

  beforeEach(() => {
    vi.useFakeTimers();
    nowMs = 5000;
    checks = [];
    finish = [];
    wake = createChangeChecks({
      monotonicMs: () => nowMs,
      check(tenant, revision) {
        checks.push([tenant, revision]);
        return new Promise((resolve) => finish.push(resolve));
      },
    });
  });
  afterEach(() => vi.useRealTimers());

  async function pass(ms: number): Promise<void> {
    nowMs += ms;
    await vi.advanceTimersByTimeAsync(ms);
  }
  const end = async () => {
    finish.shift()?.();
    await pass(0);
  };

  test("is checked immediately, in parallel with other tenants", () => {
    wake("a", 1);
    wake("b", 7);
    expect(checks).toEqual([
      ["a", 1],
      ["b", 7],
    ]);
  });

  test("is checked once more for all announcements during the check, after a pause as long as the check", async () => {
    wake("a", 1);
    for (const revision of [2, 5, 3]) wake("a", revision);
    await pass(30);
    await end();
    await pass(29);
    wake("a", 6);
    expect(checks).toEqual([["a", 1]]);
    await pass(1);
    expect(checks).toEqual([
      ["a", 1],
      ["a", 6],
    ]);
    await end();
    wake("a", 7);
    expect(checks.at(-1)).toEqual(["a", 7]);
  });

  test("is left to polling while 1,000 others are checked", async () => {
    for (let tenant = 0; tenant < 1001; tenant++) wake(`t${tenant}`, 1);
    expect([checks.length, checks.at(-1)]).toEqual([1000, ["t999", 1]]);
    await end();
    wake("t1000", 2);
    expect(checks.slice(1000)).toEqual([["t1000", 2]]);
  });
});
