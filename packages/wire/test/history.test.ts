/** History within one process, and which pub/subs keep none. */
import { expect, test } from "vitest";
import { memoryPubSub } from "../src/memory.ts";
import { requireHistory } from "../src/pubsub/history.ts";
import { LocalTopics } from "../src/pubsub/local-topics.ts";
import { MemoryHistory } from "../src/pubsub/memory-history.ts";
import { FakeClock } from "../src/testing/fake-clock.ts";
import { historyContract } from "./contract/history.ts";

historyContract("memory", async () => {
  const pubsub = memoryPubSub();
  return { near: pubsub, far: pubsub, stop: async () => pubsub.close() };
});

const KEPT = { size: 100, ttlMs: 60_000 };
const ALL = { maxItems: 1_000, maxBytes: 10_000_000 };

test("memory: an append after close fails, and nothing is delivered", () => {
  const pubsub = memoryPubSub();
  pubsub.close();
  expect(pubsub.history.append("room", "x", KEPT)).toMatchObject({ ok: false, error: "DISCONNECTED" });
});

test("memory: an append returns the number of connections that received the frame", () => {
  const pubsub = memoryPubSub();
  pubsub.subscribe("room", { deliver: () => 2 });
  pubsub.subscribe("room", { deliver: () => 3 });
  expect(pubsub.history.append("room", "x", KEPT)).toMatchObject({ ok: true, matchedLocal: 5 });
});

test("memory: above the limit in bytes, the topic without appends for the longest time loses its frames, and its readers learn it", () => {
  const history = new MemoryHistory(new LocalTopics(), 10_000);
  const frame = "x".repeat(1_000);
  const before = history.top("a");
  for (let i = 0; i < 4; i++) history.append("a", frame, KEPT);
  for (let i = 0; i < 4; i++) history.append("b", frame, KEPT);
  history.append("a", frame, KEPT);
  history.append("c", frame, KEPT);
  const kept = ["a", "b", "c"].map((topic) => history.read(topic, { ...ALL, last: 100 }).items.length);
  expect(kept).toEqual([5, 0, 1]);
  const afterB = history.top("b");
  expect(afterB.offset).toBe(4);
  expect(history.read("b", { ...ALL, after: { ...afterB, offset: 3 } })).toMatchObject({ isMissing: true });
  expect(history.read("a", { ...ALL, after: before })).toMatchObject({ isMissing: false });
  expect(history.append("a", "x".repeat(20_000), KEPT)).toMatchObject({ ok: false, error: "VALIDATION" });
});

test("memory: ids count for the limit in bytes", () => {
  const topics = new LocalTopics();
  const history = new MemoryHistory(topics, 100_000, new FakeClock());
  const id = (i: number) => `${i}`.padStart(256, "0");
  for (let i = 0; i < 500; i++) history.append("a", "x", { ...KEPT, size: 1, id: id(i) });
  expect(history.append("a", "x", { ...KEPT, size: 1, id: id(0) })).toMatchObject({ isRepeated: false });
});

test("memory: what has expired is removed without a further call, and one timer serves all topics", async () => {
  const clock = new FakeClock();
  const history = new MemoryHistory(new LocalTopics(), 1_000_000, clock);
  for (let i = 0; i < 100; i++) history.append(`${i}`, "x".repeat(1_000), { size: 5, ttlMs: 5_000 });
  history.append("call", "x", { size: 5, ttlMs: 5_000, lifetime: "topic" });
  expect(history.bytes).toBeGreaterThan(100_000);
  await clock.advance(3_000);
  history.append("0", "x", { size: 5, ttlMs: 60_000 });
  await clock.advance(3_000);
  expect(history.bytes).toBeLessThan(200);
  expect(history.read("0", { ...ALL, last: 10 }).items).toHaveLength(1);
  await clock.advance(60_000);
  expect(history.bytes).toBe(0);
  expect(history.read("call", { ...ALL, create: false }).epoch).toBe("");
  expect(history.top("0").offset).toBe(2);
});

test("a pub/sub without history is refused with the remedy", () => {
  expect(() => requireHistory({}, 'The channel "room:{id}"')).toThrow(
    'The channel "room:{id}" declares history, but the router\'s pub/sub keeps none. Use redisPubSub()',
  );
});
