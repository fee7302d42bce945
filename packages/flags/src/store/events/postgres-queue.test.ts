import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createPostgresQueue, type PostgresQueue } from "./postgres-queue.ts";

interface Item {
  readonly rows: number;
}

describe("what waits to be written", () => {
  let groups: (readonly Item[])[];
  let finish: (() => void)[];
  let queue: PostgresQueue<Item>;

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    groups = [];
    finish = [];
    queue = createPostgresQueue<Item>({
      maxRows: 5000,
      lanes: 2,
      write(group) {
        groups.push(group);
        return new Promise((resolve) => finish.push(resolve));
      },
    });
  });
  afterEach(() => vi.useRealTimers());

  const add = (count: number, rows = 1) => {
    for (let index = 0; index < count; index++) queue.push({ rows });
  };
  /** A turn of the event loop. */
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  async function end(): Promise<void> {
    finish.shift()?.();
    await turn();
    await turn();
  }
  const sizes = () => groups.map((group) => group.length);

  test("is written at once, with what comes in the same turn, when nothing else is", async () => {
    add(3);
    await turn();
    expect(sizes()).toEqual([3]);
  });

  test("is written together when the group before it is done", async () => {
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

  test("waits 20 ms at most while a connection is free, and for a connection while none is", async () => {
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

  test("does not wait when it is a full group, and no group is larger unless one item is", async () => {
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

  test("is refused when there is no room, also for what is being written, until there is", async () => {
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

  test("is written before the queue is closed, without waiting for more", async () => {
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

  test("is waited for by all who close the queue", async () => {
    add(1);
    await turn();
    const closings = [queue.close(), queue.close()];
    await end();
    await Promise.all(closings);
    await queue.close();
  });
});
