import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { FakeSource } from "../../test/contract/fake-source.ts";
import {
  CHECK_FIRST_MS,
  createSnapshots,
  MAX_AGE_MS,
  type Snapshots,
  STALE_AFTER_MS,
  WAIT_MS,
} from "./snapshot.ts";
import { BadSnapshot } from "./tenant-snapshot.ts";

describe("snapshots", () => {
  let source: FakeSource;
  let nowMs: number;
  let warnings: string[];
  let snapshots: Snapshots;

  function create(pollMs = 0): Snapshots {
    return createSnapshots(source, {
      warn: (message) => warnings.push(message),
      monotonicMs: () => nowMs,
      pollMs,
    });
  }

  beforeEach(() => {
    vi.useFakeTimers();
    source = new FakeSource();
    nowMs = 0;
    warnings = [];
    snapshots = create();
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

  test("an older one is served while it is checked behind the answer", async () => {
    source.revision = 1;
    await revision();
    source.revision = 2;
    nowMs += MAX_AGE_MS + 1;
    expect(await revision()).toBe(1);
    await settle();
    expect(await revision()).toBe(2);
    expect(source.reads()).toEqual([2, 2]);
  });

  test("one that was not checked for 30 s is checked before it answers", async () => {
    source.revision = 1;
    await revision();
    source.revision = 2;
    nowMs += CHECK_FIRST_MS + 1;
    expect(await snapshots.get("")).toMatchObject({ snapshot: { revision: 2 }, stale: false });
  });

  test("many evaluations that come at once share one read", async () => {
    await Promise.all(Array.from({ length: 20 }, () => revision()));
    expect(source.reads()).toEqual([1, 1]);
  });

  describe("a caller who has seen a later revision", () => {
    test("gets it, read first", async () => {
      source.revision = 1;
      await revision();
      source.revision = 5;
      expect(await snapshots.get("", 5)).toMatchObject({ snapshot: { revision: 5 }, stale: false });
    });

    test("waits a second at most, and is then told that the answer may be stale", async () => {
      source.revision = 1;
      await revision();
      source.hold();
      const reading = snapshots.get("", 5);
      await pass(WAIT_MS);
      expect(await reading).toMatchObject({ snapshot: { revision: 1 }, stale: true });
      // The next one does not wait for what has already kept somebody waiting.
      expect(await snapshots.get("", 5)).toMatchObject({ snapshot: { revision: 1 }, stale: true });
    });

    test("does not wait for a revision that the database does not have", async () => {
      source.revision = 1;
      await revision();
      expect(await snapshots.get("", 1e9)).toMatchObject({ snapshot: { revision: 1 }, stale: false });
    });
  });

  describe("after a change on this node", () => {
    test("a refresh does not settle for a check that began before the change", async () => {
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

    test("nothing is loaded for a tenant that nobody evaluates here", async () => {
      source.revision = 1;
      await snapshots.refresh("", 1);
      expect(source.reads()).toEqual([0, 0]);
    });

    test("a refresh that fails does not fail the change, and the next evaluation asks first", async () => {
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
    test("the last good one is served, called stale after two seconds, and the outage is told of once", async () => {
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

    test("it is left alone between two tries, however many ask for however many tenants", async () => {
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

    test("and there has never been a snapshot, a read fails", async () => {
      source.failure = new Error("down");
      await expect(snapshots.get("")).rejects.toThrow("down");
      expect(snapshots.health("")).toMatchObject({ stale: true, snapshotAgeMs: null });
    });
  });

  describe("while the source hangs", () => {
    test("no evaluation that has a snapshot waits longer than a second", async () => {
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

    test("an evaluation that has none is told so after ten seconds, and an answer that comes later is used", async () => {
      source.revision = 3;
      const open = source.hold();
      const first = snapshots.get("");
      const refused = expect(first).rejects.toThrow("did not answer in time");
      await pass(10_000);
      await refused;
      open();
      await settle();
      expect(snapshots.health("")).toMatchObject({ revision: 3 });
    });
  });

  describe("a snapshot that cannot be used", () => {
    test("leaves the old one in place, is told of once, and is tried again when there is a new revision", async () => {
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

    test("is looked at again now and then, in case somebody has mended it by hand", async () => {
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

  test("a database that has gone back does not take the snapshot with it", async () => {
    source.revision = 5;
    await revision();
    source.revision = 4;
    for (let check = 0; check < 3; check++) {
      nowMs += CHECK_FIRST_MS + 1;
      expect(await snapshots.get("")).toMatchObject({ snapshot: { revision: 5 }, stale: true });
    }
    expect(warnings).toHaveLength(1);
    expect(snapshots.health("").problem).toContain("Was an older copy restored?");
  });

  describe("polling", () => {
    beforeEach(() => {
      snapshots = create(500);
    });

    test("starts with the first snapshot, and asks for all tenants in one query", async () => {
      await pass(5000);
      expect(source.polls).toEqual([]);
      await Promise.all([revision("a"), revision("b")]);
      source.revision = 1;
      await pass(500);
      expect(source.polls).toEqual([["a", "b"]]);
      expect(snapshots.peek("a")?.snapshot.revision).toBe(1);
      expect(snapshots.peek("b")?.snapshot.revision).toBe(1);
    });

    test("keeps a snapshot from ever being called stale, and costs no other read", async () => {
      await revision();
      for (let round = 0; round < 20; round++) {
        await pass(500);
        expect(await snapshots.get("")).toMatchObject({ stale: false });
      }
      expect(source.reads()).toEqual([1, 1]);
    });

    test("leaves out tenants nobody asks for; the next reader has them checked first", async () => {
      await Promise.all([revision("idle"), revision("used")]);
      for (let second = 0; second < 70; second++) {
        await pass(1000);
        await revision("used");
      }
      expect(source.polls.at(-1)).toEqual(["used"]);
      source.revision = 1;
      expect(await snapshots.get("idle")).toMatchObject({ snapshot: { revision: 1 }, stale: false });
    });

    test("does not take an answer that a later change has overtaken for a database that has gone back", async () => {
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

    test("goes on through an outage, and the end of it is noticed", async () => {
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

  test("tenants are apart", async () => {
    await revision("one");
    expect(snapshots.peek("two")).toBeUndefined();
  });

  test("10,000 tenants are kept, and of more the one that was least recently used is dropped", async () => {
    for (let tenant = 0; tenant < 10_000; tenant++) await revision(`t${tenant}`);
    nowMs = MAX_AGE_MS + 1;
    await revision("t0");
    await revision("one more");
    expect(snapshots.health("t0").snapshotAgeMs).not.toBeNull();
    expect(snapshots.health("t1").snapshotAgeMs).toBeNull();
    expect(snapshots.health("t2").snapshotAgeMs).not.toBeNull();
  });
});
