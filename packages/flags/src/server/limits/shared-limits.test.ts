import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { LimitPrincipal, LimitRule, LimitVerdict } from "./limits.ts";
import { createQuotas } from "./rules.ts";
import { createSharedLimits } from "./shared-limits.ts";
import type { RateLimitStore } from "./store.ts";

const USER: LimitPrincipal = { kind: "user", id: "u" };

/** A store on the test's clock, which can be made slow, silent or broken, and remembers what it was asked. */
interface FakeStore extends RateLimitStore {
  asked: number[];
  mode: "up" | "broken" | "silent";
  knowsEnd: boolean;
  delayMs: number;
}

function fakeStore(clock: { nowMs: number }): FakeStore {
  const windows = new Map<string, { used: number; endsAtMs: number }>();
  const fake: FakeStore = {
    asked: [],
    mode: "up",
    knowsEnd: true,
    delayMs: 0,
    async take(bucket, tokens, { max, windowSeconds }) {
      fake.asked.push(tokens);
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

/** Moves both clocks. */
async function pass(ms: number): Promise<void> {
  clock.nowMs += ms;
  await vi.advanceTimersByTimeAsync(ms);
}

function node() {
  const limits = createSharedLimits({
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
  test("are taken in blocks of a tenth, ahead of need, so that only the first call waits", async () => {
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
    expect(store.asked.every((tokens) => tokens === 10)).toBe(true);
    expect(isNow(one.ask("evaluate"))).toBe(true);
    expect(await one.ask("evaluate")).toEqual({ allowed: false, retryAfterSeconds: 60 });
  });

  test("for a burst are asked for at once, and nobody waits for more than two answers", async () => {
    const one = node();
    expect(await one.spend("evaluate", 200)).toBe(100);
    expect(store.asked).toEqual([10, 90]);
  });

  test("of administration are taken one by one", async () => {
    const one = node();
    for (let call = 0; call < 20; call++) expect(await one.spend("admin", 1)).toBe(1);
    expect(store.asked).toEqual(Array(20).fill(1));
    expect(await one.spend("admin", 1)).toBe(0);
  });

  test.each<LimitRule>(["evaluate", "evaluate-batch", "events", "admin", "off"])(
    "of %s are never more than the limit, over any number of nodes",
    async (rule) => {
      const nodes = [node(), node(), node()];
      const counts = await Promise.all(nodes.map(({ spend }) => spend(rule, 1200)));
      const limit = { evaluate: 100, "evaluate-batch": 1000, events: 1000 }[rule as "evaluate"] ?? 20;
      expect(counts.reduce((sum, count) => sum + count)).toBe(limit);
    },
  );

  test("that are left when the window ends are lost", async () => {
    const [one, two] = [node(), node()];
    await one.spend("evaluate", 3);
    await pass(30_000);
    await two.spend("evaluate", 3);
    await pass(30_000);
    const counts = [await one.spend("evaluate", 200), await two.spend("evaluate", 200)];
    expect(counts).toEqual([100, 0]);
  });

  test("of a store that does not know when its window ends are not kept", async () => {
    store.knowsEnd = false;
    const one = node();
    for (let call = 0; call < 10; call++) expect(await one.spend("evaluate", 1)).toBe(1);
    expect(await one.spend("evaluate", 1)).toBe(0);
    await pass(60_000);
    expect(await one.spend("evaluate", 1)).toBe(1);
  });
});

describe("a bucket of which nothing is left", () => {
  test("refuses at once and without asking, until the store's window ends", async () => {
    await node().spend("evaluate", 100);
    await pass(20_000);
    const late = node();
    expect(await late.spend("evaluate", 1)).toBe(0);
    const asked = store.asked.length;
    expect(await late.ask("evaluate")).toEqual({ allowed: false, retryAfterSeconds: 40 });
    expect(store.asked).toHaveLength(asked);
    await pass(40_000);
    expect(await late.spend("evaluate", 1)).toBe(1);
  });

  test("lets no more callers wait than could pass", async () => {
    store.delayMs = 50;
    const one = node();
    const verdicts = Array.from({ length: 500 }, () => one.ask("admin"));
    expect(verdicts.filter(isNow)).toHaveLength(480);
    await pass(200);
    expect((await Promise.all(verdicts)).filter(({ allowed }) => allowed)).toHaveLength(20);
  });
});

describe("while the store", () => {
  test.each(["broken", "silent"] as const)("is %s, each node goes on up to the full limit", async (mode) => {
    store.mode = mode;
    const one = node();
    expect(await one.spend("evaluate", 150)).toBe(100);
    expect(await one.spend("admin", 50)).toBe(20);
    expect(one.limits.isAlone).toBe(true);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/store of the rate limits/);
  });

  test("is silent, a call waits for 100 ms once, and after that no call waits", async () => {
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

  test("was away, it is asked again within a second, and another outage is said again", async () => {
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

  test("comes and goes, a node alone never passes more than the limit", async () => {
    const one = node();
    store.mode = "broken";
    expect(await one.spend("evaluate", 96)).toBe(96);
    store.mode = "up";
    await pass(1000);
    expect(await one.spend("evaluate", 1)).toBe(1);
    expect(await one.spend("evaluate", 50)).toBe(3);
  });

  test("is away, it is asked once in a second and not for every call", async () => {
    store.mode = "broken";
    const one = node();
    for (let call = 0; call < 50; call++) {
      await one.ask("evaluate");
      await pass(100);
    }
    expect(store.asked.length).toBeLessThanOrEqual(7);
  });

  test.each([
    { granted: Number.NaN, resetMs: 1 },
    { granted: 10, resetMs: Number.NaN },
    { granted: 10, resetMs: -1 },
  ])("gives nonsense, as %o, it counts as broken", async (nonsense) => {
    vi.spyOn(store, "take").mockResolvedValue(nonsense);
    const one = node();
    expect(await one.spend("evaluate", 150)).toBe(100);
    expect(warnings).toHaveLength(1);
  });
});

test("tokens that are left when a window ends do not count in the next, though more were asked for just before", async () => {
  const one = node();
  await one.spend("evaluate", 4);
  await pass(59_980);
  // The fifth call asks for more. The question arrives when the window is over.
  const { take } = store;
  vi.spyOn(store, "take").mockImplementationOnce(async (...asked) => {
    await new Promise((resolve) => setTimeout(resolve, 50));
    return take(...asked);
  });
  expect(await one.ask("evaluate")).toEqual({ allowed: true });
  await pass(60);
  const others = await node().spend("evaluate", 200);
  expect(others + (await one.spend("evaluate", 200))).toBe(100);
});

describe("where a request may not wait for what another has begun", () => {
  beforeEach(() => void vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" }));
  afterEach(() => void vi.unstubAllGlobals());

  test("each call that finds no token asks by itself, and none behind its answer", async () => {
    const one = node();
    const verdicts = [one.ask("evaluate"), one.ask("evaluate")];
    expect(store.asked).toEqual([10, 10]);
    await pass(1);
    expect(await Promise.all(verdicts)).toEqual([{ allowed: true }, { allowed: true }]);
    for (let call = 0; call < 18; call++) expect(isNow(one.ask("evaluate"))).toBe(true);
    expect(store.asked).toEqual([10, 10]);
    expect(await one.spend("evaluate", 200)).toBe(80);
  });

  test("a call whose question is never answered, because its request was ended, keeps no other waiting", async () => {
    vi.spyOn(store, "take").mockReturnValueOnce(new Promise(() => {}));
    const one = node();
    void one.ask("evaluate");
    expect(await one.spend("evaluate", 1)).toBe(1);
  });

  test("a store that was away is tried by a call that waits for it", async () => {
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
