import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { FakeSource } from "../../../test/contract/fake-source.ts";
import { BadSnapshot } from "./errors.ts";
import {
  CHECK_FIRST_MS,
  createSnapshots,
  MAX_AGE_MS,
  type Snapshots,
  STALE_AFTER_MS,
  WAIT_MS,
} from "./snapshots.ts";

/** The error of an evaluation whose flags were never loaded. */
const NOT_LOADED = { code: "STORAGE_ERROR", status: 503, details: { retryAfter: 1 } };

describe("snapshots", () => {
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

  /** Lets everything that has been started, and waits for nothing, come to its end. */
  const settle = () => vi.advanceTimersByTimeAsync(0);
  const revision = async (tenant = "") => (await snapshots.get(tenant)).snapshot.revision;
  /** Moves both clocks. */
  async function pass(ms: number): Promise<void> {
    nowMs += ms;
    await vi.advanceTimersByTimeAsync(ms);
  }

  test("evaluations within the maximum age cost no read", async () => {
    source.revision = 1;
    expect(await revision()).toBe(1);
    nowMs = MAX_AGE_MS;
    expect(await revision()).toBe(1);
    expect(source.reads()).toEqual([1, 1]);
  });

  test("metrics cover the tenants in use: age, stale snapshots, revision lag", async () => {
    source.revision = 1;
    expect(snapshots.figures()).toEqual({ snapshots: 0, stale: 0, oldestAgeMs: 0, revisionLag: 0 });
    await revision("idle");
    nowMs += 50_000;
    await revision("used");
    nowMs += STALE_AFTER_MS + 1;
    expect(snapshots.figures()).toEqual({ snapshots: 2, stale: 2, oldestAgeMs: 52_001, revisionLag: 0 });
    nowMs += 20_000;
    expect(snapshots.figures()).toEqual({ snapshots: 2, stale: 1, oldestAgeMs: 22_001, revisionLag: 0 });
    source.revision = 4;
    source.broken.add("used");
    await revision("used");
    await settle();
    expect(snapshots.figures()).toMatchObject({ revisionLag: 3 });
    source.broken.clear();
    await pass(1000);
    await revision("used");
    await settle();
    expect(snapshots.figures()).toMatchObject({ stale: 0, revisionLag: 0 });
  });

  test("an older one is served while it is checked in the background", async () => {
    source.revision = 1;
    await revision();
    source.revision = 2;
    nowMs += MAX_AGE_MS + 1;
    expect(await revision()).toBe(1);
    await settle();
    expect(await revision()).toBe(2);
    expect(source.reads()).toEqual([2, 2]);
  });

  test("one that was not confirmed for 30 s is checked before it is served", async () => {
    source.revision = 1;
    await revision();
    source.revision = 2;
    nowMs += CHECK_FIRST_MS + 1;
    expect(await snapshots.get("")).toMatchObject({ snapshot: { revision: 2 }, stale: false });
  });

  test("concurrent evaluations share one read", async () => {
    await Promise.all(Array.from({ length: 20 }, () => revision()));
    expect(source.reads()).toEqual([1, 1]);
  });

  describe("a caller who has seen a later revision", () => {
    test("gets that revision, which is read first", async () => {
      source.revision = 1;
      await revision();
      source.revision = 5;
      expect(await snapshots.get("", 5)).toMatchObject({ snapshot: { revision: 5 }, stale: false });
    });

    test("waits at most 1 s, and then gets a snapshot marked stale", async () => {
      source.revision = 1;
      await revision();
      source.hold();
      const reading = snapshots.get("", 5);
      await pass(WAIT_MS);
      expect(await reading).toMatchObject({ snapshot: { revision: 1 }, stale: true });
      // The next caller does not wait for a revision that an earlier caller waited for in vain.
      expect(await snapshots.get("", 5)).toMatchObject({ snapshot: { revision: 1 }, stale: true });
    });

    test("does not rely on a running check that read an earlier revision", async () => {
      source.revision = 1;
      await revision();
      nowMs += MAX_AGE_MS + 1;
      const open = source.hold();
      await revision();
      source.revision = 2;
      const reading = snapshots.get("", 2);
      open();
      expect(await reading).toMatchObject({ snapshot: { revision: 2 }, stale: false });
    });

    test("gets that revision even while another caller reads the flags for the first time", async () => {
      source.revision = 1;
      const open = source.hold();
      const other = snapshots.get("");
      source.revision = 2;
      const reading = snapshots.get("", 2);
      open();
      expect(await other).toMatchObject({ snapshot: { revision: 1 } });
      expect(await reading).toMatchObject({ snapshot: { revision: 2 }, stale: false });
    });

    test("does not wait for a revision that the database does not have", async () => {
      source.revision = 1;
      await revision();
      expect(await snapshots.get("", 1e9)).toMatchObject({ snapshot: { revision: 1 }, stale: false });
    });
  });

  describe("after a change by this process", () => {
    test("a refresh does not rely on a check that started before the change", async () => {
      source.revision = 1;
      await revision();
      nowMs += MAX_AGE_MS + 1;
      const open = source.hold();
      await revision();
      source.revision = 2;
      const refreshed = snapshots.refresh("", 2);
      open();
      await refreshed;
      expect(snapshots.peek("")?.snapshot.revision).toBe(2);
    });

    test("nothing is loaded for a tenant that this process does not evaluate", async () => {
      source.revision = 1;
      await snapshots.refresh("", 1);
      expect(source.reads()).toEqual([0, 0]);
    });

    test("a failed refresh does not fail the change, and the next evaluation checks first", async () => {
      source.revision = 1;
      await revision();
      source.revision = 2;
      source.failure = new Error("down");
      await snapshots.refresh("", 2);
      expect(warnings).toHaveLength(1);
      source.failure = undefined;
      nowMs += 1000;
      expect(await revision()).toBe(2);
    });
  });

  describe("while the source fails", () => {
    test("the last good one is served, is stale after 2 s, and the outage is logged once", async () => {
      source.revision = 1;
      await revision();
      source.failure = new Error("down");
      for (nowMs = 0; nowMs <= STALE_AFTER_MS; nowMs += 100) {
        expect(await snapshots.get("")).toMatchObject({ stale: false });
        await settle();
      }
      for (; nowMs < CHECK_FIRST_MS * 2; nowMs += 500) {
        expect(await snapshots.get("")).toMatchObject({ stale: true, snapshot: { revision: 1 } });
        await settle();
      }
      expect(warnings).toHaveLength(1);
      expect(snapshots.health("")).toMatchObject({ stale: true, revision: 1 });
      expect(snapshots.health("").problem).toBeDefined();

      source.failure = undefined;
      source.revision = 2;
      expect(await snapshots.get("")).toMatchObject({ stale: false, snapshot: { revision: 2 } });
      expect(snapshots.health("")).not.toHaveProperty("problem");
      source.failure = new Error("down again");
      nowMs += MAX_AGE_MS + 1;
      await revision();
      await settle();
      expect(warnings).toHaveLength(2);
    });

    test("it is not read between two attempts, for any number of callers and tenants", async () => {
      await Promise.all(["a", "b", "c"].map((tenant) => revision(tenant)));
      source.failure = new Error("down");
      source.revisionReads = 0;
      for (let second = 0; second < 10; second++) {
        for (let call = 0; call < 100; call++) {
          nowMs += 10;
          await snapshots.get(["a", "b", "c"][call % 3] ?? "");
          await settle();
        }
      }
      expect(source.revisionReads).toBeLessThanOrEqual(40);
      expect(source.revisionReads).toBeGreaterThan(10);
    });

    test("a read fails if there has never been a snapshot", async () => {
      source.failure = new Error("down");
      await expect(snapshots.get("")).rejects.toMatchObject({ ...NOT_LOADED, cause: new Error("down") });
      expect(snapshots.health("")).toMatchObject({ stale: true, snapshotAgeMs: null });
    });
  });

  describe("while the source hangs", () => {
    test("no evaluation with a snapshot waits longer than 1 s", async () => {
      await revision();
      source.hold();
      nowMs += CHECK_FIRST_MS + 1;
      const first = snapshots.get("");
      await pass(WAIT_MS);
      expect(await first).toMatchObject({ stale: true });
      expect(await snapshots.get("")).toMatchObject({ stale: true });
      await pass(60_000);
      expect(warnings).toHaveLength(1);
      expect(await snapshots.get("")).toMatchObject({ stale: true });
    });

    test("an evaluation without one fails after 10 s, and a later result is used", async () => {
      source.revision = 3;
      const open = source.hold();
      const first = snapshots.get("");
      const refused = expect(first).rejects.toMatchObject(NOT_LOADED);
      await pass(10_000);
      await refused;
      open();
      await settle();
      expect(snapshots.health("")).toMatchObject({ revision: 3 });
    });
  });

  describe("a bad snapshot", () => {
    test("leaves the old one in place, is logged once, and is read again at a new revision", async () => {
      source.revision = 1;
      await revision();
      source.revision = 2;
      source.bad = new BadSnapshot("The flag x cannot be used.");
      for (let check = 0; check < 5; check++) {
        nowMs += MAX_AGE_MS + 1;
        expect(await revision()).toBe(1);
        await settle();
      }
      expect([source.loads, warnings.length]).toEqual([2, 1]);
      expect(snapshots.health("")).toMatchObject({ stale: true, problem: "The flag x cannot be used." });
      expect(await snapshots.get("")).toMatchObject({ stale: true });
      await settle();
      source.bad = undefined;
      source.revision = 3;
      nowMs += MAX_AGE_MS + 1;
      await revision();
      await settle();
      expect(await snapshots.get("")).toMatchObject({ stale: false, snapshot: { revision: 3 } });
    });

    test("is read again from time to time, because an operator may have repaired the rows", async () => {
      source.revision = 1;
      await revision();
      source.revision = 2;
      source.bad = new BadSnapshot("bad");
      await snapshots.get("", 2);
      source.bad = undefined;
      nowMs += 10_000;
      expect(await snapshots.get("", 2)).toMatchObject({ snapshot: { revision: 2 } });
    });
  });

  test("a database with the same revision and another history is read again, and logged once", async () => {
    source.revision = 5;
    const before = (await snapshots.get("")).snapshot;
    source.history = "other";
    for (let check = 0; check < 3; check++) {
      nowMs += CHECK_FIRST_MS + 1;
      const { snapshot, stale } = await snapshots.get("");
      expect([snapshot === before, snapshot.revision, stale]).toEqual([false, 5, false]);
    }
    expect([source.loads, warnings.length]).toEqual([2, 1]);
    expect(warnings[0]).toContain("because a backup was restored");
  });

  describe("a tenant whose flags cannot be read although the database answers", () => {
    test("does not stop the others, and is logged once", async () => {
      source.broken.add("a");
      for (let attempt = 0; attempt < 5; attempt++) {
        await expect(snapshots.get("a")).rejects.toMatchObject(NOT_LOADED);
        expect(await snapshots.get(`b${attempt}`)).toMatchObject({ stale: false });
        nowMs += 100;
      }
      expect(warnings).toHaveLength(1);
      expect(snapshots.health("a").problem).toBe("The flags cannot be read from the database.");
      expect(snapshots.health("b0")).not.toHaveProperty("problem");
      // Left alone for a quarter of a second each time.
      expect(source.loads - 5).toBe(2);
      source.broken.clear();
      nowMs += 250;
      expect(await snapshots.get("a")).toMatchObject({ stale: false });
      expect(snapshots.health("a")).not.toHaveProperty("problem");
    });

    test("does not stop the others if its read times out", async () => {
      await revision("b");
      const open = source.hold("loadGate");
      const slow = expect(snapshots.get("a")).rejects.toMatchObject(NOT_LOADED);
      await pass(10_000);
      await slow;
      open();
      expect(snapshots.health("b")).not.toHaveProperty("problem");
      await settle();
      expect(snapshots.health("a")).toMatchObject({ snapshotAgeMs: 0 });
    });
  });

  test("at most eight tenants are read at a time", async () => {
    const open = source.hold("loadGate");
    const all = Promise.all(Array.from({ length: 50 }, (_, tenant) => revision(`t${tenant}`)));
    await settle();
    expect(source.mostLoading).toBe(8);
    open();
    await all;
    expect([source.loads, source.mostLoading]).toEqual([50, 8]);
  });

  test("a database with an older revision does not replace the snapshot", async () => {
    source.revision = 5;
    await revision();
    source.revision = 4;
    for (let check = 0; check < 3; check++) {
      nowMs += CHECK_FIRST_MS + 1;
      expect(await snapshots.get("")).toMatchObject({ snapshot: { revision: 5 }, stale: true });
    }
    expect(warnings).toHaveLength(1);
    expect(snapshots.health("").problem).toContain("If a backup was restored");
  });

  test("tenants have separate snapshots", async () => {
    await revision("one");
    expect(snapshots.peek("two")).toBeUndefined();
  });

  test("10,000 tenants are kept; beyond that the least recently used one is evicted", async () => {
    for (let tenant = 0; tenant < 10_000; tenant++) await revision(`t${tenant}`);
    nowMs = MAX_AGE_MS + 1;
    await revision("t0");
    await revision("one more");
    expect(snapshots.health("t0").snapshotAgeMs).not.toBeNull();
    expect(snapshots.health("t1").snapshotAgeMs).toBeNull();
    expect(snapshots.health("t2").snapshotAgeMs).not.toBeNull();
  });
});
