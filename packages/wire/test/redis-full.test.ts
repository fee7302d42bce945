/** Redis above its maxmemory: no script writes anything, and callers are told in time. */
import { type PrivateServer, startRedis } from "@halyard/services";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { expect, onTestFinished, test, vi } from "vitest";
import { serve } from "../src/adapters/node.ts";
import { attachCall, startCall, type WsClient, wsClient } from "../src/client/zod.ts";
import { type History, redisPubSub } from "../src/redis.ts";
import { createRouter, rpc, z } from "../src/zod.ts";

vi.setConfig({ testTimeout: 60_000 });
const KEPT = { size: 100, ttlMs: 600_000 };
const ALL = { maxItems: 1_000, maxBytes: 10_000_000 };

async function start() {
  const server: PrivateServer = await startRedis({ "maxmemory-policy": "noeviction" });
  onTestFinished(() => server.stop());
  const redis = new Redis(server.url);
  onTestFinished(() => redis.disconnect());
  const open = () => {
    const pubsub = redisPubSub(createClient({ url: server.url }));
    onTestFinished(() => pubsub.close());
    return pubsub;
  };
  const { history } = open();
  if (history === undefined) throw new Error("The pub/sub keeps no history.");
  return {
    open,
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

const Ask = rpc(
  "ASK",
  { items: z.number() },
  "ASKED",
  { ok: z.boolean() },
  { progress: z.string(), durable: { keepMs: 60_000 } },
);

/** A process: a pub/sub, a server and a client of its own. `proceed` lets its handlers go on after their items. */
async function startProcess(open: Awaited<ReturnType<typeof start>>["open"]) {
  let proceed = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    proceed = resolve;
  });
  const router = createRouter({ heartbeat: {}, pubsub: open() })
    .onError(() => undefined)
    .rpc(Ask, { owner: () => "ann" }, async (ctx) => {
      await ctx.progress("started");
      await gate;
      for (let item = 1; item <= ctx.payload.items; item++) await ctx.progress(`${item}`);
      return { ok: true };
    });
  const server = await serve(router, { port: 0, handleSignals: false });
  onTestFinished(() => server.stop());
  const client: WsClient = wsClient({ url: `ws://127.0.0.1:${server.port}` });
  onTestFinished(() => client.close());
  await client.connect();
  return { client, proceed };
}

/** The code of a call that fails, and how long it took. */
async function failureOf(result: Promise<unknown>) {
  const startedAt = performance.now();
  const error = await result.then(
    () => undefined,
    (thrown: unknown) => thrown as { code: string },
  );
  return { code: error?.code, isInTime: performance.now() - startedAt < 5_000 };
}

const FAILED = { code: "UNAVAILABLE", isInTime: true };

test("in a full Redis, a durable call does not start, and its caller gets UNAVAILABLE within 5 s", async () => {
  const { open, fill, empty } = await start();
  const { client, proceed } = await startProcess(open);
  proceed();
  expect((await startCall(client, Ask, { items: 0 }).result).payload).toEqual({ ok: true });
  await fill();
  expect(await failureOf(startCall(client, Ask, { items: 0 }).result)).toEqual(FAILED);
  await empty();
  expect((await startCall(client, Ask, { items: 0 }).result).payload).toEqual({ ok: true });
});

test.each([
  ["whose item Redis refuses", 1, undefined],
  ["whose response Redis refuses", 0, { ok: true }],
] as const)(
  "in a full Redis, all readers of a running call %s get UNAVAILABLE within 5 s, and its end once there is room",
  async (_, items, response) => {
    const { open, fill, empty } = await start();
    const [near, far] = [await startProcess(open), await startProcess(open)];
    const call = startCall(near.client, Ask, { items });
    await call[Symbol.asyncIterator]().next();
    const reader = attachCall(far.client, Ask, call.id);
    await reader[Symbol.asyncIterator]().next();
    await fill();
    near.proceed();
    const failures = [call.result, reader.result].map(failureOf);
    expect(await Promise.all(failures)).toEqual([FAILED, FAILED]);
    expect(await failureOf(attachCall(far.client, Ask, call.id).result)).toEqual(FAILED);
    await empty();
    const read = () => attachCall(far.client, Ask, call.id).result.then(({ payload }) => payload);
    if (response === undefined) await expect(read()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    else await expect.poll(() => read().catch(String), { timeout: 10_000 }).toEqual(response);
  },
);
