import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { FakeSource } from "../../../test/contract/fake-source.ts";
import { Snapshots } from "./snapshots.ts";

describe("where requests are isolated, as on Workers, a snapshot", () => {
  let source: FakeSource;
  let nowMs: number;
  let snapshots: Snapshots;

  beforeEach(() => {
    vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
    source = new FakeSource();
    nowMs = 0;
    snapshots = new Snapshots(source, { warn: () => {}, monotonicMs: () => nowMs, pollMs: 500 });
  });
  afterEach(() => {
    snapshots.close();
    vi.unstubAllGlobals();
  });

  const reading = async () => {
    const { snapshot, stale } = await snapshots.get("");
    return [snapshot.revision, stale];
  };
  /** The runtime ends the request: no caller awaits it. */
  const endedReading = () => void reading().catch(() => undefined);

  test("older than 1 s is checked by the next request before it answers", async () => {
    expect(await reading()).toEqual([0, false]);
    source.revision = 1;
    nowMs += 999;
    expect(await reading()).toEqual([0, false]);
    nowMs += 2;
    expect(await reading()).toEqual([1, false]);
    nowMs += 3600_000;
    source.revision = 2;
    expect(await reading()).toEqual([2, false]);
  });

  test("is checked by one request per second, and serves the others unchanged", async () => {
    await reading();
    source.revision = 1;
    nowMs += 1500;
    const open = source.hold();
    const slow = reading();
    expect(await reading()).toEqual([0, false]);
    nowMs += 600;
    expect(await reading()).toEqual([0, true]);
    open();
    expect(await slow).toEqual([1, false]);
    expect(source.revisionReads).toBe(2);
  });

  test("is checked again when the request that checked it was ended", async () => {
    await reading();
    source.revision = 1;
    nowMs += 1500;
    source.hold();
    endedReading();
    source.gate = undefined;
    nowMs += 1001;
    expect(await reading()).toEqual([1, false]);
  });

  test("is read by each of the first requests independently", async () => {
    source.hold();
    endedReading();
    source.gate = undefined;
    expect(await reading()).toEqual([0, false]);
  });

  test("is read again when eight requests were ended during the read", async () => {
    source.hold("loadGate");
    for (let request = 0; request < 8; request++) endedReading();
    await vi.waitFor(() => expect(source.loading).toBe(8));
    source.loadGate = undefined;
    expect(await reading()).toEqual([0, false]);
  });

  test("is checked again when the request that retried a failing database was ended", async () => {
    await reading();
    source.failure = new Error("down");
    nowMs += 1500;
    expect(await reading()).toEqual([0, false]);
    source.hold();
    nowMs += 1500;
    endedReading();
    source.gate = undefined;
    source.failure = undefined;
    source.revision = 1;
    nowMs += 11_000;
    expect(await reading()).toEqual([1, false]);
  });
});
