/** Checks the rate limits that several processes share. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { LimitPrincipal, LimitRule, LimitVerdict } from "./limits.ts";
import { createQuotas } from "./rules.ts";
import { SharedLimits } from "./shared-limits.ts";
import type { RateLimitStore } from "./store.ts";

const USER: LimitPrincipal = { kind: "user", id: "u" };

/** A store on the test's clock that can be slow, silent or broken, and records the requested tokens. */
interface FakeStore extends RateLimitStore {
  requested: number[];
  mode: "up" | "broken" | "silent";
  knowsEnd: boolean;
  delayMs: number;
}

function fakeStore(clock: { nowMs: number }): FakeStore {
  const windows = new Map<string, { used: number; endsAtMs: number }>();
  const fake: FakeStore = {
    requested: [],
    mode: "up",
    knowsEnd: true,
    delayMs: 0,
    async take(bucket, tokens, { max, windowSeconds }) {
      fake.requested.push(tokens);
      if (fake.mode === "broken") throw new Error("the store is broken");
      if (fake.mode === "silent") return new Promise(() => {});
      let window = windows.get(bucket);
      if (window === undefined || clock.nowMs >= window.endsAtMs) {
        window = { used: 0, endsAtMs: clock.nowMs + windowSeconds * 1000 };
        windows.set(bucket, window);
      }
      const granted = Math.min(tokens, max - window.used);
      window.used += granted;
      const resetMs = fake.knowsEnd ? window.endsAtMs - clock.nowMs : undefined;
      await new Promise((resolve) => setTimeout(resolve, fake.delayMs));
      return { granted, resetMs };
    },
  };
  return fake;
}

let clock: { nowMs: number };
let store: FakeStore;
let warnings: string[];

beforeEach(() => {
  vi.useFakeTimers();
  clock = { nowMs: 5_000 };
  store = fakeStore(clock);
  warnings = [];
});
afterEach(() => vi.useRealTimers());

/** Advances both clocks. */
async function pass(ms: number): Promise<void> {
  clock.nowMs += ms;
  await vi.advanceTimersByTimeAsync(ms);
}

function node() {
  const limits = new SharedLimits({
    quotaOf: createQuotas(),
    store,
    maxWaitMs: 100,
    warn: (message) => warnings.push(message),
    warnOnce: (message) => warnings.push(message),
    monotonicMs: () => clock.nowMs,
  });
  return {
    limits,
    ask: (rule: LimitRule, principal = USER) => limits.consume(rule, principal),
    async spend(rule: LimitRule, count: number, principal = USER): Promise<number> {
      const verdicts = Promise.all(Array.from({ length: count }, () => limits.consume(rule, principal)));
      await vi.advanceTimersByTimeAsync(500);
      return (await verdicts).filter(({ allowed }) => allowed).length;
    },
  };
}

const isNow = (verdict: LimitVerdict | Promise<LimitVerdict>) => !(verdict instanceof Promise);

describe("tokens", () => {
  test("are taken in blocks of a tenth, in advance, so that only the first request waits", async () => {
    const one = node();
    const first = one.ask("evaluate");
    expect(isNow(first)).toBe(false);
    await pass(1);
    expect(await first).toEqual({ allowed: true });
    for (let call = 1; call < 100; call++) {
      const verdict = one.ask("evaluate");
      expect([isNow(verdict), await verdict]).toEqual([true, { allowed: true }]);
      await pass(1);
    }
    expect(store.requested.every((tokens) => tokens === 10)).toBe(true);
    expect(isNow(one.ask("evaluate"))).toBe(true);
    expect(await one.ask("evaluate")).toEqual({ allowed: false, retryAfterSeconds: 60 });
  });

  test("for a burst are taken together, and no request waits for more than two responses", async () => {
    const one = node();
    expect(await one.spend("evaluate", 200)).toBe(100);
    expect(store.requested).toEqual([10, 90]);
  });

  test("of admin requests are taken one by one", async () => {
    const one = node();
    for (let call = 0; call < 20; call++) expect(await one.spend("admin", 1)).toBe(1);
    expect(store.requested).toEqual(Array(20).fill(1));
    expect(await one.spend("admin", 1)).toBe(0);
  });

  test.each<LimitRule>(["evaluate", "evaluate-batch", "events", "admin", "off"])(
    "of the rule %s never exceed the limit, for any number of nodes",
    async (rule) => {
      const nodes = [node(), node(), node()];
      const counts = await Promise.all(nodes.map(({ spend }) => spend(rule, 1200)));
      const limit = { evaluate: 100, "evaluate-batch": 1000, events: 1000 }[rule as "evaluate"] ?? 20;
      expect(counts.reduce((sum, count) => sum + count)).toBe(limit);
    },
  );

  test("that are unused expire with the window", async () => {
    const [one, two] = [node(), node()];
    await one.spend("evaluate", 3);
    await pass(30_000);
    await two.spend("evaluate", 3);
    await pass(30_000);
    const counts = [await one.spend("evaluate", 200), await two.spend("evaluate", 200)];
    expect(counts).toEqual([100, 0]);
  });

  test("are not kept if the store does not return the end of its window", async () => {
    store.knowsEnd = false;
    const one = node();
    for (let call = 0; call < 10; call++) expect(await one.spend("evaluate", 1)).toBe(1);
    expect(await one.spend("evaluate", 1)).toBe(0);
    await pass(60_000);
    expect(await one.spend("evaluate", 1)).toBe(1);
  });
});

