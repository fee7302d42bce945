import { createRedisPrefix, type Program, spawnProgram } from "@halyard/services";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { attachCall, type DurableCall, startCall, type WsClient, wsClient } from "../src/client/index.ts";
import { redisPubSub } from "../src/redis.ts";
import { durableCallContract } from "./contract/durable-calls.ts";
import { Ask } from "./fixtures/durable/messages.ts";
import { startProxy } from "./fixtures/proxy.ts";

const { url, prefix } = await createRedisPrefix();
let count = 0;

durableCallContract("Redis", async () => {
  const options = { prefix: `${prefix}:${++count}:` };
  const [near, far] = [
    redisPubSub(createClient({ url }), options),
    redisPubSub(createClient({ url }), options),
  ];
  return {
    near,
    far,
    async stop() {
      await Promise.all([near.close(), far.close()]);
    },
  };
});

const connect = async (port: number): Promise<WsClient> => {
  const client = wsClient({ url: `ws://127.0.0.1:${port}/?user=ann` });
  client.onError(() => undefined);
  await client.connect();
  return client;
};
/** Everything a reader gets, and how it ends. */
const readAll = async (call: DurableCall<typeof Ask>, seen: (i: number) => unknown = () => undefined) => {
  const items: number[] = [];
  try {
    for await (const { i } of call) {
      items.push(i);
      await seen(i);
    }
    return { items, end: (await call.result).payload.sent };
  } catch (error) {
    const { code, retryable } = error as { code: string; retryable: boolean };
    return { items, end: `${code} ${retryable}`, at: performance.now() };
  }
};
const contiguous = (items: readonly number[]) => items.every((i, at) => i === at);
const startServer = (own: string, port = 0) =>
  spawnProgram({
    command: process.execPath,
    args: ["--conditions=@halyard/source", new URL("fixtures/durable/server.ts", import.meta.url).pathname],
    env: { REDIS_URL: url, PREFIX: own, PORT: String(port), NODE_ENV: "production" },
  });

describe("a call whose broker has lost items", () => {
  const own = `${prefix}:lost:`;
  let program: Program;
  const redis = new Redis(url);
  beforeAll(async () => {
    program = await startServer(own);
  });
  afterAll(async () => {
    redis.disconnect();
    await program.stop();
  });

  test("ends with UNAVAILABLE for all readers, and none of them sees a gap or a response", async () => {
    const tab = await connect(program.port);
    const call = startCall(tab, Ask, { n: 10, everyMs: 100 });
    let early: ReturnType<typeof readAll> | undefined;
    await new Promise<void>((resolve) => {
      early = readAll(call, async (i) => {
        if (i !== 5) return;
        // As a promoted replica without the newest items: another server, and a shorter log.
        const [key = ""] = await redis.keys(`${own}e:*${call.id}*`);
        const top = Number(await redis.hget(key, "top"));
        await redis.hset(key, "server", "another", "top", top - 3);
        const [log = ""] = await redis.keys(`${own}l:*${call.id}*`);
        for (const offset of [top, top - 1, top - 2]) await redis.xdel(log, `${offset}-0`);
        await redis.call("XSETID", log, `${top - 3}-0`);
        resolve();
      });
    });
    const late = await readAll(attachCall(tab, Ask, call.id));
    expect([(await early)?.end, late.end]).toEqual(["UNAVAILABLE false", "UNAVAILABLE false"]);
    expect(contiguous(late.items)).toBe(true);
    await vi.waitUntil(
      async () => (await readAll(attachCall(tab, Ask, call.id))).end === "UNAVAILABLE false",
    );
    expect((await readAll(attachCall(tab, Ask, call.id))).items).toEqual(late.items);
    await tab.close();
  }, 30_000);
});

describe("a call whose process is killed", () => {
  const own = `${prefix}:killed:`;
  let runner: Program;
  let other: Program;
  let victim: Program;

  // Not part of the test's time: on a busy machine a process takes long to start.
  beforeAll(async () => {
    const start = () => startServer(own);
    [runner, other, victim] = await Promise.all([start(), start(), start()]);
  });
  afterAll(() => Promise.all([runner.kill(), victim.kill(), other.stop()]));

  test("is UNAVAILABLE within 5 s when its process lives but does not run it", async () => {
    const [tab, phone] = [await connect(runner.port), await connect(other.port)];
    // Another call of the same process, so that it sends heartbeats.
    const running = startCall(tab, Ask, { n: 100_000, everyMs: 5 });
    await running[Symbol.asyncIterator]().next();
    const pubsub = redisPubSub(createClient({ url }), { prefix: own });
    const page = await pubsub.history?.read(`$d/${running.id}`, { last: 100_000, maxItems: 1, maxBytes: 1 });
    const frame = page?.items[0]?.frame ?? "";
    expect(frame).toMatch(/^h/);
    await pubsub.history?.append("$d/zombie", frame, { size: 10, ttlMs: 60_000, lifetime: "topic" });
    const beganAt = performance.now();
    const reading = await readAll(attachCall(phone, Ask, "zombie"));
    expect(reading).toMatchObject({ items: [], end: "UNAVAILABLE false" });
    expect(performance.now() - beganAt).toBeLessThan(5_000);
    await running.cancel();
    await Promise.all([tab.close(), phone.close(), pubsub.close()]);
  }, 30_000);

  test("gives its readers one UNAVAILABLE within 5 s, after the same items", async () => {
    const [tab, phone] = [await connect(runner.port), await connect(other.port)];
    const call = startCall(tab, Ask, { n: 100_000, everyMs: 5 });
    const { id } = call;
    // With the first item, the other process knows the call too.
    await call[Symbol.asyncIterator]().next();
    const watching = attachCall(phone, Ask, id);
    const got: number[] = [];
    let killedAt = 0;
    const reading = (async () => {
      for await (const { i } of watching) {
        got.push(i);
        if (i !== 5) continue;
        await runner.kill();
        killedAt = performance.now();
      }
    })();
    await expect(reading).rejects.toMatchObject({ code: "UNAVAILABLE", retryable: false });
    const tookMs = performance.now() - killedAt;
    const late: number[] = [];
    const again = (async () => {
      for await (const { i } of attachCall(phone, Ask, id)) late.push(i);
    })();
    await expect(again).rejects.toMatchObject({ code: "UNAVAILABLE", retryable: false });
    expect(got).toEqual(got.map((_, at) => at));
    expect(late).toEqual(got);
    expect(tookMs).toBeLessThan(5_000);
    await Promise.all([tab.close(), phone.close()]);
  }, 30_000);

  test("tells the tab that was connected to it within 5 s, when the tab reaches another process", async () => {
    const proxy = await startProxy(victim.port);
    const tab = await connect(proxy.port);
    let killedAt = 0;
    const reading = await readAll(startCall(tab, Ask, { n: 100_000, everyMs: 5 }), async (i) => {
      if (i !== 3) return;
      await victim.kill();
      killedAt = performance.now();
      proxy.lead(other.port);
    });
    expect(reading.end).toBe("UNAVAILABLE false");
    expect(contiguous(reading.items)).toBe(true);
    expect((reading.at ?? 0) - killedAt).toBeLessThan(5_000);
    await tab.close();
    await proxy.stop();
  }, 30_000);
});
