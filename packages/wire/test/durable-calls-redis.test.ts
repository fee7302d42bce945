import { createRedisPrefix, type Program, spawnProgram } from "@halyard/services";
import { createClient } from "redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { attachCall, startCall, wsClient } from "../src/client/index.ts";
import { redisPubSub } from "../src/redis.ts";
import { durableCallContract } from "./contract/durable-calls.ts";
import { Ask } from "./fixtures/durable/messages.ts";

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

describe("a call whose process is killed", () => {
  let runner: Program;
  let other: Program;

  // Not part of the test's time: on a busy machine a process takes long to start.
  beforeAll(async () => {
    const start = () =>
      spawnProgram({
        command: process.execPath,
        args: [new URL("fixtures/durable/server.ts", import.meta.url).pathname],
        env: { REDIS_URL: url, PREFIX: `${prefix}:killed:`, NODE_ENV: "production" },
      });
    [runner, other] = await Promise.all([start(), start()]);
  });
  afterAll(() => Promise.all([runner.kill(), other.stop()]));

  test("gives its readers one UNAVAILABLE within 5 s, after the same items", async () => {
    const connect = async (port: number) => {
      const client = wsClient({ url: `ws://127.0.0.1:${port}/?user=ann` });
      client.onError(() => undefined);
      await client.connect();
      return client;
    };
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
});