describe("a spent bucket", () => {
  test("refuses immediately, without a call of the store, until the store's window ends", async () => {
    await node().spend("evaluate", 100);
    await pass(20_000);
    const late = node();
    expect(await late.spend("evaluate", 1)).toBe(0);
    const requestsBefore = store.requested.length;
    expect(await late.ask("evaluate")).toEqual({ allowed: false, retryAfterSeconds: 40 });
    expect(store.requested).toHaveLength(requestsBefore);
    await pass(40_000);
    expect(await late.spend("evaluate", 1)).toBe(1);
  });

  test("lets no more requests wait than the limit permits", async () => {
    store.delayMs = 50;
    const one = node();
    const verdicts = Array.from({ length: 500 }, () => one.ask("admin"));
    expect(verdicts.filter(isNow)).toHaveLength(480);
    await pass(200);
    expect((await Promise.all(verdicts)).filter(({ allowed }) => allowed)).toHaveLength(20);
  });
});

describe("while the store", () => {
  test.each(["broken", "silent"] as const)("is %s, each node permits the full limit", async (mode) => {
    store.mode = mode;
    const one = node();
    expect(await one.spend("evaluate", 150)).toBe(100);
    expect(await one.spend("admin", 50)).toBe(20);
    expect(one.limits.isAlone).toBe(true);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/The rate limit store does not respond/);
  });

  test("is silent, one request waits for 100 ms, and later requests do not wait", async () => {
    store.mode = "silent";
    const one = node();
    const first = one.ask("evaluate");
    let isSettled = false;
    void Promise.resolve(first).then(() => (isSettled = true));
    await pass(99);
    expect(isSettled).toBe(false);
    await pass(5);
    expect(isSettled).toBe(true);
    for (const rule of ["evaluate", "admin", "events"] as const) expect(isNow(one.ask(rule))).toBe(true);
  });

  test("was down, it is tried again within a second, and another outage is logged again", async () => {
    store.mode = "broken";
    const one = node();
    await one.spend("evaluate", 5);
    store.mode = "up";
    await pass(1000);
    expect(await one.spend("evaluate", 1)).toBe(1);
    expect(one.limits.isAlone).toBe(false);
    expect(await one.spend("evaluate", 200)).toBe(94);
    store.mode = "broken";
    await one.spend("events", 1);
    expect(warnings).toHaveLength(2);
  });

  test("fails and recovers repeatedly, one node never permits more than the limit", async () => {
    const one = node();
    store.mode = "broken";
    expect(await one.spend("evaluate", 96)).toBe(96);
    store.mode = "up";
    await pass(1000);
    expect(await one.spend("evaluate", 1)).toBe(1);
    expect(await one.spend("evaluate", 50)).toBe(3);
  });

  test("is down, it is tried once per second and not for every request", async () => {
    store.mode = "broken";
    const one = node();
    for (let call = 0; call < 50; call++) {
      await one.ask("evaluate");
      await pass(100);
    }
    expect(store.requested.length).toBeLessThanOrEqual(7);
  });

  test.each([
    { granted: Number.NaN, resetMs: 1 },
    { granted: 10, resetMs: Number.NaN },
    { granted: 10, resetMs: -1 },
  ])("returns an invalid result such as %o, it counts as broken", async (nonsense) => {
    vi.spyOn(store, "take").mockResolvedValue(nonsense);
    const one = node();
    expect(await one.spend("evaluate", 150)).toBe(100);
    expect(warnings).toHaveLength(1);
  });
});

test("unused tokens expire with the window, even if more were requested just before its end", async () => {
  const one = node();
  await one.spend("evaluate", 4);
  await pass(59_980);
  // The fifth request takes more tokens. The store gets that call after the window has ended.
  const { take } = store;
  vi.spyOn(store, "take").mockImplementationOnce(async (...request) => {
    await new Promise((resolve) => setTimeout(resolve, 50));
    return take(...request);
  });
  expect(await one.ask("evaluate")).toEqual({ allowed: true });
  await pass(60);
  const others = await node().spend("evaluate", 200);
  expect(others + (await one.spend("evaluate", 200))).toBe(100);
});

describe("with isolated requests", () => {
  beforeEach(() => void vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" }));
  afterEach(() => void vi.unstubAllGlobals());

  test("each request without a token calls the store itself, and none calls it after its response", async () => {
    const one = node();
    const verdicts = [one.ask("evaluate"), one.ask("evaluate")];
    expect(store.requested).toEqual([10, 10]);
    await pass(1);
    expect(await Promise.all(verdicts)).toEqual([{ allowed: true }, { allowed: true }]);
    for (let call = 0; call < 18; call++) expect(isNow(one.ask("evaluate"))).toBe(true);
    expect(store.requested).toEqual([10, 10]);
    expect(await one.spend("evaluate", 200)).toBe(80);
  });

  test("a request that was cancelled while it waited for the store does not block other requests", async () => {
    vi.spyOn(store, "take").mockReturnValueOnce(new Promise(() => {}));
    const one = node();
    void one.ask("evaluate");
    expect(await one.spend("evaluate", 1)).toBe(1);
  });

  test("a store that was down is tried by a request that waits for it", async () => {
    store.mode = "broken";
    const one = node();
    expect(await one.spend("evaluate", 5)).toBe(5);
    store.mode = "up";
    await pass(1000);
    const first = one.ask("evaluate");
    expect([isNow(first), isNow(one.ask("evaluate"))]).toEqual([false, true]);
    await pass(1);
    expect(await first).toEqual({ allowed: true });
    expect(one.limits.isAlone).toBe(false);
  });
});
