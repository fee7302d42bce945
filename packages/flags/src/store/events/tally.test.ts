import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { SnapshotFlag } from "../flag-store.ts";
import type { EvaluationCount } from "./event-log.ts";
import { createTally, type Tally, type TallyOptions } from "./tally.ts";

const NOON = Date.parse("2030-05-15T12:30:00.000Z");

/** What counting needs of a flag in a snapshot. */
const flagOf = (id: string) => ({ flag: { id }, counter: undefined }) as unknown as SnapshotFlag;

interface Set {
  readonly tally: Tally;
  /** What has been written, one entry for each call. */
  readonly written: EvaluationCount[][];
  /** Each part that was to be written, by its id. */
  readonly tried: [id: string | undefined, counts: EvaluationCount[]][];
  readonly warnings: string[];
  lost: number;
  fails: boolean;
  nowMs: number;
  monotonicMs: number;
}

function setUp(options: Partial<TallyOptions> = {}): Set {
  const set = {
    written: [],
    tried: [],
    warnings: [],
    lost: 0,
    fails: false,
    nowMs: NOON,
    monotonicMs: 0,
  } as unknown as Set;
  const tally = createTally({
    log: {
      async count(counts, id) {
        set.tried.push([id, [...counts]]);
        if (set.fails) throw new Error("The database is down.");
        set.written.push([...counts]);
      },
    },
    warn: (message) => set.warnings.push(message),
    lost: (count) => {
      set.lost += count;
    },
    nowMs: () => set.nowMs,
    monotonicMs: () => set.monotonicMs,
    ...options,
  });
  onTestFinished(() => tally.close());
  return Object.assign(set, { tally });
}

const total = (written: EvaluationCount[][]) => written.flat().reduce((sum, { count }) => sum + count, 0);

