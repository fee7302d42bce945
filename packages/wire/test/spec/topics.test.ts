import { describe, expect, test } from "vitest";
import { type EventContext, MemoryPubSub, type PubSub, WsError } from "../../src/index.ts";
import { memoryPubSub } from "../../src/memory.ts";
import { createTestServer } from "../../src/testing/index.ts";
import { errorsOf, gate, outcomeOf } from "./frames.ts";
import { libraries } from "./libraries.ts";

interface Data {
  readonly clientId: string;
  readonly userId?: string;
}

describe.each(libraries)("guide/pubsub: Topics ($name)", ({ createRouter, message, rpc, string, number }) => {
  const News = message("NEWS", { n: number() });
  const Join = rpc("JOIN", { topic: string() }, "JOINED", undefined);
  const Go = message("GO");

  type Options = Parameters<typeof createRouter<Data>>[0];

  /** A router whose peers subscribe to topics by request. */
  function joining(options?: Options) {
    return createRouter<Data>(options).rpc(Join, async (ctx) => {
      await ctx.subscribe(ctx.payload.topic);
      ctx.reply(Join.response);
    });
  }

  /** The context of one event, for use outside the handler. */
  async function contextOf(options?: Options) {
    const contexts: EventContext<typeof Go, Data>[] = [];
    const router = createRouter<Data>(options).on(Go, (ctx) => contexts.push(ctx));
    const server = createTestServer(router);
    const peer = await server.connect();
    await peer.send(Go);
    const [ctx] = contexts;
    if (ctx === undefined) throw new Error("the handler did not run");
    return { router, server, peer, ctx };
  }

  const thrownBy = (action: () => unknown): unknown => {
    try {
      action();
    } catch (error) {
      return error;
    }
    return undefined;
  };

  describe("publish", () => {
    test("without subscribers or a server is accepted with no match", async () => {
      expect(await createRouter().publish("empty", News, { n: 1 })).toEqual({ ok: true, matchedLocal: 0 });
    });

    test("with an invalid payload returns VALIDATION, not retryable, with details, and sends nothing", async () => {
      const { router, peer, ctx } = await contextOf();
      await ctx.subscribe("t");
      for (const bad of [{ n: "1" }, { n: 1, extra: 1 }, undefined]) {
        for (const publisher of [router, ctx]) {
          expect(await publisher.publish("t", News, bad as never)).toMatchObject({
            ok: false,
            error: "VALIDATION",
            retryable: false,
            details: { issues: expect.any(Array) },
          });
        }
      }
      expect(peer.received(News)).toEqual([]);
    });

    test.each([
      ["empty", ""],
      ["over 256 characters", "t".repeat(257)],
    ])("to a topic that is %s returns VALIDATION", async (_what, topic) => {
      const { router, ctx } = await contextOf();
      expect(await router.publish(topic, News, { n: 1 })).toMatchObject({ ok: false, error: "VALIDATION" });
      expect(await ctx.publish(topic, News, { n: 1 })).toMatchObject({ ok: false, error: "VALIDATION" });
    });

    test("keeps the order per publisher and topic", async () => {
      const { router, peer, ctx } = await contextOf();
      await ctx.subscribe("t");
      await Promise.all(Array.from({ length: 50 }, (_, n) => router.publish("t", News, { n })));
      expect(peer.received(News).map(({ n }) => n)).toEqual(Array.from({ length: 50 }, (_, n) => n));
    });

    test("sends the payload as given, with meta and a timestamp", async () => {
      const Tagged = message("TAGGED", { n: number() }, { room: string() });
      const { router, server, peer, ctx } = await contextOf();
      await ctx.subscribe("t");
      expect(await ctx.publish("t", Tagged, { n: 1 }, { meta: { room: "a" } })).toMatchObject({ ok: true });
      expect(peer.frames.at(-1)).toEqual({
        type: "TAGGED",
        meta: { timestamp: server.clock.wall(), room: "a" },
        payload: { n: 1 },
      });
      expect(await router.publish("t", Tagged, { n: 1 }, { meta: {} as never })).toMatchObject({
        error: "VALIDATION",
      });
    });

    test("returns an error of the pub/sub unchanged", async () => {
      const refusing: PubSub = {
        subscribe: () => undefined,
        unsubscribe: () => undefined,
        publish: () => ({ ok: false, error: "BACKPRESSURE", retryable: true }),
        close: () => undefined,
      };
      const router = createRouter({ pubsub: refusing });
      expect(await router.publish("t", News, { n: 1 })).toEqual({
        ok: false,
        error: "BACKPRESSURE",
        retryable: true,
      });
    });
  });

  describe("a subscription", () => {
    test.each([
      ["the default", {}],
      ["MemoryPubSub", { pubsub: new MemoryPubSub() }],
      ["memoryPubSub()", { pubsub: memoryPubSub() }],
    ])("with %s receives publishes to the topic, and excludeSelf is supported", async (_what, options) => {
      const { router, server, peer, ctx } = await contextOf(options);
      router.onOpen((open) => open.subscribe("t"));
      await ctx.subscribe("t");
      const other = await server.connect();
      expect(await ctx.publish("t", News, { n: 1 })).toMatchObject({ matchedLocal: 2 });
      expect(await ctx.publish("t", News, { n: 2 }, { excludeSelf: true })).toMatchObject({
        matchedLocal: 1,
      });
      expect(peer.received(News)).toEqual([{ n: 1 }]);
      expect(other.received(News)).toEqual([{ n: 1 }, { n: 2 }]);
    });

    test("receives a publish made right after subscribe in the same handler", async () => {
      const router = createRouter().on(Go, async (ctx) => {
        await ctx.topics.subscribe("mine");
        await ctx.publish("mine", News, { n: 1 });
        await ctx.topics.unsubscribe("mine");
        await ctx.publish("mine", News, { n: 2 });
      });
      const peer = await createTestServer(router).connect();
      await peer.send(Go);
      expect(peer.received(News)).toEqual([{ n: 1 }]);
    });

    test("made twice is one subscription", async () => {
      const { router, peer, ctx } = await contextOf();
      await ctx.subscribe("t");
      await ctx.subscribe("t");
      expect(await router.publish("t", News, { n: 1 })).toMatchObject({ matchedLocal: 1 });
      await ctx.unsubscribe("t");
      await router.publish("t", News, { n: 2 });
      expect(peer.received(News)).toEqual([{ n: 1 }]);
    });

    test("that does not exist can be removed without effect", async () => {
      const { peer, ctx } = await contextOf();
      expect(ctx.unsubscribe("never")).toBeUndefined();
      expect(errorsOf(peer)).toEqual([]);
    });

    test("is managed by topics with has(), list() and subscribeMany()", async () => {
      const { router, ctx } = await contextOf();
      await ctx.topics.subscribeMany(["a", "b"]);
      expect([ctx.topics.has("a"), ctx.topics.has("z")]).toEqual([true, false]);
      expect([...ctx.topics.list()].sort()).toEqual(["a", "b"]);
      expect(await router.publish("b", News, { n: 1 })).toMatchObject({ matchedLocal: 1 });
    });

    test("ends when its connection closes", async () => {
      const { router, peer, ctx } = await contextOf();
      await ctx.subscribe("t");
      await peer.disconnect();
      expect(await router.publish("t", News, { n: 1 })).toMatchObject({ matchedLocal: 0 });
    });

    test("needs a topic of 1 to 256 characters without a $ at its beginning, and any other is refused with INVALID_ARGUMENT", async () => {
      const { ctx } = await contextOf();
      expect(ctx.subscribe("t".repeat(256))).toBeUndefined();
      for (const topic of ["", "t".repeat(257), "$c/room"]) {
        expect(thrownBy(() => ctx.subscribe(topic))).toMatchObject({ code: "INVALID_ARGUMENT" });
        await expect(ctx.topics.subscribe(topic)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
      }
    });

    test("is refused with RESOURCE_EXHAUSTED, not retryable, when the connection has 256 topics", async () => {
      const { ctx } = await contextOf();
      await ctx.topics.subscribeMany(Array.from({ length: 256 }, (_, n) => `t${n}`));
      expect(thrownBy(() => ctx.subscribe("one more"))).toMatchObject({
        code: "RESOURCE_EXHAUSTED",
        retryable: false,
      });
      expect(ctx.subscribe("t0")).toBeUndefined();
      await ctx.unsubscribe("t0");
      expect(ctx.subscribe("one more")).toBeUndefined();
      expect(ctx.topics.list()).toHaveLength(256);
    });

    test("is limited per connection by maxTopicsPerConnection", async () => {
      const { ctx } = await contextOf({ maxTopicsPerConnection: 1 });
      await ctx.subscribe("one");
      expect(thrownBy(() => ctx.subscribe("two"))).toMatchObject({ code: "RESOURCE_EXHAUSTED" });
    });
  });

  describe("authorizeTopic", () => {
    test.each([
      ["", false],
      [", also as a promise", true],
    ])(
      "that returns false refuses with PERMISSION_DENIED and subscribes to nothing%s",
      async (_how, asynchronous) => {
        const asked: [string | undefined, string][] = [];
        const router = joining({
          authorizeTopic: (ctx, topic) => {
            asked.push([ctx.data.userId, topic]);
            const allowed = topic === `user:${ctx.data.userId}`;
            return asynchronous ? Promise.resolve(allowed) : allowed;
          },
        });
        const peer = await createTestServer(router).connect({ data: { userId: "ada" } });
        await peer.send(Join, { topic: "user:ada" }, { correlationId: "own" });
        await peer.send(Join, { topic: "user:eve" }, { correlationId: "other" });
        expect([outcomeOf(peer, "own"), outcomeOf(peer, "other")]).toEqual(["JOINED", "PERMISSION_DENIED"]);
        expect(asked).toEqual([
          ["ada", "user:ada"],
          ["ada", "user:eve"],
        ]);
        expect(await router.publish("user:eve", News, { n: 1 })).toMatchObject({ matchedLocal: 0 });
        expect(await router.publish("user:ada", News, { n: 1 })).toMatchObject({ matchedLocal: 1 });
      },
    );

    test("makes subscribe throw when it is synchronous and reject when it is asynchronous", async () => {
      const refused = await contextOf({ authorizeTopic: () => false });
      expect(thrownBy(() => refused.ctx.subscribe("t"))).toMatchObject({ code: "PERMISSION_DENIED" });
      const later = await contextOf({ authorizeTopic: async () => false });
      await expect(later.ctx.subscribe("t")).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
      const admitted = await contextOf({ authorizeTopic: async () => true });
      const pending = admitted.ctx.subscribe("t");
      expect(pending).toBeInstanceOf(Promise);
      expect(await pending).toBeUndefined();
    });
  });

  test("subscribe returns a promise with an asynchronous pub/sub, and a failed subscription rejects and is not kept", async () => {
    const reachable = gate<boolean>();
    const memory = new MemoryPubSub();
    const broker: PubSub = {
      subscribe: async (topic, subscriber) => {
        if (!(await reachable.opened)) throw new Error("broker down");
        memory.subscribe(topic, subscriber);
      },
      unsubscribe: async (topic, subscriber) => memory.unsubscribe(topic, subscriber),
      publish: async (topic, frame, options) => memory.publish(topic, frame, options),
      close: async () => memory.close(),
    };
    const { ctx } = await contextOf({ pubsub: broker });
    const pending = ctx.subscribe("t");
    expect(pending).toBeInstanceOf(Promise);
    reachable.open(false);
    await expect(pending).rejects.toSatisfy((error) => WsError.isWsError(error) && error.retryable);
    expect(ctx.topics.has("t")).toBe(false);
  });
});
