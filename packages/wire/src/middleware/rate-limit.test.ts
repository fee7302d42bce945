import { describe, expect, test } from "vitest";
import type { LimitExceededInfo } from "../router/hooks.ts";
import { createTestServer } from "../testing/index.ts";
import { createRouter, message, rpc, z } from "../zod.ts";
import { MemoryRateLimiter } from "./memory-rate-limiter.ts";
import { type RateLimitOptions, rateLimit } from "./rate-limit.ts";
import type { RateLimiter } from "./rate-limiter.ts";

const Ask = rpc("ASK", { size: z.number().default(1) }, "ANSWER", undefined);
const Tell = message("TELL");

interface Data {
  readonly clientId: string;
  readonly userId?: string;
}

function serve(options: Omit<RateLimitOptions<Data>, "limiter"> = {}, limiter?: RateLimiter) {
  let now = 0;
  const exceeded: LimitExceededInfo<Data>[] = [];
  const handled: string[] = [];
  const bucket = limiter ?? new MemoryRateLimiter({ capacity: 2, tokensPerSecond: 1 }, () => now);
  const router = createRouter<Data>()
    .onError(() => undefined)
    .use(rateLimit<Data>({ limiter: bucket, ...options }))
    .onLimitExceeded((info) => exceeded.push(info))
    .rpc(Ask, (ctx) => {
      handled.push(ctx.type);
      ctx.reply(Ask.response);
    })
    .on(Tell, (ctx) => handled.push(ctx.type));
  const wait = (ms: number) => {
    now += ms;
  };
  return { server: createTestServer(router), exceeded, handled, wait };
}

const tooMany = { code: "RESOURCE_EXHAUSTED", retryAfterMs: 1_000, retryable: true };

describe("rateLimit", () => {
  test("refuses messages over the limit with the time to wait, and reports them", async () => {
    const { server, exceeded, handled, wait } = serve();
    const peer = await server.connect();
    await peer.request(Ask, {});
    await peer.request(Ask, {});
    await expect(peer.request(Ask, {})).rejects.toMatchObject(tooMany);
    expect(handled).toHaveLength(2);
    expect(exceeded).toEqual([
      {
        type: "rate",
        clientId: expect.any(String),
        ws: expect.anything(),
        observed: 1,
        limit: 2,
        retryAfterMs: 1_000,
      },
    ]);
    expect(exceeded[0]?.ws.clientId).toBe(exceeded[0]?.clientId);
    wait(1_000);
    await peer.request(Ask, {});
  });

  test("sends an error frame for an event over the limit", async () => {
    const { server, handled } = serve();
    const peer = await server.connect();
    for (let i = 0; i < 3; i++) await peer.send(Tell);
    expect(handled).toHaveLength(2);
    expect(peer.frames.at(-1)).toMatchObject({
      type: "$ws:error",
      payload: { code: "RESOURCE_EXHAUSTED", retryAfterMs: 1_000 },
    });
    expect(peer.frames.at(-1)?.meta).not.toHaveProperty("correlationId");
  });

  test("refuses a cost above the capacity as not retryable, without a time to wait", async () => {
    const { server, exceeded } = serve({ cost: 3 });
    const peer = await server.connect();
    await peer.send(Ask, {}, { correlationId: "1" });
    expect(peer.frames.at(-1)?.payload).toEqual({
      code: "RESOURCE_EXHAUSTED",
      message: expect.any(String),
      retryable: false,
    });
    expect(exceeded).toMatchObject([{ observed: 3, limit: 2, retryAfterMs: null }]);
  });

  test("accepts a cost that depends on the message", async () => {
    const { server, exceeded } = serve({ cost: (ctx) => (ctx.type === "TELL" ? 0 : 2) });
    const peer = await server.connect();
    for (let i = 0; i < 10; i++) await peer.send(Tell);
    await peer.request(Ask, {});
    await expect(peer.request(Ask, {})).rejects.toMatchObject({ retryAfterMs: 2_000 });
    expect(exceeded).toMatchObject([{ observed: 2 }]);
  });

  const full = async (options: Omit<RateLimitOptions<Data>, "limiter">, userIds: (string | undefined)[]) => {
    const { server } = serve(options);
    const peers = await Promise.all(
      userIds.map((userId) => server.connect({ data: userId === undefined ? {} : { userId } })),
    );
    const refusals: boolean[] = [];
    for (const peer of peers) {
      for (let i = 0; i < 2; i++) await peer.send(Ask, {}, { correlationId: `${i}` });
      refusals.push(peer.frames.some(({ type }) => type === "$ws:error"));
    }
    return refusals;
  };

  test("counts per connection by default", async () => {
    expect(await full({}, ["ada", "ada"])).toEqual([false, false]);
  });

  test("counts all connections of a user together and each anonymous connection separately", async () => {
    expect(await full({ key: "user" }, ["ada", "ada", "ben", undefined, undefined])).toEqual([
      false,
      true,
      false,
      false,
      false,
    ]);
  });

  test("keeps a user's bucket apart from every connection's bucket, whatever the user is named", async () => {
    const { server } = serve({ key: "user" });
    const victim = await server.connect();
    const [hello] = victim.frames;
    const { clientId } = (hello as { payload: { clientId: string } }).payload;
    const attacker = await server.connect({ data: { userId: clientId } });
    for (let i = 0; i < 5; i++) await attacker.send(Tell);
    await victim.request(Ask, {});
  });

  test("counts each type of a connection separately", async () => {
    const { server, handled } = serve({ key: "type" });
    const peer = await server.connect();
    for (let i = 0; i < 3; i++) {
      await peer.send(Tell);
      await peer.send(Ask, {});
    }
    expect(handled.filter((type) => type === "TELL")).toHaveLength(2);
    expect(handled.filter((type) => type === "ASK")).toHaveLength(2);
  });

  test("accepts any function of the message's context as key", async () => {
    expect(await full({ key: () => "all" }, ["ada", "ben"])).toEqual([false, true]);
  });

  test("waits for an asynchronous limiter and keeps the order", async () => {
    const calls: string[] = [];
    const limiter: RateLimiter = {
      capacity: 2,
      consume: async (key, cost) => {
        calls.push(`${key.split(":")[0]} ${cost}`);
        await Promise.resolve();
        return { allowed: calls.length <= 2, remaining: 0, retryAfterMs: 500 };
      },
    };
    const { server, handled } = serve({}, limiter);
    const peer = await server.connect();
    await peer.request(Ask, {});
    await peer.request(Ask, {});
    await expect(peer.request(Ask, {})).rejects.toMatchObject({ retryAfterMs: 500 });
    expect(handled).toHaveLength(2);
    expect(calls).toEqual(["client 1", "client 1", "client 1"]);
  });

  test("fails with INTERNAL when the limiter fails: no message passes and no detail is sent", async () => {
    const limiter: RateLimiter = {
      capacity: 1,
      consume: () => Promise.reject(new Error("redis://user:password@host is down")),
    };
    const { server, handled } = serve({}, limiter);
    const peer = await server.connect();
    await expect(peer.request(Ask, {})).rejects.toMatchObject({
      code: "INTERNAL",
      message: "Internal error",
    });
    expect(handled).toEqual([]);
  });
});