describe("the tally", () => {
  test("writes evaluations once, by flag, hour and reason", async () => {
    const { tally, written } = setUp();
    const [a, b] = [flagOf("a"), flagOf("b")];
    for (let times = 0; times < 3; times++) tally.count("t", a, "default");
    tally.count("t", a, "rule_match");
    tally.count("t", b, "disabled");
    tally.count("t", b, "override");
    tally.count("t", b, "percentage_rollout");
    await tally.flush();
    const hour = "2030-05-15T12:00:00.000Z";
    expect(written.flat()).toEqual([
      { tenant: "t", flagId: "a", hour, reason: "rule_match", count: 1 },
      { tenant: "t", flagId: "a", hour, reason: "default", count: 3 },
      { tenant: "t", flagId: "b", hour, reason: "override", count: 1 },
      { tenant: "t", flagId: "b", hour, reason: "percentage_rollout", count: 1 },
      { tenant: "t", flagId: "b", hour, reason: "disabled", count: 1 },
    ]);
    await tally.flush();
    expect(written).toHaveLength(1);
  });

  test("adds up the counts of one flag in several snapshots", async () => {
    const { tally, written } = setUp();
    for (let revision = 0; revision < 5; revision++) tally.count("t", flagOf("a"), "default");
    await tally.flush();
    expect(written.flat().map(({ count }) => count)).toEqual([5]);
  });

  test("continues to count a flag after it was written", async () => {
    const { tally, written } = setUp();
    const flag = flagOf("a");
    tally.count("t", flag, "default");
    await tally.flush();
    tally.count("t", flag, "default");
    await tally.flush();
    expect(total(written)).toBe(2);
  });

  test("keeps counts that could not be written, with their hour, and logs it once", async () => {
    const set = setUp();
    const flag = flagOf("a");
    set.fails = true;
    set.tally.count("t", flag, "default");
    await set.tally.flush();
    set.nowMs += 3_600_000;
    set.tally.count("t", flag, "default");
    await set.tally.flush();
    expect(set.warnings).toHaveLength(1);
    expect(set.written).toEqual([]);
    set.fails = false;
    await set.tally.flush();
    expect(set.written.flat().map(({ hour, count }) => [hour.slice(11, 13), count])).toEqual([
      ["12", 1],
      ["13", 1],
    ]);
    expect(set.tally.depth()).toBe(0);
  });

  test("retries failed counts unchanged and with the same id, so that they are added once", async () => {
    const set = setUp();
    set.fails = true;
    set.tally.count("t", flagOf("a"), "default");
    await set.tally.flush();
    set.tally.count("t", flagOf("a"), "default");
    await set.tally.flush();
    set.fails = false;
    await set.tally.flush();
    const [first, second, third, fourth] = set.tried;
    expect([second, third]).toEqual([first, first]);
    expect(fourth?.[0]).not.toBe(first?.[0]);
    expect(total(set.written)).toBe(2);
  });

  test("writes many flags in chunks, and retries only the failed chunk", async () => {
    const set = setUp();
    for (let index = 0; index < 450; index++) set.tally.count("t", flagOf(`f${index}`), "default");
    await set.tally.flush();
    expect(set.written.map((part) => part.length)).toEqual(Array(18).fill(25));
    expect(total(set.written)).toBe(450);
  });

  test("drops nothing while the log accepts counts, however many flags are evaluated", async () => {
    const set = setUp({ maxPending: 2 });
    for (let index = 0; index < 30_000; index++) set.tally.count("t", flagOf(`f${index}`), "default");
    await set.tally.flush();
    expect([total(set.written), set.lost]).toEqual([30_000, 0]);
  });

  test("keeps a bounded number of flags while the log fails, and counts dropped evaluations as lost", async () => {
    const set = setUp({ maxPending: 2 });
    set.fails = true;
    set.tally.count("t", flagOf("a"), "default");
    await set.tally.flush();
    for (const key of ["b", "c", "d", "d", "e"]) set.tally.count("t", flagOf(key), "default");
    await set.tally.flush();
    expect(set.lost).toBe(3);
    // Two wait, and one is retried.
    expect(set.tally.depth()).toBe(3);
  });

  test("keeps a bounded number of flags while the log does not respond", async () => {
    let respond = (): void => undefined;
    const responds = new Promise<void>((resolve) => {
      respond = resolve;
    });
    const set = setUp({ maxPending: 2, log: { count: () => responds } });
    set.tally.count("t", flagOf("a"), "default");
    const flushed = set.tally.flush();
    set.monotonicMs = 60_000;
    for (let index = 0; index < 40_000; index++) set.tally.count("t", flagOf(`f${index}`), "default");
    // 20,000 counters, two flags that wait, and the one that is being written.
    expect(set.tally.depth()).toBeLessThanOrEqual(20_003);
    expect(set.lost + set.tally.depth()).toBe(40_001);
    respond();
    await flushed;
  });

  test("lets other work run while the counts of many flags are collected", async () => {
    const { tally, written } = setUp();
    for (let index = 0; index < 10_000; index++) tally.count("t", flagOf(`f${index}`), "default");
    const order: string[] = [];
    const flushed = tally.flush().then(() => order.push("flush"));
    setTimeout(() => order.push("other work"), 0);
    await flushed;
    expect([order, total(written)]).toEqual([["other work", "flush"], 10_000]);
  });

  test("a flush during a write includes everything that was counted before the call", async () => {
    const { tally, written } = setUp();
    const flag = flagOf("a");
    tally.count("t", flag, "default");
    const first = tally.flush();
    tally.count("t", flag, "default");
    await Promise.all([first, tally.flush(), tally.flush()]);
    expect(total(written)).toBe(2);
  });

  test("writes overdue counts at the next request where no timer runs", async () => {
    const set = setUp({ flushMs: 10_000 });
    set.tally.count("t", flagOf("a"), "default");
    set.tally.touch();
    set.monotonicMs = 19_999;
    set.tally.touch();
    await Promise.resolve();
    expect(set.written).toEqual([]);
    set.monotonicMs = 20_000;
    set.tally.touch();
    await expect.poll(() => total(set.written)).toBe(1);
  });

  test("writes within 60 s without a request, not earlier than after 30 s", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const set = setUp();
    set.tally.count("t", flagOf("a"), "default");
    await vi.advanceTimersByTimeAsync(29_999);
    expect(set.written).toEqual([]);
    await vi.advanceTimersByTimeAsync(30_001);
    expect(total(set.written)).toBe(1);
  });

  test("writes by its timer, and everything on close", async () => {
    const set = setUp({ flushMs: 5 });
    const flag = flagOf("a");
    set.tally.count("t", flag, "default");
    await expect.poll(() => total(set.written)).toBe(1);
    set.tally.count("t", flag, "default");
    await set.tally.close();
    expect(total(set.written)).toBe(2);
  });

  test("counts evaluations that cannot be written on close as lost", async () => {
    const set = setUp();
    set.fails = true;
    for (const key of ["a", "a", "b"]) set.tally.count("t", flagOf(key), "default");
    await set.tally.close();
    expect([set.lost, set.tally.depth()]).toEqual([3, 0]);
  });
});
