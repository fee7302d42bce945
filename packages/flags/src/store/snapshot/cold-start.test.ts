import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { FakeSource } from "../../../test/contract/fake-source.ts";
import { createSnapshots, type Snapshots } from "./snapshots.ts";

/** The error of an evaluation whose flags are not loaded yet. */
const NOT_LOADED = { code: "STORAGE_ERROR", status: 503, details: { retryAfter: 1 } };

describe("at a cold start of many tenants", () => {
  let source: FakeSource;
  let nowMs: number;
  let warnings: string[];
  let snapshots: Snapshots;

  beforeEach(() => {
    vi.useFakeTimers();
    source = new FakeSource();
    nowMs = 0;
    warnings = [];
    const warn = (message: string) => warnings.push(message);
    snapshots = createSnapshots(source, { warn, monotonicMs: () => nowMs, pollMs: 0 });
  });
  afterEach(() => {
    snapshots.close();
    vi.useRealTimers();
  });

  /** Moves both clocks, in steps of 100 ms, so that work in the middle sees the time pass. */
  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 100) {
      nowMs += 100;
      await vi.advanceTimersByTimeAsync(100);
    }
  }
  const settle = () => vi.advanceTimersByTimeAsync(0);
  const revision = async (tenant: string) => (await snapshots.get(tenant)).snapshot.revision;
  const cold = (tenants: number) => Array.from({ length: tenants }, (_, tenant) => `t${tenant}`);
  const outcome = (tenant: string) =>
    snapshots.get(tenant).then(
      ({ stale }) => (stale ? "stale" : "fresh"),
      ({ code, status, details }) => ({ code, status, details }),
    );

  test("each gets its flags, which are not stale, or 503 with a time to retry; the retry finds them", async () => {
    source.revision = 1;
    source.loadMs = 200;
    // 720 tenants, 8 at a time, 200 ms each: the last ones wait for 18 s.
    const all = Promise.all(cold(720).map(outcome));
    await pass(10_000);
    const outcomes = await all;
    expect(outcomes.slice(0, 392)).toEqual(Array(392).fill("fresh"));
    expect(outcomes.slice(400)).toEqual(Array(320).fill(NOT_LOADED));
    const retries = Promise.all(cold(720).slice(400).map(outcome));
    await pass(9000);
    expect(new Set(await retries)).toEqual(new Set(["fresh"]));
    expect([source.loads, source.mostLoading]).toEqual([720, 8]);
    expect(warnings).toEqual([]);
  });

  test("at most eight queries run at a time, the reads of revisions included", async () => {
    const open = source.hold();
    const all = Promise.all(cold(50).map(outcome));
    await settle();
    expect(source.revisionReads).toBe(8);
    open();
    expect(await all).toEqual(Array(50).fill("fresh"));
  });

  test("a change of another tenant does not wait for them", async () => {
    source.revision = 1;
    await revision("used");
    source.loadMs = 200;
    const all = Promise.all(cold(100).map(outcome));
    source.revision = 2;
    const changed = snapshots.refresh("used", 2);
    await pass(200);
    await changed;
    expect(await revision("used")).toBe(2);
    await pass(10_000);
    await all;
  });

  test("flags whose load took longer than 2 s are not stale", async () => {
    source.revision = 1;
    source.loadMs = 5000;
    const reading = outcome("large");
    await pass(5000);
    expect(await reading).toBe("fresh");
  });

  test("a tenant that waits for its turn is not reported as failed", async () => {
    const open = source.hold("loadGate");
    const all = Promise.all(cold(50).map(outcome));
    await pass(10_000);
    expect(await all).toEqual(Array(50).fill(NOT_LOADED));
    expect(warnings).toHaveLength(8);
    open();
    await settle();
    expect(source.mostLoading).toBeLessThanOrEqual(16);
    expect(await revision("t49")).toBe(0);
  });
});
