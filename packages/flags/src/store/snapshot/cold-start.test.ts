import { describe, expect, test } from "vitest";
import { NOT_LOADED, settle, withFakeSnapshots } from "../../../test/contract/fake-snapshots.ts";

/** Work in the middle must see the time pass. */
const STEP_MS = 100;

describe("at a cold start of many tenants", () => {
  const fake = withFakeSnapshots(0);

  const cold = (tenants: number) => Array.from({ length: tenants }, (_, tenant) => `t${tenant}`);
  const outcome = (tenant: string) =>
    fake()
      .snapshots.get(tenant)
      .then(
        ({ stale }) => (stale ? "stale" : "fresh"),
        ({ code, status, details }) => ({ code, status, details }),
      );

  test("each gets its flags, which are not stale, or 503 with a time to retry; the retry finds them", async () => {
    fake().source.revision = 1;
    fake().source.loadMs = 200;
    // 720 tenants, 8 at a time, 200 ms each: the last ones wait for 18 s.
    const all = Promise.all(cold(720).map(outcome));
    await fake().pass(10_000, STEP_MS);
    const outcomes = await all;
    expect(outcomes.slice(0, 392)).toEqual(Array(392).fill("fresh"));
    expect(outcomes.slice(400)).toEqual(Array(320).fill(NOT_LOADED));
    const retries = Promise.all(cold(720).slice(400).map(outcome));
    await fake().pass(9000, STEP_MS);
    expect(new Set(await retries)).toEqual(new Set(["fresh"]));
    expect([fake().source.loads, fake().source.mostLoading]).toEqual([720, 8]);
    expect(fake().warnings).toEqual([]);
  });

  test("at most eight queries run at a time, the reads of revisions included", async () => {
    const open = fake().source.hold();
    const all = Promise.all(cold(50).map(outcome));
    await settle();
    expect(fake().source.revisionReads).toBe(8);
    open();
    expect(await all).toEqual(Array(50).fill("fresh"));
  });

  test("a change of another tenant does not wait for them", async () => {
    fake().source.revision = 1;
    await fake().revision("used");
    fake().source.loadMs = 200;
    const all = Promise.all(cold(100).map(outcome));
    fake().source.revision = 2;
    const changed = fake().snapshots.refresh("used", 2);
    await fake().pass(200, STEP_MS);
    await changed;
    expect(await fake().revision("used")).toBe(2);
    await fake().pass(10_000, STEP_MS);
    await all;
  });

  test("flags whose load took longer than 2 s are not stale", async () => {
    fake().source.revision = 1;
    fake().source.loadMs = 5000;
    const reading = outcome("large");
    await fake().pass(5000, STEP_MS);
    expect(await reading).toBe("fresh");
  });

  test("flags whose load took longer than 2 s are stale if the database does not answer any more", async () => {
    fake().source.loadMs = 5000;
    const reading = outcome("large");
    await fake().pass(4000, STEP_MS);
    fake().source.failure = new Error("down");
    await fake().pass(1000, STEP_MS);
    expect(await reading).toBe("stale");
  });

  test("a tenant that waits for its turn is not reported as failed", async () => {
    const open = fake().source.hold("loadGate");
    const all = Promise.all(cold(50).map(outcome));
    await fake().pass(10_000, STEP_MS);
    expect(await all).toEqual(Array(50).fill(NOT_LOADED));
    expect(fake().warnings).toHaveLength(8);
    open();
    await settle();
    expect(fake().source.mostLoading).toBeLessThanOrEqual(16);
    expect(await fake().revision("t49")).toBe(0);
  });
});
