import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { FakeSource } from "../../../test/contract/fake-source.ts";
import { createSnapshots, type Snapshots } from "./snapshots.ts";

describe("polling", () => {
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
    snapshots = createSnapshots(source, { warn, monotonicMs: () => nowMs, pollMs: 500 });
  });
  afterEach(() => {
    snapshots.close();
    vi.useRealTimers();
  });

  const settle = () => vi.advanceTimersByTimeAsync(0);
  const revision = async (tenant = "") => (await snapshots.get(tenant)).snapshot.revision;
  /** Moves both clocks. */
  async function pass(ms: number): Promise<void> {
    nowMs += ms;
    await vi.advanceTimersByTimeAsync(ms);
  }

  test("starts with the first snapshot, and reads the revisions of all tenants in one query", async () => {
    await pass(5000);
    expect(source.polls).toEqual([]);
    await Promise.all([revision("a"), revision("b")]);
    source.revision = 1;
    await pass(500);
    expect(source.polls).toEqual([["a", "b"]]);
    expect(snapshots.peek("a")?.snapshot.revision).toBe(1);
    expect(snapshots.peek("b")?.snapshot.revision).toBe(1);
  });

  test("keeps snapshots from becoming stale without further reads", async () => {
    await revision();
    for (let round = 0; round < 20; round++) {
      await pass(500);
      expect(await snapshots.get("")).toMatchObject({ stale: false });
    }
    expect(source.reads()).toEqual([1, 1]);
  });

  test("skips unused tenants, whose next use checks them first", async () => {
    await Promise.all([revision("idle"), revision("used")]);
    for (let second = 0; second < 70; second++) {
      await pass(1000);
      await revision("used");
    }
    expect(source.polls.at(-1)).toEqual(["used"]);
    source.revision = 1;
    expect(await snapshots.get("idle")).toMatchObject({ snapshot: { revision: 1 }, stale: false });
  });

  test("does not mistake a result from before a later change for an older database", async () => {
    source.revision = 1;
    await revision();
    const open = source.hold("pollGate");
    await pass(500);
    source.revision = 2;
    await snapshots.refresh("", 2);
    open();
    await settle();
    expect(source.polls).toHaveLength(1);
    expect([warnings, snapshots.health("").problem]).toEqual([[], undefined]);
    expect(snapshots.peek("")).toMatchObject({ snapshot: { revision: 2 }, stale: false });
  });

  test("does not confirm a snapshot after a failed refresh with a result from before the change", async () => {
    source.revision = 1;
    await revision();
    const open = source.hold("pollGate");
    await pass(500);
    source.revision = 2;
    source.failure = new Error("down");
    await snapshots.refresh("", 2);
    source.failure = undefined;
    nowMs += 1000;
    open();
    await Promise.resolve();
    expect(snapshots.peek("")?.snapshot.revision ?? 2).toBe(2);
    await settle();
    // Without any caller: the late response was too old to confirm the snapshot, so it was read again.
    expect(snapshots.health("")).toMatchObject({ revision: 2, stale: false });
  });

  test("continues during an outage and notices its end", async () => {
    await revision();
    source.failure = new Error("down");
    await pass(5000);
    expect(snapshots.health("")).toMatchObject({ stale: true });
    source.failure = undefined;
    source.revision = 1;
    await pass(500);
    expect(snapshots.health("")).toMatchObject({ stale: false, revision: 1 });
    expect(warnings).toHaveLength(1);
  });

  test("ends when the store is closed", async () => {
    await revision();
    await pass(500);
    snapshots.close();
    await pass(5000);
    expect(source.polls).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });
});
