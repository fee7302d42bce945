import { describe, expect, test } from "vitest";
import { withFakeSnapshots } from "../../../test/contract/fake-snapshots.ts";
import { MAX_AGE_MS } from "./memory.ts";
import { CHECK_FIRST_MS } from "./snapshots.ts";

describe("after a change by this process", () => {
  const fake = withFakeSnapshots(0);

  test("a refresh does not rely on a check that started before the change", async () => {
    fake().source.revision = 1;
    await fake().revision();
    fake().nowMs += MAX_AGE_MS + 1;
    const open = fake().source.hold();
    await fake().revision();
    fake().source.revision = 2;
    const refreshed = fake().snapshots.refresh("", 2);
    open();
    await refreshed;
    expect(fake().snapshots.peek("")?.snapshot.revision).toBe(2);
  });

  test("nothing is loaded for a tenant that this process does not evaluate", async () => {
    fake().source.revision = 1;
    await fake().snapshots.refresh("", 1);
    expect(fake().source.reads()).toEqual([0, 0]);
  });

  test("a failed refresh does not fail the change, and the next evaluation checks first", async () => {
    fake().source.revision = 1;
    await fake().revision();
    fake().source.revision = 2;
    fake().source.failure = new Error("down");
    await fake().snapshots.refresh("", 2);
    expect([fake().warnings.length, fake().source.revisionReads]).toEqual([1, 3]);
    fake().source.failure = undefined;
    fake().nowMs += 1000;
    expect(await fake().revision()).toBe(2);
  });

  test("a refresh reads even right after a failed read", async () => {
    await fake().revision();
    fake().source.failure = new Error("down");
    fake().nowMs += CHECK_FIRST_MS + 1;
    await fake().revision();
    fake().source.failure = undefined;
    fake().source.revision = 1;
    await fake().snapshots.refresh("", 1);
    expect(fake().snapshots.peek("")?.snapshot.revision).toBe(1);
  });

  test("the flags are stale until the database, such as a replica, has the change", async () => {
    fake().source.revision = 1;
    await fake().revision();
    await fake().snapshots.refresh("", 2);
    expect(fake().snapshots.peek("")).toBeUndefined();
    expect(await fake().snapshots.get("")).toMatchObject({ snapshot: { revision: 1 }, stale: true });
    fake().source.revision = 2;
    expect(await fake().snapshots.get("")).toMatchObject({ snapshot: { revision: 2 }, stale: false });
  });
});

describe("after a change that another process has announced", () => {
  const fake = withFakeSnapshots(0);

  test("a tenant in use has it at once", async () => {
    fake().nowMs = 1e6;
    await fake().revision();
    fake().nowMs += 60_000;
    fake().source.revision = 1;
    await fake().snapshots.wake("", 1);
    expect(fake().snapshots.peek("")?.snapshot.revision).toBe(1);
    await fake().snapshots.wake("", 1);
    expect(fake().source.reads()).toEqual([2, 2]);
  });

  test("a tenant that is not used, or was not for a minute, is not read", async () => {
    await fake().snapshots.wake("never", 1);
    await fake().revision("idle");
    fake().nowMs += 60_001;
    await fake().snapshots.wake("idle", 1);
    expect(fake().source.reads()).toEqual([1, 1]);
  });

  test("a tenant that is followed has it, however long it was not used", async () => {
    await fake().revision();
    const seen: number[] = [];
    const stop = fake().snapshots.follow("", ({ revision }) => seen.push(revision));
    fake().nowMs += 3600_000;
    fake().source.revision = 1;
    await fake().snapshots.wake("", 1);
    expect(seen).toEqual([0, 1]);
    stop();
  });
});
