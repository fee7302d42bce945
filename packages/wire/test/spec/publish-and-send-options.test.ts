import { describe, expect, test, vi } from "vitest";
import { type LimitExceededInfo, MemoryPubSub } from "../../src/index.ts";
import { memoryRateLimiter } from "../../src/memory.ts";
import { rateLimit } from "../../src/middleware/index.ts";
import { createTestServer } from "../../src/testing/index.ts";
import { errorsOf, framesOf } from "./frames.ts";
import { libraries } from "./libraries.ts";

describe.each(libraries)("guide/pubsub: Publishing ($name)", ({ createRouter, message, string }) => {
  const Note = message("NOTE", { text: string() });
  const Go = message("GO");

  test("excludeSelf excludes the publishing connection, which is included by default", async () => {
    const router = createRouter()
      .onOpen((ctx) => ctx.subscribe("t"))
      .on(Go, async (ctx) => {
        await ctx.publish("t", Note, { text: "others" }, { excludeSelf: true });
        await ctx.publish("t", Note, { text: "all" }, { excludeSelf: false });
        await ctx.publish("t", Note, { text: "all again" });
      });
    const server = createTestServer(router);
    const [self, other] = [await server.connect(), await server.connect()];
    await self.send(Go);
    expect(self.received(Note).map(({ text }) => text)).toEqual(["all", "all again"]);
    expect(other.received(Note).map(({ text }) => text)).toEqual(["others", "all", "all again"]);
  });

  test("partitionKey reaches the pub/sub from handlers and from router.publish", async () => {
    const pubsub = new MemoryPubSub();
    const publish = vi.spyOn(pubsub, "publish");
    const router = createRouter({ pubsub }).on(Go, (ctx) =>
      ctx.publish("t", Note, { text: "a" }, { partitionKey: "k1" }),
    );
    const peer = await createTestServer(router).connect();
    await peer.send(Go);
    await router.publish("t", Note, { text: "b" }, { partitionKey: "k2" });
    expect(publish.mock.calls.map(([, , { partitionKey }]) => partitionKey)).toEqual(["k1", "k2"]);
  });

  test("ok is true for an accepted publish, and false with a reason for a refused one", async () => {
    const pubsub = new MemoryPubSub();
    const router = createRouter({ pubsub });
    expect(await router.publish("t", Note, { text: "hi" })).toEqual({ ok: true, matchedLocal: 0 });
    expect(await router.publish("t", Note, { text: 1 } as never)).toMatchObject({
      ok: false,
      error: "VALIDATION",
      retryable: false,
    });
    pubsub.close();
    expect(await router.publish("t", Note, { text: "hi" })).toMatchObject({
      ok: false,
      error: "DISCONNECTED",
    });
  });

  test("matchedLocal counts the connections that received the frame", async () => {
    const router = createRouter({ socketBufferLimitBytes: 100 }).onOpen((ctx) => ctx.subscribe("t"));
    const server = createTestServer(router);
    const [slow] = [await server.connect(), await server.connect(), await server.connect()];
    expect(await router.publish("t", Note, { text: "hi" })).toEqual({ ok: true, matchedLocal: 3 });
    slow.pause();
    await router.publish("t", Note, { text: "x".repeat(200) });
    expect(await router.publish("t", Note, { text: "hi" })).toEqual({ ok: true, matchedLocal: 2 });
  });
});

