import { describe, expect, test } from "vitest";
import { NOT_LOADED, settle, withFakeSnapshots } from "../../../test/contract/fake-snapshots.ts";
import { MAX_AGE_MS, STALE_AFTER_MS } from "./memory.ts";
import { CHECK_FIRST_MS, WAIT_MS } from "./snapshots.ts";

describe("snapshots while the source fails", () => {
  const fake = withFakeSnapshots(0);

  test("the last good one is served, is stale after 2 s, and the outage is logged once", async () => {
    fake().source.revision = 1;
    await fake().revision();
    fake().source.failure = new Error("down");
    for (fake().nowMs = 0; fake().nowMs <= STALE_AFTER_MS; fake().nowMs += 100) {
      expect(await fake().snapshots.get("")).toMatchObject({ stale: false });
      await settle();
    }
    for (; fake().nowMs < CHECK_FIRST_MS * 2; fake().nowMs += 500) {
      expect(await fake().snapshots.get("")).toMatchObject({ stale: true, snapshot: { revision: 1 } });
      await settle();
    }
    expect(fake().warnings).toEqual([
      "The flags cannot be read from the database. The last good snapshot is used until they can.",
    ]);
    const problem = "The flags cannot be read from the database.";
    expect(fake().snapshots.health("")).toMatchObject({ stale: true, revision: 1, problem });

    fake().source.failure = undefined;
    fake().source.revision = 2;
    expect(await fake().snapshots.get("")).toMatchObject({ stale: false, snapshot: { revision: 2 } });
    expect(fake().snapshots.health("")).not.toHaveProperty("problem");
    fake().source.failure = new Error("down again");
    fake().nowMs += MAX_AGE_MS + 1;
    await fake().revision();
    await settle();
    expect(fake().warnings).toHaveLength(2);
  });

  test("it is not read between two attempts, for any number of callers and tenants", async () => {
    await Promise.all(["a", "b", "c"].map((tenant) => fake().revision(tenant)));
    fake().source.failure = new Error("down");
    fake().source.revisionReads = 0;
    for (let second = 0; second < 10; second++) {
      for (let call = 0; call < 100; call++) {
        fake().nowMs += 10;
        await fake().snapshots.get(["a", "b", "c"][call % 3] ?? "");
        await settle();
      }
    }
    expect(fake().source.revisionReads).toBeLessThanOrEqual(40);
    expect(fake().source.revisionReads).toBeGreaterThan(10);
  });

  test("one caller at a time tries whether it answers again", async () => {
    await Promise.all([fake().revision("a"), fake().revision("b")]);
    fake().source.failure = new Error("down");
    fake().nowMs += CHECK_FIRST_MS + 1;
    await fake().revision("a");
    fake().source.revisionReads = 0;
    fake().nowMs += 250;
    const open = fake().source.hold();
    const trying = fake().revision("a");
    expect(await fake().snapshots.get("b")).toMatchObject({ stale: true });
    expect(fake().source.revisionReads).toBe(1);
    open();
    await trying;
  });

  test("a read fails if there has never been a snapshot", async () => {
    fake().source.failure = new Error("down");
    await expect(fake().snapshots.get("")).rejects.toMatchObject({
      ...NOT_LOADED,
      cause: new Error("down"),
    });
    expect(fake().snapshots.health("")).toMatchObject({ stale: true, snapshotAgeMs: null });
  });
});

describe("snapshots while the source hangs", () => {
  const fake = withFakeSnapshots(0);

  test("no evaluation with a snapshot waits longer than 1 s", async () => {
    await fake().revision();
    fake().source.hold();
    fake().nowMs += CHECK_FIRST_MS + 1;
    const first = fake().snapshots.get("");
    await fake().pass(WAIT_MS);
    expect(await first).toMatchObject({ stale: true });
    expect(await fake().snapshots.get("")).toMatchObject({ stale: true });
    await fake().pass(60_000);
    expect(fake().warnings).toHaveLength(1);
    expect(await fake().snapshots.get("")).toMatchObject({ stale: true });
  });

  test("an evaluation without one fails after 10 s, and a later result is used", async () => {
    fake().source.revision = 3;
    const open = fake().source.hold();
    const first = fake().snapshots.get("");
    const cause = new Error("The database did not answer in time.");
    const refused = expect(first).rejects.toMatchObject({ ...NOT_LOADED, cause });
    await fake().pass(10_000);
    await refused;
    open();
    await settle();
    expect(fake().snapshots.health("")).toMatchObject({ revision: 3 });
  });

  test("a revision that was overtaken by a later one is not mistaken for an older database", async () => {
    fake().source.revision = 1;
    await fake().revision();
    const open = fake().source.hold();
    fake().nowMs += CHECK_FIRST_MS + 1;
    void fake().snapshots.get("");
    await fake().pass(10_000);
    fake().source.gate = undefined;
    fake().source.revision = 2;
    fake().nowMs += 1000;
    expect(await fake().revision()).toBe(2);
    open();
    await settle();
    expect(fake().snapshots.health("")).toEqual({ revision: 2, snapshotAgeMs: 0, stale: false });
    expect(fake().warnings).toHaveLength(1);
  });

  test("flags that were overtaken by later ones are not used", async () => {
    fake().source.revision = 1;
    await fake().revision();
    fake().source.revision = 2;
    const open = fake().source.hold("loadGate");
    void fake().snapshots.get("", 2);
    await fake().pass(10_000);
    fake().source.loadGate = undefined;
    fake().source.revision = 3;
    fake().nowMs += 1000;
    expect(await fake().snapshots.get("", 3)).toMatchObject({ snapshot: { revision: 3 }, stale: false });
    open();
    await settle();
    expect(fake().snapshots.peek("")?.snapshot.revision).toBe(3);
  });

  test("an update that waits for its turn is not reported as failed, and unchanged flags need none", async () => {
    const tenants = Array.from({ length: 10 }, (_, tenant) => `t${tenant}`);
    await Promise.all(tenants.map((tenant) => fake().revision(tenant)));
    fake().source.revision = 1;
    await fake().revision("unchanged");
    const open = fake().source.hold("loadGate");
    const refreshed = Promise.all(tenants.map((tenant) => fake().snapshots.refresh(tenant, 1)));
    await fake().pass(CHECK_FIRST_MS + 1, 5000);
    expect(await fake().snapshots.get("unchanged")).toMatchObject({ stale: false });
    expect(fake().warnings).toHaveLength(8);
    open();
    await refreshed;
  });
});
