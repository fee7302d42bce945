import fc from "fast-check";
import { expect, test } from "vitest";
import { enqueue } from "./queue.ts";

test("drop-newest returns the new item when the queue is full and keeps the others in order", () => {
  const queue = new Set<string>();
  const dropped = ["a", "b", "c"].map((item) => enqueue(queue, item, 2, "drop-newest"));
  expect(dropped).toEqual([undefined, undefined, "c"]);
  expect([...queue]).toEqual(["a", "b"]);
});

test("drop-oldest returns the oldest item and keeps the new one", () => {
  const queue = new Set<string>();
  const dropped = ["a", "b", "c"].map((item) => enqueue(queue, item, 2, "drop-oldest"));
  expect(dropped).toEqual([undefined, undefined, "a"]);
  expect([...queue]).toEqual(["b", "c"]);
});

test("a queue of size 0 holds nothing", () => {
  for (const policy of ["drop-newest", "drop-oldest"] as const) {
    const queue = new Set<string>();
    expect(enqueue(queue, "a", 0, policy)).toBe("a");
    expect(queue.size).toBe(0);
  }
});

test("a queue never holds more than its size, and each item is either held or returned", () => {
  fc.assert(
    fc.property(fc.nat(5), fc.boolean(), fc.uniqueArray(fc.nat()), (size, oldest, items) => {
      const queue = new Set<number>();
      const policy = oldest ? "drop-oldest" : "drop-newest";
      const dropped = items
        .map((item) => enqueue(queue, item, size, policy))
        .filter((item) => item !== undefined);
      const held = [...queue];
      expect(held.length).toBe(Math.min(size, items.length));
      expect(new Set([...dropped, ...held])).toEqual(new Set(items));
      expect(held).toEqual(items.filter((item) => held.includes(item)));
    }),
  );
});