describe.each(libraries)(
  "guide/rpc: Delivery confirmation ($name)",
  ({ createRouter, message, rpc, string }) => {
    const Note = message("NOTE", { text: string() });
    const Go = message("GO");

    test("a signal that is aborted before the call keeps the frame from being sent", async () => {
      const results: unknown[] = [];
      const router = createRouter().on(Go, async (ctx) => {
        const signal = AbortSignal.abort();
        ctx.send(Note, { text: "not sent" }, { signal });
        results.push(await ctx.send(Note, { text: "not sent" }, { signal, waitFor: "drain" }));
      });
      const peer = await createTestServer(router).connect();
      await peer.send(Go);
      expect(peer.received(Note)).toEqual([]);
      expect(results).toEqual([false]);
    });

    test("meta is sent with the message and checked against the schema", async () => {
      const Tagged = message("TAGGED", { text: string() }, { room: string() });
      const router = createRouter().on(Go, (ctx) => {
        ctx.send(Tagged, { text: "hi" }, { meta: { room: "a" } });
        expect(() => ctx.send(Tagged, { text: "hi" }, { meta: { room: 1 } as never })).toThrow(
          /meta of TAGGED/,
        );
        expect(() => ctx.send(Tagged, { text: "hi" }, { meta: {} as never })).toThrow(/meta of TAGGED/);
        expect(() => ctx.send(Note, { text: "hi" }, { meta: { room: "a" } as never })).toThrow(
          /NOTE declares no meta "room"/,
        );
      });
      const peer = await createTestServer(router).connect();
      await peer.send(Go);
      expect(errorsOf(peer)).toEqual([]);
      expect(framesOf(peer, "TAGGED")).toMatchObject([{ meta: { room: "a" } }]);
      expect(peer.received(Note)).toEqual([]);
    });

    test("inheritCorrelationId copies the correlationId of the handled message, which other messages do not carry", async () => {
      const Ask = rpc("ASK", undefined, "ANSWER", undefined);
      const router = createRouter()
        .on(Go, (ctx) => {
          ctx.send(Note, { text: "inherited" }, { inheritCorrelationId: true });
          ctx.send(Note, { text: "plain" });
        })
        .rpc(Ask, (ctx) => {
          ctx.send(Note, { text: "from a call" }, { inheritCorrelationId: true });
          ctx.reply(Ask.response);
        });
      const peer = await createTestServer(router).connect();
      await peer.send(Go, undefined, { correlationId: "go" });
      await peer.send(Go);
      await peer.send(Ask, undefined, { correlationId: "ask" });
      expect(framesOf(peer, "NOTE").map((frame) => frame.meta["correlationId"])).toEqual([
        "go",
        undefined,
        undefined,
        undefined,
        "ask",
      ]);
    });

    test("waitFor accepts drain and ack", async () => {
      const results: [string, boolean][] = [];
      const router = createRouter().on(Go, async (ctx) => {
        results.push(["drain", await ctx.send(Note, { text: "a" }, { waitFor: "drain" })]);
        results.push(["ack", await ctx.send(Note, { text: "b" }, { waitFor: "ack" })]);
      });
      const peer = await createTestServer(router).connect();
      await peer.send(Go);
      expect(results).toEqual([["drain", true]]);
      const [marker] = framesOf(peer, "$ws:sync");
      await peer.sendRaw(JSON.stringify({ type: "$ws:synced", payload: marker?.payload }));
      expect(results).toEqual([
        ["drain", true],
        ["ack", true],
      ]);
    });
  },
);

describe.each(libraries)("guide/limits: All limits ($name)", ({ createRouter, message }) => {
  const Go = message("GO");

  test("onLimitExceeded receives type, clientId, ws, observed bytes and limit of a frame that is too large", () => {
    const infos: LimitExceededInfo[] = [];
    const router = createRouter({ limits: { maxPayloadBytes: 500 } }).onLimitExceeded((info) =>
      infos.push(info),
    );
    const socket = { bufferedBytes: 0, send: () => "sent" as const, close: vi.fn() };
    router.accept(socket, { clientId: "one" }).tooLarge(800);
    router.accept(socket, { clientId: "two" }).tooLarge();
    expect(infos).toEqual([
      { type: "payload", clientId: "one", ws: expect.anything(), observed: 800, limit: 500 },
      { type: "payload", clientId: "two", ws: expect.anything(), observed: 501, limit: 500 },
    ]);
    expect(infos[0]?.ws.clientId).toBe("one");
    expect(socket.close.mock.calls.map(([code]) => code)).toEqual([1009, 1009]);
  });

  test("onLimitExceeded receives type, clientId, ws, attempted cost, capacity and retryAfterMs of a rate limit", async () => {
    const infos: LimitExceededInfo[] = [];
    const limiter = memoryRateLimiter({ capacity: 5, tokensPerSecond: 0.001 });
    const router = createRouter()
      .onLimitExceeded((info) => infos.push(info))
      .use(rateLimit({ limiter, cost: 3 }))
      .on(Go, () => undefined);
    const peer = await createTestServer(router).connect();
    await peer.send(Go);
    await peer.send(Go);
    expect(infos).toEqual([
      {
        type: "rate",
        clientId: expect.any(String),
        ws: expect.anything(),
        observed: 3,
        limit: 5,
        retryAfterMs: expect.any(Number),
      },
    ]);
    expect(infos[0]?.ws.clientId).toBe(infos[0]?.clientId);
  });

  test("onLimitExceeded receives retryAfterMs null when the cost exceeds the capacity", async () => {
    const infos: LimitExceededInfo[] = [];
    const limiter = memoryRateLimiter({ capacity: 5, tokensPerSecond: 1 });
    const router = createRouter()
      .onLimitExceeded((info) => infos.push(info))
      .use(rateLimit({ limiter, cost: 6 }))
      .on(Go, () => undefined);
    const peer = await createTestServer(router).connect();
    await peer.send(Go);
    expect(infos).toMatchObject([{ type: "rate", observed: 6, limit: 5, retryAfterMs: null }]);
  });
});
