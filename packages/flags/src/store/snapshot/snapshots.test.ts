import { describe, expect, test } from "vitest";
import { NOT_LOADED, settle, withFakeSnapshots } from "../../../test/contract/fake-snapshots.ts";
import type { SnapshotReading } from "../flag-store.ts";
import { BadSnapshot } from "./errors.ts";
import { MAX_AGE_MS, STALE_AFTER_MS } from "./memory.ts";
import { CHECK_FIRST_MS, WAIT_MS } from "./snapshots.ts";

describe("snapshots", () => {
  const fake = withFakeSnapshots(0);

  test("evaluations within the maximum age cost no read", async () => {
    fake().source.revision = 1;
    expect(await fake().revision()).toBe(1);
    fake().nowMs = MAX_AGE_MS;
    expect(await fake().revision()).toBe(1);
    expect(fake().source.reads()).toEqual([1, 1]);
  });

  test("metrics cover the tenants in use: age, stale snapshots, revision lag", async () => {
    fake().source.revision = 1;
    expect(fake().snapshots.figures()).toEqual({ snapshots: 0, stale: 0, oldestAgeMs: 0, revisionLag: 0 });
    await fake().revision("idle");
    fake().nowMs += 50_000;
    await fake().revision("used");
    fake().nowMs += STALE_AFTER_MS + 1;
    expect(fake().snapshots.figures()).toEqual({
      snapshots: 2,
      stale: 2,
      oldestAgeMs: 52_001,
      revisionLag: 0,
    });
    fake().nowMs += 20_000;
    expect(fake().snapshots.figures()).toEqual({
      snapshots: 2,
      stale: 1,
      oldestAgeMs: 22_001,
      revisionLag: 0,
    });
    fake().source.revision = 4;
    fake().source.broken.add("used");
    await fake().revision("used");
    await settle();
    expect(fake().snapshots.figures()).toMatchObject({ revisionLag: 3 });
    fake().source.broken.clear();
    await fake().pass(1000);
    await fake().revision("used");
    await settle();
    expect(fake().snapshots.figures()).toMatchObject({ stale: 0, revisionLag: 0 });
  });

  test("an older one is served while it is checked in the background", async () => {
    fake().nowMs = 1e6;
    fake().source.revision = 1;
    await fake().revision();
    fake().source.revision = 2;
    fake().nowMs += MAX_AGE_MS + 1;
    expect(await fake().revision()).toBe(1);
    await settle();
    expect(await fake().revision()).toBe(2);
    expect(fake().source.reads()).toEqual([2, 2]);
  });

  test("one that was not confirmed for 30 s is checked before it is served", async () => {
    fake().source.revision = 1;
    await fake().revision();
    fake().source.revision = 2;
    fake().nowMs += CHECK_FIRST_MS + 1;
    expect(await fake().snapshots.get("")).toMatchObject({ snapshot: { revision: 2 }, stale: false });
    expect(fake().source.reads()).toEqual([2, 2]);
  });

  test("concurrent evaluations share one read", async () => {
    await Promise.all(Array.from({ length: 20 }, () => fake().revision()));
    expect(fake().source.reads()).toEqual([1, 1]);
  });

  describe("a caller who has seen a later revision", () => {
    test("gets that revision, which is read first", async () => {
      fake().source.revision = 1;
      await fake().revision();
      fake().source.revision = 5;
      expect(await fake().snapshots.get("", 5)).toMatchObject({ snapshot: { revision: 5 }, stale: false });
    });

    test("waits at most 1 s, and then gets a snapshot marked stale", async () => {
      fake().source.revision = 1;
      await fake().revision();
      fake().source.hold();
      const reading = fake().snapshots.get("", 5);
      await fake().pass(WAIT_MS);
      expect(await reading).toMatchObject({ snapshot: { revision: 1 }, stale: true });
      // The next caller does not wait for a revision that an earlier caller waited for in vain.
      expect(await fake().snapshots.get("", 5)).toMatchObject({ snapshot: { revision: 1 }, stale: true });
    });

    test("does not rely on a running check that read an earlier revision", async () => {
      fake().source.revision = 1;
      await fake().revision();
      fake().nowMs += MAX_AGE_MS + 1;
      const open = fake().source.hold();
      await fake().revision();
      fake().source.revision = 2;
      const reading = fake().snapshots.get("", 2);
      open();
      expect(await reading).toMatchObject({ snapshot: { revision: 2 }, stale: false });
    });

    test("gets that revision even while another caller reads the flags for the first time", async () => {
      fake().source.revision = 1;
      const open = fake().source.hold();
      const other = fake().snapshots.get("");
      fake().source.revision = 2;
      const reading = fake().snapshots.get("", 2);
      open();
      expect(await other).toMatchObject({ snapshot: { revision: 1 } });
      expect(await reading).toMatchObject({ snapshot: { revision: 2 }, stale: false });
    });

    test("does not wait for a revision that the database does not have", async () => {
      fake().source.revision = 1;
      await fake().revision();
      expect(await fake().snapshots.get("", 1e9)).toMatchObject({ snapshot: { revision: 1 }, stale: false });
      expect(fake().source.reads()).toEqual([2, 1]);
    });

    test("waits at most 1 s for a running check and the next one together", async () => {
      fake().nowMs = 5000;
      await fake().revision();
      fake().source.revision = 1;
      fake().source.loadMs = 600;
      fake().nowMs += MAX_AGE_MS + 1;
      await fake().revision();
      await settle();
      fake().source.revision = 2;
      const seen: SnapshotReading[] = [];
      void fake()
        .snapshots.get("", 2)
        .then((reading) => seen.push(reading));
      await fake().pass(WAIT_MS, 100);
      expect(seen).toMatchObject([{ snapshot: { revision: 1 }, stale: true }]);
    });

    test("uses what is left of the second for the next check", async () => {
      await fake().revision();
      fake().source.revision = 1;
      fake().source.loadMs = 400;
      fake().nowMs += MAX_AGE_MS + 1;
      await fake().revision();
      await settle();
      fake().source.revision = 2;
      const reading = fake().snapshots.get("", 2);
      await fake().pass(900, 100);
      expect(await reading).toMatchObject({ snapshot: { revision: 2 }, stale: false });
    });

    test("gets the first flags marked stale if that revision is not read within 1 s", async () => {
      fake().source.revision = 1;
      const open = fake().source.hold();
      const other = fake().snapshots.get("");
      fake().source.revision = 2;
      const reading = fake().snapshots.get("", 2);
      open();
      fake().source.hold();
      await other;
      await fake().pass(WAIT_MS);
      expect(await reading).toMatchObject({ snapshot: { revision: 1 }, stale: true });
    });
  });

  describe("a bad snapshot", () => {
    test("leaves the old one in place, is logged once, and is read again at a new revision", async () => {
      fake().source.revision = 1;
      await fake().revision();
      fake().source.revision = 2;
      fake().source.bad = new BadSnapshot("The flag x cannot be used.");
      for (let check = 0; check < 5; check++) {
        fake().nowMs += MAX_AGE_MS + 1;
        expect(await fake().revision()).toBe(1);
        await settle();
      }
      expect(fake().source.loads).toBe(2);
      expect(fake().warnings).toEqual([
        "The flags in the database are invalid. The last good snapshot is used.",
      ]);
      expect(fake().snapshots.health("")).toMatchObject({
        stale: true,
        problem: "The flag x cannot be used.",
      });
      expect(await fake().snapshots.get("")).toMatchObject({ stale: true });
      await settle();
      fake().source.bad = undefined;
      fake().source.revision = 3;
      fake().nowMs += MAX_AGE_MS + 1;
      await fake().revision();
      await settle();
      expect(await fake().snapshots.get("")).toMatchObject({ stale: false, snapshot: { revision: 3 } });
    });

    test("is logged again at another revision", async () => {
      await fake().revision();
      fake().source.bad = new BadSnapshot("bad");
      for (const revision of [1, 2, 2]) {
        fake().source.revision = revision;
        await fake().snapshots.get("", revision);
      }
      expect(fake().warnings).toHaveLength(2);
    });

    test("is read again from time to time, because an operator may have repaired the rows", async () => {
      fake().source.revision = 1;
      await fake().revision();
      fake().source.revision = 2;
      fake().source.bad = new BadSnapshot("bad");
      await fake().snapshots.get("", 2);
      fake().source.bad = undefined;
      fake().nowMs += 10_000;
      expect(await fake().snapshots.get("", 2)).toMatchObject({ snapshot: { revision: 2 } });
    });
  });

  test("a database with the same revision and another history is read again, and logged once", async () => {
    fake().source.revision = 5;
    const before = (await fake().snapshots.get("")).snapshot;
    fake().source.history = "other";
    for (let check = 0; check < 3; check++) {
      fake().nowMs += CHECK_FIRST_MS + 1;
      const { snapshot, stale } = await fake().snapshots.get("");
      expect([snapshot === before, snapshot.revision, stale]).toEqual([false, 5, false]);
    }
    expect([fake().source.loads, fake().warnings.length]).toEqual([2, 1]);
    expect(fake().warnings[0]).toContain("because a backup was restored");
    expect(fake().causes).toEqual([
      new Error("Revision 5 in the database is another change than the one in memory."),
    ]);
  });

  describe("a tenant whose flags cannot be read although the database answers", () => {
    test("does not stop the others, and is logged once", async () => {
      fake().source.broken.add("a");
      for (let attempt = 0; attempt < 5; attempt++) {
        await expect(fake().snapshots.get("a")).rejects.toMatchObject({
          ...NOT_LOADED,
          cause: { cause: new Error("statement timeout") },
        });
        expect(await fake().snapshots.get(`b${attempt}`)).toMatchObject({ stale: false });
        fake().nowMs += 100;
      }
      expect(fake().warnings).toEqual([
        "The flags of a tenant cannot be read. Its last good snapshot is used until they can.",
      ]);
      expect(fake().snapshots.health("a").problem).toBe("The flags cannot be read from the database.");
      expect(fake().snapshots.health("b0")).not.toHaveProperty("problem");
      // Left alone for a quarter of a second each time.
      expect(fake().source.loads - 5).toBe(2);
      fake().source.broken.clear();
      fake().nowMs += 250;
      expect(await fake().snapshots.get("a")).toMatchObject({ stale: false });
      expect(fake().snapshots.health("a")).not.toHaveProperty("problem");
    });

    test("is reported beside others of the same kind", async () => {
      for (const tenant of ["a", "b"]) {
        fake().source.broken.add(tenant);
        await expect(fake().snapshots.get(tenant)).rejects.toMatchObject(NOT_LOADED);
      }
      expect(fake().snapshots.health("a")).toHaveProperty("problem");
      expect(fake().snapshots.health("b")).toHaveProperty("problem");
    });

    test("does not stop the others if its read times out", async () => {
      await fake().revision("b");
      const open = fake().source.hold("loadGate");
      const slow = expect(fake().snapshots.get("a")).rejects.toMatchObject(NOT_LOADED);
      await fake().pass(10_000);
      await slow;
      open();
      expect(fake().snapshots.health("b")).not.toHaveProperty("problem");
      await settle();
      expect(fake().snapshots.health("a")).toMatchObject({ snapshotAgeMs: 0 });
    });
  });

  test("at most eight tenants are read at a time", async () => {
    const open = fake().source.hold("loadGate");
    const all = Promise.all(Array.from({ length: 50 }, (_, tenant) => fake().revision(`t${tenant}`)));
    await settle();
    expect(fake().source.mostLoading).toBe(8);
    open();
    await all;
    expect([fake().source.loads, fake().source.mostLoading]).toEqual([50, 8]);
  });

  test("a database with an older revision does not replace the snapshot", async () => {
    fake().source.revision = 5;
    await fake().revision();
    fake().source.revision = 4;
    for (let check = 0; check < 3; check++) {
      fake().nowMs += CHECK_FIRST_MS + 1;
      expect(await fake().snapshots.get("")).toMatchObject({ snapshot: { revision: 5 }, stale: true });
    }
    expect(fake().warnings).toHaveLength(1);
    expect(fake().snapshots.health("").problem).toContain("If a backup was restored");
    fake().source.revision = 5;
    fake().nowMs += CHECK_FIRST_MS + 1;
    expect(await fake().snapshots.get("")).toMatchObject({ stale: false });
    expect(fake().snapshots.health("")).not.toHaveProperty("problem");
  });

  test("tenants have separate snapshots", async () => {
    await fake().revision("one");
    expect(fake().snapshots.peek("two")).toBeUndefined();
  });

  test("10,000 tenants are kept; beyond that the least recently used one without a follower is evicted", async () => {
    for (let tenant = 0; tenant < 10_000; tenant++) await fake().revision(`t${tenant}`);
    fake().nowMs = MAX_AGE_MS + 1;
    await fake().revision("t0");
    fake().snapshots.follow("t1", () => {});
    await fake().revision("one more");
    const isKept = (tenant: string) => fake().snapshots.health(tenant).snapshotAgeMs !== null;
    expect(["t0", "t1", "t2", "t3"].map(isKept)).toEqual([true, true, false, true]);
  });
});
