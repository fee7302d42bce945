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

describe.each(libraries)(
  "publish and topics, with $name",
  ({ createRouter, message, rpc, string, number }) => {
    const News = message("NEWS", { n: number() });
    const Join = rpc("JOIN", { topic: string() }, "JOINED", undefined);
    const Go = message("GO");

    type Options = Parameters<typeof createRouter<Data>>[0];

    /** A router whose peers join topics by request. */
    function joining(options?: Options) {
      return createRouter<Data>(options).rpc(Join, async (ctx) => {
        await ctx.subscribe(ctx.payload.topic);
        ctx.reply(Join.response);
      });
    }

    /** The context of one event, to be used from outside. */
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
      test("without subscribers, and before any server, it is accepted with no match [Decisions: Publish]", async () => {
        expect(await createRouter().publish("nobody", News, { n: 1 })).toEqual({ ok: true, matchedLocal: 0 });
      });

      test("a payload that does not fit is VALIDATION, not retryable, with details, and reaches nobody [Decisions: Publish]", async () => {
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
      ])("to a topic that is %s it is VALIDATION [Finer points: Topics]", async (_what, topic) => {
        const { router, ctx } = await contextOf();
        expect(await router.publish(topic, News, { n: 1 })).toMatchObject({ ok: false, error: "VALIDATION" });
        expect(await ctx.publish(topic, News, { n: 1 })).toMatchObject({ ok: false, error: "VALIDATION" });
      });

      test("the order holds per publisher and topic [Decisions: Publish]", async () => {
        const { router, peer, ctx } = await contextOf();
        await ctx.subscribe("t");
        await Promise.all(Array.from({ length: 50 }, (_, n) => router.publish("t", News, { n })));
        expect(peer.received(News).map(({ n }) => n)).toEqual(Array.from({ length: 50 }, (_, n) => n));
      });

      test("the payload travels as given, with meta and a producer timestamp [Finer points: Schemas]", async () => {
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

      test("what a pub/sub refuses is given back as it is [Decisions: Publish]", async () => {
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

    describe("subscriptions", () => {
      test.each([
        ["the default", {}],
        ["MemoryPubSub", { pubsub: new MemoryPubSub() }],
        ["memoryPubSub()", { pubsub: memoryPubSub() }],
      ])(
        "with %s, a publish reaches the subscribers of the topic, and excludeSelf is supported [Router methods: publish]",
        async (_what, options) => {
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
        },
      );

      test("a publish right after subscribe, in the same handler, is delivered [Finer points: Topics]", async () => {
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

      test("subscribing twice is one subscription [Finer points: Topics]", async () => {
        const { router, peer, ctx } = await contextOf();
        await ctx.subscribe("t");
        await ctx.subscribe("t");
        expect(await router.publish("t", News, { n: 1 })).toMatchObject({ matchedLocal: 1 });
        await ctx.unsubscribe("t");
        await router.publish("t", News, { n: 2 });
        expect(peer.received(News)).toEqual([{ n: 1 }]);
      });

      test("unsubscribing from a topic never subscribed to does nothing [Finer points: Topics]", async () => {
        const { peer, ctx } = await contextOf();
        expect(ctx.unsubscribe("never")).toBeUndefined();
        expect(errorsOf(peer)).toEqual([]);
      });

      test("topics has has(), list() and subscribeMany() [Decisions: Topics]", async () => {
        const { router, ctx } = await contextOf();
        await ctx.topics.subscribeMany(["a", "b"]);
        expect([ctx.topics.has("a"), ctx.topics.has("z")]).toEqual([true, false]);
        expect([...ctx.topics.list()].sort()).toEqual(["a", "b"]);
        expect(await router.publish("b", News, { n: 1 })).toMatchObject({ matchedLocal: 1 });
      });

      test("a connection that is gone is subscribed to nothing [Decisions: Seams]", async () => {
        const { router, peer, ctx } = await contextOf();
        await ctx.subscribe("t");
        await peer.disconnect();
        expect(await router.publish("t", News, { n: 1 })).toMatchObject({ matchedLocal: 0 });
      });

      test("a topic has 1 to 256 characters; any other is refused with INVALID_ARGUMENT [Finer points: Topics]", async () => {
        const { ctx } = await contextOf();
        expect(ctx.subscribe("t".repeat(256))).toBeUndefined();
        for (const topic of ["", "t".repeat(257)]) {
          expect(thrownBy(() => ctx.subscribe(topic))).toMatchObject({ code: "INVALID_ARGUMENT" });
          await expect(ctx.topics.subscribe(topic)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
        }
      });

      test("a connection has at most 256 topics; the next is RESOURCE_EXHAUSTED, not retryable [Finer points: Topics]", async () => {
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

      test("maxTopicsPerConnection may be set [Options added: maxTopicsPerConnection]", async () => {
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
        "false refuses with PERMISSION_DENIED and subscribes nothing%s [Decisions: Topics]",
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

      test("subscribe throws at once where the authorizer is synchronous, and rejects where it is not [Finer points: Topics]", async () => {
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

    test("subscribe is a promise where the pub/sub is asynchronous; a failed one rejects and leaves nothing behind [Finer points: Topics]", async () => {
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
  },
);
