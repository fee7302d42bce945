import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { JsonObject } from "../../engine/json.ts";
import { ComputedAttributes } from "./computed-attributes.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

function setUp({ ttlMs = 60_000, isIsolated = false, maxResults = 100 } = {}) {
  let next: () => JsonObject | Promise<JsonObject> = () => ({ seats: 1 });
  let calls = 0;
  const outcomes: string[] = [];
  const computed = new ComputedAttributes({
    compute() {
      calls += 1;
      return next();
    },
    ttlMs,
    isIsolated,
    maxResults,
    onCompute: (outcome) => outcomes.push(outcome),
  });
  return {
    computed,
    outcomes,
    calls: () => calls,
    get: (key = "ada") => computed.get(key, async () => ({ user: { id: key } })),
    returns(work: typeof next) {
      next = work;
    },
  };
}

const fail = () => Promise.reject(new Error("down"));
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe("a computed result", () => {
  test("is kept for ttlMs per key", async () => {
    const { get, calls } = setUp();
    expect(await get()).toEqual({ seats: 1 });
    expect(get()).toEqual({ seats: 1 });
    expect(await get("bob")).toEqual({ seats: 1 });
    expect(calls()).toBe(2);
    await pass(60_001);
    expect(await get()).toEqual({ seats: 1 });
    expect(calls()).toBe(3);
  });

  test("in use is computed again in the background before its time is over", async () => {
    const { get, calls, returns } = setUp();
    await get();
    returns(() => ({ seats: 2 }));
    await pass(45_000);
    expect(get()).toEqual({ seats: 1 });
    await pass(0);
    expect(get()).toEqual({ seats: 2 });
    expect(calls()).toBe(2);
  });

  test("is computed once for requests that come together", async () => {
    const { get, calls } = setUp();
    expect(await Promise.all([get(), get(), get()])).toEqual([{ seats: 1 }, { seats: 1 }, { seats: 1 }]);
    expect(calls()).toBe(1);
  });

  test("serves for 10 minutes after its time while compute fails, and is null after that", async () => {
    const { get, returns, outcomes } = setUp();
    await get();
    returns(fail);
    await pass(60_001);
    expect(await get()).toEqual({ seats: 1 });
    expect(outcomes).toEqual(["computed", "failed"]);
    await pass(599_000);
    expect(await get()).toEqual({ seats: 1 });
    await pass(2000);
    expect(await get()).toBeNull();
    returns(() => ({ seats: 3 }));
    await pass(1000);
    expect(await get()).toEqual({ seats: 3 });
  });

  test("that fails is computed again after 1 s, not before", async () => {
    const { get, calls, returns } = setUp();
    returns(fail);
    expect(await get()).toBeNull();
    await pass(999);
    expect(get()).toBeNull();
    expect(calls()).toBe(1);
    await pass(1);
    expect(await get()).toBeNull();
    expect(calls()).toBe(2);
  });

  test("that takes longer than 1 s is used when it comes", async () => {
    const { get, calls, returns, outcomes } = setUp();
    let finish: (result: JsonObject) => void = () => {};
    returns(
      () =>
        new Promise((resolve) => {
          finish = resolve;
        }),
    );
    const first = get();
    await pass(400);
    const second = get();
    await pass(600);
    expect([await first, await second]).toEqual([null, null]);
    expect(outcomes).toEqual(["timeout"]);
    await pass(2000);
    expect(get()).toBeNull();
    expect(calls()).toBe(1);
    finish({ seats: 4 });
    await pass(0);
    expect(get()).toEqual({ seats: 4 });
  });

  test("that never comes is given up after 10 s", async () => {
    const { get, calls, returns } = setUp();
    returns(() => new Promise(() => {}));
    void get();
    await pass(9999);
    expect(get()).toBeNull();
    expect(calls()).toBe(1);
    returns(() => ({ seats: 5 }));
    await pass(1);
    expect(await get()).toEqual({ seats: 5 });
  });

  test("is not shared by requests that are isolated while it is computed", async () => {
    const { get, calls } = setUp({ isIsolated: true });
    await Promise.all([get(), get()]);
    expect(calls()).toBe(2);
  });

  test("that was used longest ago is removed when there are too many", async () => {
    const { get, computed, calls } = setUp({ maxResults: 2 });
    await get("a");
    await get("b");
    void get("a");
    await get("c");
    expect(computed.size).toBe(2);
    expect(get("a")).toEqual({ seats: 1 });
    expect(calls()).toBe(3);
  });

  test("is empty where neither the user nor the organization exists", async () => {
    const { computed, calls } = setUp();
    expect(await computed.get("none", async () => ({}))).toEqual({});
    expect(calls()).toBe(0);
  });
});
