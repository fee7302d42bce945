import { describe, expect, test } from "vitest";
import { createEventQueue } from "./event-queue.ts";
import { writeTogether } from "./write-together.ts";

interface Queued {
  readonly rows: number;
  readonly request: number;
  readonly resolve: (result: string) => void;
  readonly reject: (error: unknown) => void;
}

/** A queue of numbers on one connection. Negative numbers cannot be written. */
function setUp(isDown: () => boolean = () => false, mayConcernOne = true) {
  const groups: number[][] = [];
  async function write(queued: readonly Queued[]): Promise<void> {
    groups.push(queued.map(({ request }) => request));
    await new Promise((resolve) => setTimeout(resolve, 1));
    if (isDown() || queued.some(({ request }) => request < 0)) throw new Error("cannot be written");
    for (const { request, resolve } of queued) resolve(`wrote ${request}`);
  }
  const queue = createEventQueue<Queued>({
    write: (group) => writeTogether(group, write, () => mayConcernOne),
    maxRows: 100,
    maxGroupRows: 10,
    maxParallel: 1,
  });
  const add = (request: number) =>
    new Promise<string>((resolve, reject) => {
      queue.push({ rows: Math.max(1, Math.abs(request)), request, resolve, reject });
    });
  return { queue, add, groups };
}

describe("requests that are written together", () => {
  test("each get their own result", async () => {
    const { add, groups } = setUp();
    const results = await Promise.all([1, 2, 3].map(add));
    expect(results).toEqual(["wrote 1", "wrote 2", "wrote 3"]);
    expect(groups).toEqual([[1, 2, 3]]);
  });

  test("do not fail because one of them cannot be written", async () => {
    const { add } = setUp();
    const settled = await Promise.allSettled([1, -1, 2, 3].map(add));
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
  });

  test("are not all tried one by one when nothing can be written", async () => {
    const { add, groups } = setUp(() => true);
    const settled = await Promise.allSettled([1, 1, 1, 1, 1, 1].map(add));
    expect(settled.every(({ status }) => status === "rejected")).toBe(true);
    expect(groups).toHaveLength(4);
  });

  test("are tried once if the error concerns none of them in particular", async () => {
    const { add, groups } = setUp(() => true, false);
    const settled = await Promise.allSettled([1, 1, 1].map(add));
    expect(settled.every(({ status }) => status === "rejected")).toBe(true);
    expect(groups).toHaveLength(1);
  });

  test("are all settled when the queue is drained", async () => {
    const { queue, add } = setUp();
    const results = [add(1), add(-1)].map((one) => one.catch(() => "failed"));
    expect(queue.depth()).toBe(2);
    await queue.drain();
    expect(queue.depth()).toBe(0);
    expect(await Promise.all(results)).toEqual(["wrote 1", "failed"]);
    expect(await add(2)).toBe("wrote 2");
  });
});
