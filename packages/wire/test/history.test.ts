/** History within one process, and which pub/subs keep none. */
import { expect, test } from "vitest";
import { memoryPubSub } from "../src/memory.ts";
import { requireHistory } from "../src/pubsub/history-rules.ts";
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

test("memory: above the limit in bytes, the largest log loses its oldest frames, and its readers learn it", () => {
  const history = new MemoryHistory(new LocalTopics(), 10_000);
  const frame = "x".repeat(1_000);
  for (let i = 0; i < 3; i++) history.append("small", frame, KEPT);
  const before = history.top("small");
  for (let i = 1; i <= 20; i++) history.append("large", `${i}`.padEnd(1_000), KEPT);
  history.append("small", frame, KEPT);
  history.append("other", frame, KEPT);
  const kept = (topic: string) =>
    history.read(topic, { ...ALL, last: 100 }).items.map(({ offset }) => offset);
  expect([kept("small"), kept("large"), kept("other")]).toEqual([[1, 2, 3, 4], [17, 18, 19, 20], [1]]);
  const { epoch } = history.top("large");
  expect(history.read("large", { ...ALL, after: { epoch, offset: 10 } })).toMatchObject({ isMissing: true });
  expect(history.read("small", { ...ALL, after: before })).toMatchObject({ isMissing: false });
  expect(history.append("small", "x".repeat(20_000), KEPT)).toMatchObject({ ok: false, error: "VALIDATION" });
});

const CALL = { size: 100, ttlMs: 60_000, lifetime: "topic" } as const;

test("memory: a running call loses nothing, takes the place of larger logs, and fails when its own would be the largest", () => {
  const history = new MemoryHistory(new LocalTopics(), 10_000);
  const frame = "x".repeat(900);
  const frames = (topic: string) => history.read(topic, { ...ALL, last: 100 }).items.length;
  for (let i = 0; i < 3; i++) expect(history.append("call", frame, CALL)).toMatchObject({ ok: true });
  for (let i = 0; i < 20; i++) history.append("room", frame, KEPT);
  expect([frames("call"), frames("room")]).toEqual([3, 7]);
  expect(history.append("call", frame, CALL)).toMatchObject({ ok: true });
  expect(history.append("call", frame, CALL)).toMatchObject({ ok: true });
  expect([frames("call"), frames("room")]).toEqual([5, 5]);
  const refused = { ok: false, error: "FULL", retryable: false };
  expect(history.append("call", frame, CALL)).toMatchObject(refused);
  expect(history.append("call", "x".repeat(1_500), { ...CALL, isLast: true })).toMatchObject(refused);
  expect(history.append("call", "end", { ...CALL, isLast: true })).toMatchObject({ ok: true });
  expect(frames("call")).toBe(6);
  // Calls that have ended are removed whole.
  for (let i = 0; i < 20; i++) history.append("other", frame, KEPT);
  expect([frames("call"), frames("room") + frames("other")]).toEqual([0, 10]);
});

test("memory: without any log that may lose frames, a running call fails, and its small end is kept", () => {
  const history = new MemoryHistory(new LocalTopics(), 10_000);
  const frame = "x".repeat(900);
  for (let i = 0; i < 10; i++) expect(history.append(`call ${i}`, frame, CALL)).toMatchObject({ ok: true });
  expect(history.append("another", frame, CALL)).toMatchObject({ ok: false, error: "FULL" });
  expect(history.append("call 1", "end", { ...CALL, isLast: true })).toMatchObject({ ok: true });
  expect(history.append("another", frame, CALL)).toMatchObject({ ok: true });
});

test("memory: the bound holds for random appends, and finding the largest of 50,000 logs takes no scan", () => {
  const bound = 20_000_000;
  const history = new MemoryHistory(new LocalTopics(), bound);
  const options = { size: 1_000, ttlMs: 600_000 };
  for (let i = 0; i < 50_000; i++) history.append(`${i}`, "x".repeat(200 + (i % 200)), options);
  const startedAt = performance.now();
  for (let i = 0; i < 20_000; i++) {
    history.append(`${(i * 7919) % 50_000}`, "x".repeat(100 + (i % 400)), options);
    if (history.bytes > bound) throw new Error(`${history.bytes} bytes are kept.`);
  }
  // With a scan over all logs per append, more than 10 s.
  expect(performance.now() - startedAt).toBeLessThan(5_000);
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
