import { beforeEach, describe, expect, test } from "vitest";
import type { FeatureFlag } from "../model/flag.ts";
import { createSnapshots, MAX_AGE_MS, type Snapshots, STALE_AFTER_MS } from "./snapshot.ts";

const at = new Date(0);
const flag = (key: string): FeatureFlag => ({
  id: key,
  key,
  name: key,
  type: "boolean",
  enabled: true,
  version: 1,
  createdAt: at,
  updatedAt: at,
});

/** A database whose every read the test can count, hold back or fail. */
class FakeSource {
  keys: string[] = [];
  revision = 0;
  revisionReads = 0;
  flagReads = 0;
  failure: Error | undefined;
  gate: Promise<void> | undefined;

  write(key: string): void {
    this.keys.push(key);
    this.revision++;
  }
  async readRevision(): Promise<number> {
    this.revisionReads++;
    const { revision } = this;
    await this.gate;
    if (this.failure) throw this.failure;
    return revision;
  }
  async readFlags(): Promise<FeatureFlag[]> {
    this.flagReads++;
    if (this.failure) throw this.failure;
    return this.keys.map(flag);
  }
}

describe("snapshots", () => {
  let source: FakeSource;
  let nowMs: number;
  let warnings: string[];
  let snapshots: Snapshots;
  const keys = async () => [...(await snapshots.get("")).snapshot.flags.keys()];

  beforeEach(() => {
    source = new FakeSource();
    nowMs = 0;
    warnings = [];
    snapshots = createSnapshots(
      source,
      (message) => warnings.push(message),
      () => nowMs,
    );
  });

  test("evaluations within the maximum age cost no read", async () => {
    source.write("a");
    expect(await keys()).toEqual(["a"]);
    nowMs = MAX_AGE_MS;
    expect(await keys()).toEqual(["a"]);
    expect([source.revisionReads, source.flagReads]).toEqual([1, 1]);
  });

  test("after it, only the revision is read, and the flags when it has moved", async () => {
    source.write("a");
    await keys();
    nowMs += MAX_AGE_MS + 1;
    await keys();
    expect([source.revisionReads, source.flagReads]).toEqual([2, 1]);
    source.write("b");
    nowMs += MAX_AGE_MS + 1;
    expect(await keys()).toEqual(["a", "b"]);
    expect([source.revisionReads, source.flagReads]).toEqual([3, 2]);
  });

  test("many evaluations that come at once share one read", async () => {
    source.write("a");
    await Promise.all(Array.from({ length: 20 }, keys));
    expect([source.revisionReads, source.flagReads]).toEqual([1, 1]);
  });

  test("a refresh does not settle for a check that began before the change", async () => {
    source.write("a");
    let open = () => {};
    source.gate = new Promise((resolve) => {
      open = resolve;
    });
    const before = keys();
    source.write("b");
    const refreshed = snapshots.refresh("");
    open();
    await Promise.all([before, refreshed]);
    expect([...(snapshots.fresh("")?.snapshot.flags.keys() ?? [])]).toEqual(["a", "b"]);
    expect(snapshots.fresh("")?.snapshot.revision).toBe(2);
  });

  test("while the source fails, the last good flags are served, and called stale after two seconds", async () => {
    source.write("a");
    await keys();
    source.failure = new Error("down");
    nowMs += MAX_AGE_MS + 1;
    expect(await snapshots.get("")).toMatchObject({ stale: false });
    nowMs = STALE_AFTER_MS + 1;
    expect(await snapshots.get("")).toMatchObject({ stale: true, snapshot: { revision: 1 } });
    expect(warnings).toHaveLength(2);

    source.failure = undefined;
    source.write("b");
    expect(await keys()).toEqual(["a", "b"]);
    expect(await snapshots.get("")).toMatchObject({ stale: false });
  });

  test("while the source fails and there has never been a snapshot, a read fails", async () => {
    source.failure = new Error("down");
    await expect(snapshots.get("")).rejects.toThrow("down");
  });

  test("a refresh that fails does not fail the change, and the next evaluation reads again", async () => {
    source.write("a");
    await keys();
    source.write("b");
    source.failure = new Error("down");
    await snapshots.refresh("");
    expect(warnings).toHaveLength(1);
    source.failure = undefined;
    expect(await keys()).toEqual(["a", "b"]);
  });

  test("organizations are apart", async () => {
    source.write("a");
    await snapshots.get("one");
    expect(snapshots.fresh("two")).toBeUndefined();
  });
});
