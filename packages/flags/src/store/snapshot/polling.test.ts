import { describe, expect, test, vi } from "vitest";
import { settle, withFakeSnapshots } from "../../../test/contract/fake-snapshots.ts";
import type { SnapshotReading } from "../flag-store.ts";
import { counterOf } from "../writes/revision.ts";

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

  test("that hangs does not delay an evaluation", async () => {
    fake().nowMs = 1e6;
    await fake().revision();
    fake().source.hold("pollGate");
    await fake().pass(1500);
    fake().source.hold();
    const seen: SnapshotReading[] = [];
    void fake()
      .snapshots.get("")
      .then((reading) => seen.push(reading));
    await settle();
    expect(seen).toMatchObject([{ stale: false }]);
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
    await fake().revision("another");
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("polling with change counters", () => {
  const fake = withFakeSnapshots(500);

  /** Two tenants that a poll has read. */
  async function start(): Promise<void> {
    fake().source.count(7);
    await Promise.all([fake().revision("a"), fake().revision("b")]);
    await fake().pass(500);
    expect(fake().source.polls).toEqual([["a", "b"]]);
  }

  test("asks only for the tenants that changed since the last poll, and keeps the others fresh", async () => {
    await start();
    const { source, snapshots } = fake();
    source.revision = 1;
    source.count(8);
    source.changed.set("b", 8);
    await fake().pass(500);
    expect([snapshots.peek("a")?.snapshot.revision, snapshots.peek("b")?.snapshot.revision]).toEqual([0, 1]);
    await fake().pass(5000, 500);
    expect(snapshots.health("a")).toMatchObject({ revision: 0, stale: false });
    expect(source.polls).toHaveLength(1);
    expect(source.counted.slice(0, 4).map(([first]) => first)).toEqual([undefined, 7, 8, 8]);
  });

  test("asks for the tenants of one counter when only that one went back", async () => {
    await start();
    const { source, snapshots } = fake();
    source.counts[counterOf("a")] = 3;
    source.revision = 1;
    await fake().pass(500);
    expect(source.polls.slice(1)).toEqual([["a"]]);
    expect([snapshots.peek("a")?.snapshot.revision, snapshots.peek("b")?.snapshot.revision]).toEqual([1, 0]);
    await fake().pass(500);
    expect(source.polls).toHaveLength(2);
  });

  test("asks for all tenants when the counters went back, because a backup was restored", async () => {
    await start();
    const { source } = fake();
    source.count(3);
    source.revision = 1;
    await fake().pass(500);
    expect(source.polls).toHaveLength(2);
    expect(fake().snapshots.peek("a")?.snapshot.revision).toBe(1);
    await fake().pass(500);
    expect(source.counted.at(-1)?.[0]).toBe(3);
  });

  test("asks for all tenants once in a while, for changes that were not counted", async () => {
    await start();
    fake().source.revision = 1;
    for (let second = 0; second < 31; second++) {
      await fake().pass(1000, 500);
      await fake().snapshots.get("a");
    }
    expect(fake().source.polls).toHaveLength(2);
    expect(fake().snapshots.peek("a")?.snapshot.revision).toBe(1);
  });

  test("tries a changed tenant again until its flags could be read", async () => {
    await start();
    const { source, snapshots } = fake();
    source.revision = 1;
    source.count(8);
    source.changed.set("a", 8);
    source.broken.add("a");
    await fake().pass(3000, 500);
    expect(snapshots.health("a")).toMatchObject({ revision: 0, stale: true });
    source.broken.clear();
    await fake().pass(1000, 500);
    expect(snapshots.health("a")).toMatchObject({ revision: 1, stale: false });
  });

  test("does not confirm the flags of another history that could not be read", async () => {
    const { source, snapshots } = fake();
    source.revision = 1;
    await start();
    source.history = "restored";
    source.count(8);
    source.changed.set("a", 8);
    source.broken.add("a");
    await fake().pass(3000, 500);
    expect(snapshots.health("a")).toMatchObject({ revision: 1, stale: true });
    source.broken.clear();
    await fake().pass(1000, 500);
    expect(snapshots.health("a")).toMatchObject({ revision: 1, stale: false });
  });

  test("does not miss a change during the first load of a tenant", async () => {
    await start();
    const { source, snapshots } = fake();
    const open = source.hold("loadGate");
    const loading = snapshots.get("c");
    await settle();
    source.revision = 1;
    source.count(8);
    source.changed.set("c", 8);
    await fake().pass(500);
    open();
    await loading;
    await fake().pass(1000, 500);
    expect(snapshots.peek("c")?.snapshot.revision).toBe(1);
  });
});

describe("a followed tenant", () => {
  const fake = withFakeSnapshots(500);

  test("stays current without evaluations, and its follower gets every snapshot in order", async () => {
    const { source, snapshots } = fake();
    const seen: (readonly [number, number | undefined])[] = [];
    const stop = snapshots.follow("a", (current, previous) => {
      seen.push([current.revision, previous?.revision]);
    });
    await settle();
    for (let minute = 1; minute <= 3; minute++) {
      await fake().pass(60_000, 500);
      source.revision = minute;
      await fake().pass(500);
    }
    expect(seen).toEqual([
      [0, undefined],
      [1, 0],
      [2, 1],
      [3, 2],
    ]);
    stop();
    source.revision = 4;
    await fake().pass(120_000, 500);
    expect(seen).toHaveLength(4);
  });

  test("stays current until its last follower has stopped, however often one stops", async () => {
    const { source, snapshots } = fake();
    const seen: string[] = [];
    const follow = (name: string) =>
      snapshots.follow("a", ({ revision }) => seen.push(`${name} ${revision}`));
    const [stopOne, stopTwo] = [follow("one"), follow("two")];
    await settle();
    stopOne();
    source.revision = 1;
    await fake().pass(500);
    expect(seen.splice(0)).toEqual(["one 0", "two 0", "two 1"]);
    stopTwo();
    await fake().pass(60_000, 500);
    const polls = source.polls.length;
    await fake().pass(1000, 500);
    expect(source.polls).toHaveLength(polls);
    follow("three");
    stopTwo();
    source.revision = 2;
    await fake().pass(500);
    expect(seen).toEqual(["three 1", "three 2"]);
  });

  test("calls back with the snapshot in memory, without a read", async () => {
    await fake().revision("a");
    const seen: unknown[] = [];
    fake().snapshots.follow("a", ({ revision }, previous) => seen.push([revision, previous]));
    await fake().pass(1000, 500);
    expect([seen, fake().source.reads()]).toEqual([[[0, undefined]], [1, 1]]);
  });

  test("is loaded as soon as the database can be read", async () => {
    const { source, snapshots } = fake();
    source.failure = new Error("down");
    const seen: number[] = [];
    snapshots.follow("a", (current) => seen.push(current.revision));
    await fake().pass(3000, 500);
    expect(seen).toEqual([]);
    source.failure = undefined;
    await fake().pass(1000, 500);
    expect(seen).toEqual([0]);
  });
});
