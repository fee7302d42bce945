/** Redis above its maxmemory: no script writes anything, and callers are told in time. */
import { type PrivateServer, startRedis } from "@halyard/services";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { expect, onTestFinished, test, vi } from "vitest";
import { type History, redisPubSub } from "../src/redis.ts";

vi.setConfig({ testTimeout: 60_000 });
const KEPT = { size: 100, ttlMs: 600_000 };
const ALL = { maxItems: 1_000, maxBytes: 10_000_000 };

async function start() {
  const server: PrivateServer = await startRedis({ "maxmemory-policy": "noeviction" });
  onTestFinished(() => server.stop());
  const redis = new Redis(server.url);
  onTestFinished(() => redis.disconnect());
  const pubsub = redisPubSub(createClient({ url: server.url }));
  onTestFinished(() => pubsub.close());
  const { history } = pubsub;
  if (history === undefined) throw new Error("The pub/sub keeps no history.");
  return {
    pubsub,
    history,
    fill: () => redis.config("SET", "maxmemory", "1"),
    empty: () => redis.config("SET", "maxmemory", "0"),
    /** Every key with what it holds. */
    contents: async () => {
      const keys = (await redis.keys("*")).sort();
      return Promise.all(keys.map(async (key) => [key, await redis.dump(key)]));
    },
  };
}

async function offsetOf(appended: ReturnType<History["append"]>): Promise<number | false> {
  const result = await appended;
  return result.ok && result.position.offset;
}

test("in a full Redis, reads and refused appends change no key, and the log continues later", async () => {
  const { history, fill, empty, contents } = await start();
  expect(await offsetOf(history.append("room", "a", { ...KEPT, id: "1" }))).toBe(1);
  expect(await offsetOf(history.append("plain", "a", KEPT))).toBe(1);
  const before = await contents();
  await fill();
  for (const topic of ["room", "plain", "new"]) {
    await history.read(topic, { ...ALL, last: 10 });
    await history.top(topic);
    for (const id of [undefined, "2"])
      expect(await history.append(topic, "b", { ...KEPT, id })).toMatchObject({ ok: false, retryable: true });
    expect(await history.append(topic, "b", { ...KEPT, isLast: true, id: "end" })).toMatchObject({
      ok: false,
    });
  }
  // A repeated append is in the log already.
  expect(await offsetOf(history.append("room", "a", { ...KEPT, id: "1" }))).toBe(1);
  expect(await contents()).toEqual(before);
  await empty();
  expect(await offsetOf(history.append("room", "b", { ...KEPT, id: "2" }))).toBe(2);
  expect(await offsetOf(history.append("new", "a", KEPT))).toBe(1);
});
