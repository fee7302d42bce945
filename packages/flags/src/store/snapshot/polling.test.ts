import { describe, expect, test, vi } from "vitest";
import { settle, withFakeSnapshots } from "../../../test/contract/fake-snapshots.ts";

describe("polling", () => {
  const fake = withFakeSnapshots(500);

  test("starts with the first snapshot, and reads the revisions of all tenants in one query", async () => {
    await fake().pass(5000);
    expect(fake().source.polls).toEqual([]);
    await Promise.all([fake().revision("a"), fake().revision("b")]);
    fake().source.revision = 1;
    await fake().pass(500);
    expect(fake().source.polls).toEqual([["a", "b"]]);
    expect(fake().snapshots.peek("a")?.snapshot.revision).toBe(1);
    expect(fake().snapshots.peek("b")?.snapshot.revision).toBe(1);
  });

  test("keeps snapshots from becoming stale without further reads", async () => {
    await fake().revision();
    for (let round = 0; round < 20; round++) {
      await fake().pass(500);
      expect(await fake().snapshots.get("")).toMatchObject({ stale: false });
    }
    expect(fake().source.reads()).toEqual([1, 1]);
  });

  test("skips unused tenants, whose next use checks them first", async () => {
    await Promise.all([fake().revision("idle"), fake().revision("used")]);
    for (let second = 0; second < 70; second++) {
      await fake().pass(1000);
      await fake().revision("used");
    }
    expect(fake().source.polls.at(-1)).toEqual(["used"]);
    fake().source.revision = 1;
    expect(await fake().snapshots.get("idle")).toMatchObject({ snapshot: { revision: 1 }, stale: false });
  });

  test("does not mistake a result from before a later change for an older database", async () => {
    fake().source.revision = 1;
    await fake().revision();
    const open = fake().source.hold("pollGate");
    await fake().pass(500);
    fake().source.revision = 2;
    await fake().snapshots.refresh("", 2);
    open();
    await settle();
    expect(fake().source.polls).toHaveLength(1);
    expect([fake().warnings, fake().snapshots.health("").problem]).toEqual([[], undefined]);
    expect(fake().snapshots.peek("")).toMatchObject({ snapshot: { revision: 2 }, stale: false });
  });

  test("does not confirm a snapshot after a failed refresh with a result from before the change", async () => {
    fake().source.revision = 1;
    await fake().revision();
    const open = fake().source.hold("pollGate");
    await fake().pass(500);
    fake().source.revision = 2;
    fake().source.failure = new Error("down");
    await fake().snapshots.refresh("", 2);
    fake().source.failure = undefined;
    fake().nowMs += 1000;
    open();
    await Promise.resolve();
    expect(fake().snapshots.peek("")?.snapshot.revision ?? 2).toBe(2);
    await settle();
    // Without any caller: the late response was too old to confirm the snapshot, so it was read again.
    expect(fake().snapshots.health("")).toMatchObject({ revision: 2, stale: false });
  });

  test("continues during an outage and notices its end", async () => {
    await fake().revision();
    fake().source.failure = new Error("down");
    await fake().pass(5000);
    expect(fake().snapshots.health("")).toMatchObject({ stale: true });
    fake().source.failure = undefined;
    fake().source.revision = 1;
    await fake().pass(500);
    expect(fake().snapshots.health("")).toMatchObject({ stale: false, revision: 1 });
    expect(fake().warnings).toHaveLength(1);
  });

  test("ends when the store is closed", async () => {
    await fake().revision();
    await fake().pass(500);
    fake().snapshots.close();
    await fake().pass(5000);
    expect(fake().source.polls).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });
});
