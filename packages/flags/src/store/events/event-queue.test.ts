import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createEventQueue, type EventQueue } from "./event-queue.ts";

interface Item {
  readonly rows: number;
}

describe("the event queue", () => {
  let groups: (readonly Item[])[];
  let finish: (() => void)[];
  let queue: EventQueue<Item>;

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    groups = [];
    finish = [];
    queue = open();
  });
  afterEach(() => vi.useRealTimers());

  const open = (options: { maxGroupRows?: number; maxParallel?: number } = {}) =>
    createEventQueue<Item>({
      maxRows: 5000,
      maxGroupRows: 1000,
      maxParallel: 2,
      write(group) {
        groups.push(group);
        return new Promise((resolve) => finish.push(resolve));
      },
      ...options,
    });
  const add = (count: number, rows = 1) => {
    for (let index = 0; index < count; index++) queue.push({ rows });
  };
  /** Waits for one turn of the event loop. */
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  async function end(): Promise<void> {
    finish.shift()?.();
    await turn();
    await turn();
  }
  const sizes = () => groups.map((group) => group.length);

  test("writes an item immediately when nothing is being written, together with others of the same turn", async () => {
    add(3);
    await turn();
    expect(sizes()).toEqual([3]);
  });

  test("writes the items that arrive during a write as one group after it", async () => {
    add(1);
    await turn();
    add(2);
    await turn();
    add(3);
    await turn();
    expect(sizes()).toEqual([1]);
    await end();
    expect(sizes()).toEqual([1, 5]);
  });

  test("lets an item wait at most 20 ms while a connection is free, and until one is free otherwise", async () => {
    add(1);
    await turn();
    add(2);
    await vi.advanceTimersByTimeAsync(19);
    expect(sizes()).toEqual([1]);
    await vi.advanceTimersByTimeAsync(1);
    expect(sizes()).toEqual([1, 2]);
    add(3);
    await vi.advanceTimersByTimeAsync(1000);
    expect(sizes()).toEqual([1, 2]);
    expect(queue.depth()).toBe(6);
  });

  test("writes a full group without waiting, and no larger group unless one item is larger", async () => {
    add(1);
    await turn();
    add(999);
    add(2);
    await turn();
    expect(sizes()).toEqual([1, 1000]);
    add(1, 1500);
    await end();
    await end();
    expect(sizes()).toEqual([1, 1000, 1, 1]);
  });

  test("refuses items with a 429 while it is full, counting those being written, and accepts them afterwards", async () => {
    add(1, 4000);
    await turn();
    add(1, 1000);
    expect(() => add(1)).toThrow(
      expect.objectContaining({ status: 429, code: "RATE_LIMIT_EXCEEDED", details: { retryAfter: 1 } }),
    );
    expect(queue.depth()).toBe(2);
    await end();
    add(1, 4000);
    await turn();
    expect(queue.depth()).toBe(2);
  });

  test("writes everything before it is closed, without waiting for more items", async () => {
    add(1);
    await turn();
    add(2);
    let isClosed = false;
    const closed = queue.close().then(() => {
      isClosed = true;
    });
    await turn();
    expect(sizes()).toEqual([1, 2]);
    await end();
    expect(isClosed).toBe(false);
    expect(() => add(1)).toThrow(expect.objectContaining({ code: "STORAGE_ERROR" }));
    await end();
    await closed;
    expect(queue.depth()).toBe(0);
  });

  test("may be closed more than once, and each call waits until it is empty", async () => {
    add(1);
    await turn();
    const closings = [queue.close(), queue.close()];
    await end();
    await Promise.all(closings);
    await queue.close();
  });

  test("keeps groups to their size and items in their order on one connection", async () => {
    queue = open({ maxGroupRows: 5, maxParallel: 1 });
    const items = [2, 2, 2, 20, 1].map((rows) => ({ rows }));
    for (const item of items) queue.push(item);
    await turn();
    for (let group = 0; group < 4; group++) await end();
    expect(sizes()).toEqual([2, 1, 1, 1]);
    expect(groups.flat()).toEqual(items);
  });

  test("accepts an item that is larger than the queue when it is empty", async () => {
    add(1, 6000);
    await turn();
    expect(sizes()).toEqual([1]);
    await end();
    expect(queue.depth()).toBe(0);
  });

  test("accepts items after it was drained", async () => {
    add(1);
    await turn();
    const drained = queue.drain();
    await end();
    await drained;
    add(1);
    await turn();
    expect(sizes()).toEqual([1, 1]);
  });
});
