import { describe, expect, test } from "vitest";
import { createGroupWriter, type GroupWriter } from "./group-writer.ts";

/** Writes numbers; those that are negative cannot be written. */
function setUp(options: { maxQueued?: number; maxGroup?: number; isDown?: () => boolean } = {}): {
  writer: GroupWriter<number, string>;
  groups: number[][];
} {
  const groups: number[][] = [];
  const writer = createGroupWriter<number, string>({
    async write(items) {
      groups.push([...items]);
      await new Promise((resolve) => setTimeout(resolve, 1));
      if (options.isDown?.() === true || items.some((item) => item < 0)) throw new Error("cannot be written");
      return items.map((item) => `wrote ${item}`);
    },
    sizeOf: (item) => Math.max(1, Math.abs(item)),
    maxQueued: options.maxQueued ?? 100,
    maxGroup: options.maxGroup ?? 10,
  });
  return { writer, groups };
}

describe("the writer of groups", () => {
  test("writes together what waits, and answers each", async () => {
    const { writer, groups } = setUp();
    const answers = await Promise.all([1, 2, 3].map((item) => writer.add(item)));
    expect(answers).toEqual(["wrote 1", "wrote 2", "wrote 3"]);
    expect(groups).toEqual([[1, 2, 3]]);
  });

  test("keeps groups to their size, in the order in which items came", async () => {
    const { writer, groups } = setUp({ maxGroup: 5 });
    await Promise.all([2, 2, 2, 20, 1].map((item) => writer.add(item)));
    expect(groups).toEqual([[2, 2], [2], [20], [1]]);
  });

  test("one item that cannot be written does not take the others with it", async () => {
    const { writer } = setUp();
    const settled = await Promise.allSettled([1, -1, 2, 3].map((item) => writer.add(item)));
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
  });

  test("when nothing can be written, the rest of a group is not tried one by one", async () => {
    const { writer, groups } = setUp({ isDown: () => true });
    const settled = await Promise.allSettled([1, 1, 1, 1, 1, 1].map((item) => writer.add(item)));
    expect(settled.every(({ status }) => status === "rejected")).toBe(true);
    expect(groups).toHaveLength(4);
  });

  test("refuses what finds no room, and takes it when there is some", async () => {
    const { writer } = setUp({ maxQueued: 3 });
    const first = writer.add(1);
    const second = writer.add(2);
    await expect(writer.add(1)).rejects.toMatchObject({ status: 429, details: { retryAfter: 1 } });
    await Promise.all([first, second]);
    expect(await writer.add(50)).toBe("wrote 50");
  });

  test("is idle when everything has been answered", async () => {
    const { writer } = setUp();
    const answers = [writer.add(1), writer.add(-1)].map((one) => one.catch(() => "failed"));
    expect(writer.depth()).toBe(2);
    await writer.idle();
    expect(writer.depth()).toBe(0);
    expect(await Promise.all(answers)).toEqual(["wrote 1", "failed"]);
  });
});
