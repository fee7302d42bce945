import fc from "fast-check";
import { expect, test } from "vitest";
import { createQueue } from "./queue.ts";

test("drop-newest gives the new item back once the queue is full, and keeps the others in order", () => {
  const queue = createQueue<string>(2, "drop-newest");
  expect(["a", "b", "c"].map(queue.add)).toEqual([undefined, undefined, "c"]);
  expect(queue.take()).toEqual(["a", "b"]);
  expect(queue.take()).toEqual([]);
});

test("drop-oldest gives the oldest item back and keeps the new one", () => {
  const queue = createQueue<string>(2, "drop-oldest");
  expect(["a", "b", "c"].map(queue.add)).toEqual([undefined, undefined, "a"]);
  queue.delete("b");
  expect(queue.take()).toEqual(["c"]);
});

test("a queue of size 0 holds nothing", () => {
  for (const policy of ["drop-newest", "drop-oldest"] as const) {
    const queue = createQueue<string>(0, policy);
    expect(queue.add("a")).toBe("a");
    expect(queue.take()).toEqual([]);
  }
});

test("whatever is added, no more than its size is held, and each item is either held or given back", () => {
  fc.assert(
    fc.property(fc.nat(5), fc.boolean(), fc.uniqueArray(fc.nat()), (size, oldest, items) => {
      const queue = createQueue<number>(size, oldest ? "drop-oldest" : "drop-newest");
      const dropped = items.map((item) => queue.add(item)).filter((item) => item !== undefined);
      const held = queue.take();
      expect(held.length).toBe(Math.min(size, items.length));
      expect(new Set([...dropped, ...held])).toEqual(new Set(items));
      expect(held).toEqual(items.filter((item) => held.includes(item)));
    }),
  );
});
