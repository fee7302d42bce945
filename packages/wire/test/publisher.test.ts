/** Publishers: scripts, queue workers and other processes without a server. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { createNatsPrefix, createRedisPrefix } from "@halyard/services";
import { connect } from "@nats-io/transport-node";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { afterAll, describe, expect, test } from "vitest";
import type { PubSub } from "../src/index.ts";
import { memoryPubSub } from "../src/memory.ts";
import { natsPubSub } from "../src/nats.ts";
import { redisPubSub } from "../src/redis.ts";
import { createTestServer } from "../src/testing/index.ts";
import { channel, createPublisher, createRouter, message, z } from "../src/zod.ts";

const POLL = { timeout: 5_000, interval: 10 };
const Said = message("SAID", { text: z.string() });
const params = { id: z.string().max(8) };
const Room = channel("room:{id}", { params, events: [Said] });
const Kept = channel("kept:{id}", { params, events: [Said], history: { size: 10, ttlMs: 60_000 } });
const GENERAL = { id: "general" };

const { url, prefix } = await createRedisPrefix();
const admin = await createClient({ url })
  .on("error", () => {})
  .connect();
afterAll(() => admin.destroy());

/** A member of the channel in another process: its server has a pub/sub of its own. */
async function member(pubsub: PubSub, name: "room" | "kept" = "room") {
  const router = createRouter({ pubsub }).channel(Room, { authorize: () => true });
  if (name === "kept") router.channel(Kept, { authorize: () => true });
  const peer = await createTestServer(router).connect();
  const payload = { channel: `${name}:{id}`, params: GENERAL };
  await peer.sendRaw(JSON.stringify({ type: "$ws:join", meta: { correlationId: "1" }, payload }));
  await expect.poll(() => peer.frames.map(({ type }) => type), POLL).toContain("$ws:joined");
  return { texts: () => peer.received(Said).map(({ text }) => text), frames: peer.frames };
}

describe("a publisher over Redis", () => {
  const LIBRARIES = {
    "node-redis": (name: string) => createClient({ url, name }),
    ioredis: (name: string) => new Redis(url, { connectionName: name, lazyConnect: true }),
  };

  test.each(Object.entries(LIBRARIES))(
    "opens one connection with %s, which subscribes to nothing, and closes it",
    async (library, open) => {
      const name = `${prefix}:${library}`;
      const connections = async () =>
        String(await admin.sendCommand(["CLIENT", "LIST"]))
          .split("\n")
          .filter((line) => line.includes(`name=${name} `))
          .map((line) => / sub=(\d+) /.exec(line)?.[1]);
      const pubsub = redisPubSub(open(name), { prefix: `${name}:` });
      const publisher = createPublisher({ pubsub });
      expect(await connections()).toEqual([]);
      expect(await publisher.publish("news", Said, { text: "x" })).toEqual({ ok: true });
      expect(await publisher.to(Room, GENERAL).publish(Said, { text: "x" })).toEqual({ ok: true });
      expect(await connections()).toEqual(["0"]);
      await publisher.close();
      await expect.poll(connections, POLL).toEqual([]);
      expect(await publisher.publish("news", Said, { text: "x" })).toMatchObject({ error: "DISCONNECTED" });
    },
  );

  test("reaches the members of other processes, and a history keeps what it publishes", async () => {
    const options = { prefix: `${prefix}:kept:` };
    const pubsub = redisPubSub(createClient({ url }), options);
    const { texts, frames } = await member(pubsub, "kept");
    const own = redisPubSub(createClient({ url }), options);
    const publisher = createPublisher({ pubsub: own });
    for (const text of ["1", "1", "2"])
      expect(await publisher.to(Kept, GENERAL).publish(Said, { text }, { id: text })).toEqual({ ok: true });
    await expect.poll(texts, POLL).toEqual(["1", "2"]);
    expect(frames.at(-1)?.meta).toMatchObject({ $o: 2 });
    await publisher.close();
    await pubsub.close();
  });

  test("waits for publishes under way when it is closed", async () => {
    const pubsub = redisPubSub(createClient({ url }), { prefix: `${prefix}:close:` });
    const publisher = createPublisher({ pubsub });
    const results = [
      publisher.publish("a", Said, { text: "x" }),
      publisher.publish("b", Said, { text: "x" }),
    ];
    await publisher.close();
    expect(await Promise.all(results)).toEqual([{ ok: true }, { ok: true }]);
  });

  test("does not close the pub/sub of servers in the same process", async () => {
    const pubsub = redisPubSub(createClient({ url }), { prefix: `${prefix}:shared:` });
    const { texts } = await member(pubsub);
    for (const text of ["1", "2"]) {
      await using publisher = createPublisher({ pubsub });
      await publisher.to(Room, GENERAL).publish(Said, { text });
    }
    await expect.poll(texts, POLL).toEqual(["1", "2"]);
    await pubsub.close();
  });

  test("lets its script end within 1 s, without process.exit", async () => {
    const script = new URL("fixtures/publisher.ts", import.meta.url).pathname;
    const env = { ...process.env, BUS_URL: url, BUS_PREFIX: `${prefix}:script:` };
    const args = ["--conditions=@halyard/source", script];
    const { stdout } = await promisify(execFile)(process.execPath, args, { env, timeout: 20_000 });
    expect(stdout).toMatch(/^\{"ok":true\}\nended after \d{1,3} ms\n$/);
  });
});

test("a publisher over NATS reaches other processes, and leaves the application's connection open", async () => {
  const nats = await createNatsPrefix();
  const [near, far] = [await connect({ servers: nats.url }), await connect({ servers: nats.url })];
  const options = { prefix: `${nats.prefix}.publisher.` };
  const pubsub = natsPubSub(far, options);
  const { texts } = await member(pubsub);
  const publisher = createPublisher({ pubsub: natsPubSub(near, options) });
  await publisher.to(Room, GENERAL).publish(Said, { text: "from a script" });
  await expect.poll(texts, POLL).toEqual(["from a script"]);
  expect(() => publisher.to(Kept, GENERAL)).toThrow(/history.*redisPubSub/s);
  await publisher.close();
  expect(near.isClosed()).toBe(false);
  await pubsub.close();
  await Promise.all([near.close(), far.close()]);
});

test("a publisher checks what it publishes as a router does", async () => {
  const pubsub = memoryPubSub();
  const { texts } = await member(pubsub);
  const publisher = createPublisher({ pubsub });
  const room = publisher.to(Room, GENERAL);
  expect(await room.publish(Said, { text: 5 } as never)).toMatchObject({ error: "VALIDATION" });
  expect(await publisher.publish("$c/room:*/general", Said, { text: "x" })).toMatchObject({ ok: false });
  expect(() => publisher.to(Room, { id: "too long for a room" })).toThrow(/id: /);
  expect(await room.publish(Said, { text: "x" })).toEqual({ ok: true, matchedLocal: 1 });
  expect(texts()).toEqual(["x"]);
  expect(() => createPublisher({} as never)).toThrow(/needs the pubsub/);
});
