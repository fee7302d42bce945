import { describe, expect, test, vi } from "vitest";
import type { OpenContext, WsError } from "../../index.ts";
import type { PublishResult, PubSub, Subscriber } from "../../pubsub/pubsub.ts";
import { settle } from "../../testing/fake-clock.ts";
import { createTestServer } from "../../testing/index.ts";
import { createRouter, message, rpc, z } from "../../zod.ts";

const Join = rpc("JOIN", { topic: z.string() }, "JOINED", { topics: z.array(z.string()) });
const Leave = rpc("LEAVE", { topic: z.string() }, "LEFT", undefined);
const News = message("NEWS", { text: z.string() });

/** A pub/sub whose broker answers when the test decides. */
class SlowBus implements PubSub {
  readonly calls: string[] = [];
  readonly #pending: { resolve(): void; reject(error: Error): void }[] = [];
  readonly #subscribers = new Map<string, Subscriber>();

  subscribe(topic: string, subscriber: Subscriber): Promise<void> {
    this.calls.push(`subscribe ${topic}`);
    this.#subscribers.set(topic, subscriber);
    return this.#answered();
  }

  unsubscribe(topic: string): Promise<void> {
    this.calls.push(`unsubscribe ${topic}`);
    this.#subscribers.delete(topic);
    return Promise.resolve();
  }

  async publish(topic: string, frame: string): Promise<PublishResult> {
    const matchedLocal = this.#subscribers.get(topic)?.deliver(topic, frame, undefined) ?? 0;
    return { ok: true, matchedLocal };
  }

  close(): void {}

  #answered(): Promise<void> {
    return new Promise((resolve, reject) => this.#pending.push({ resolve, reject }));
  }

  async confirm(): Promise<void> {
    this.#pending.shift()?.resolve();
    await settle();
  }

  async fail(): Promise<void> {
    this.#pending.shift()?.reject(new Error("the broker is gone"));
    await settle();
  }
}

function createRoom(pubsub?: PubSub, options: Parameters<typeof createRouter>[0] = {}) {
  const router = createRouter({ ...options, ...(pubsub && { pubsub }) })
    .onError(() => undefined)
    .rpc(Join, async (ctx) => {
      await ctx.subscribe(ctx.payload.topic);
      ctx.reply(Join.response, { topics: [...ctx.topics.list()] });
    })
    .rpc(Leave, async (ctx) => {
      await ctx.unsubscribe(ctx.payload.topic);
      ctx.reply(Leave.response);
    });
  return { router, server: createTestServer(router) };
}

describe("a topic on a slow pub/sub", () => {
  test("has no subscriber before the pub/sub has confirmed, including the second subscriber", async () => {
    const bus = new SlowBus();
    const { server } = createRoom(bus);
    const [first, second] = [await server.connect(), await server.connect()];
    await first.send(Join, { topic: "a" });
    await second.send(Join, { topic: "a" });
    expect([first.received(Join.response), second.received(Join.response)]).toEqual([[], []]);
    await bus.confirm();
    for (const peer of [first, second]) expect(peer.received(Join.response)).toEqual([{ topics: ["a"] }]);
    expect(bus.calls).toEqual(["subscribe a"]);
  });

  test("gives a second subscribe of the same connection the same result as the first", async () => {
    const bus = new SlowBus();
    const { server } = createRoom(bus);
    const peer = await server.connect();
    const join = () =>
      peer.request(Join, { topic: "a" }).then(
        () => "joined",
        ({ code }: { readonly code?: string }) => code,
      );
    const refused = [join(), join()];
    await settle();
    await bus.fail();
    expect(await Promise.all(refused)).toEqual(["UNAVAILABLE", "UNAVAILABLE"]);
    await peer.send(Join, { topic: "a" });
    await peer.send(Join, { topic: "a" });
    expect(peer.received(Join.response)).toEqual([]);
    await bus.confirm();
    expect(peer.received(Join.response)).toEqual([{ topics: ["a"] }, { topics: ["a"] }]);
  });

  test("reports a failure to every waiting subscriber, and the next one tries again", async () => {
    const bus = new SlowBus();
    const { server, router } = createRoom(bus);
    const [first, second] = [await server.connect(), await server.connect()];
    const joins = [first.request(Join, { topic: "a" }), second.request(Join, { topic: "a" })];
    const outcomes = Promise.allSettled(joins);
    await settle();
    await bus.fail();
    expect(await outcomes).toMatchObject([
      { status: "rejected", reason: { code: "UNAVAILABLE" } },
      { status: "rejected", reason: { code: "UNAVAILABLE" } },
    ]);
    const retry = second.request(Join, { topic: "a" });
    await settle();
    await bus.confirm();
    expect(await retry).toEqual({ topics: ["a"] });
    expect(await router.publish("a", News, { text: "x" })).toMatchObject({ matchedLocal: 1 });
    expect([first.received(News), second.received(News)]).toEqual([[], [{ text: "x" }]]);
  });

  test("treats a pub/sub that throws like one that rejects", async () => {
    const bus = new SlowBus();
    bus.subscribe = () => {
      throw new Error("not connected");
    };
    const { server } = createRoom(bus);
    const peer = await server.connect();
    await expect(peer.request(Join, { topic: "a" })).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await expect(peer.request(Join, { topic: "a" })).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  test("is subscribed to only while it has local subscribers", async () => {
    const bus = new SlowBus();
    const { server } = createRoom(bus);
    const [first, second] = [await server.connect(), await server.connect()];
    await first.send(Join, { topic: "a" });
    await bus.confirm();
    await second.request(Join, { topic: "a" });
    await first.request(Leave, { topic: "a" });
    expect(bus.calls).toEqual(["subscribe a"]);
    await second.disconnect();
    expect(bus.calls).toEqual(["subscribe a", "unsubscribe a"]);
  });

  test("does not get a subscriber that left before the pub/sub confirmed", async () => {
    const bus = new SlowBus();
    const { server, router } = createRoom(bus);
    const peer = await server.connect();
    await peer.send(Join, { topic: "a" });
    await peer.send(Leave, { topic: "a" });
    await bus.confirm();
    expect(await router.publish("a", News, { text: "x" })).toMatchObject({ matchedLocal: 0 });
    expect(peer.received(News)).toEqual([]);
  });
});

describe("joining and leaving at the same time", () => {
  /** A router whose authorizer answers when the test decides, in the order of the calls. */
  function createGate(options: Parameters<typeof createRoom>[1] = {}) {
    const verdicts: ((allowed: boolean) => void)[] = [];
    const room = createRoom(undefined, {
      authorizeTopic: () => new Promise<boolean>((resolve) => verdicts.push(resolve)),
      ...options,
    });
    return { ...room, verdicts };
  }

  test("a connection that leaves while the authorizer works has left, and its join succeeds without effect", async () => {
    const { server, router, verdicts } = createGate();
    const peer = await server.connect();
    const join = peer.request(Join, { topic: "a" });
    await peer.request(Leave, { topic: "a" });
    verdicts[0]?.(true);
    expect(await join).toEqual({ topics: [] });
    expect(await router.publish("a", News, { text: "x" })).toEqual({ ok: true, matchedLocal: 0 });
  });

  test("of join, leave and join, the last one counts, whichever the authorizer answers first", async () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      const { server, router, verdicts } = createGate();
      const peer = await server.connect();
      const joins = [peer.request(Join, { topic: "a" })];
      await peer.request(Leave, { topic: "a" });
      joins.push(peer.request(Join, { topic: "a" }));
      await settle();
      for (const i of order) verdicts[i]?.(true);
      await Promise.all(joins);
      expect(await router.publish("a", News, { text: "x" })).toEqual({ ok: true, matchedLocal: 1 });
      expect(peer.received(News)).toEqual([{ text: "x" }]);
    }
  });

  test("a join that fails does not undo a later one of the same connection", async () => {
    const bus = new SlowBus();
    const { server, router } = createRoom(bus);
    const peer = await server.connect();
    const first = peer.request(Join, { topic: "a" }).catch(({ code }: { readonly code: string }) => code);
    await settle();
    await peer.request(Leave, { topic: "a" });
    const second = peer.request(Join, { topic: "a" });
    await settle();
    await bus.fail();
    expect(await first).toBe("UNAVAILABLE");
    await bus.confirm();
    expect(await second).toEqual({ topics: ["a"] });
    expect(await router.publish("a", News, { text: "x" })).toMatchObject({ matchedLocal: 1 });
  });
});

describe("a failed subscription that the handler does not await", () => {
  const Go = message("GO", { topic: z.string() });

  async function run(handler: (ctx: OpenContext) => unknown, pubsub?: PubSub) {
    const errors: WsError[] = [];
    const router = createRouter({ ...(pubsub && { pubsub }), authorizeTopic: async () => false })
      .onError((error) => void errors.push(error))
      .on(Go, (ctx) => void handler(ctx as never));
    const peer = await createTestServer(router).connect();
    await peer.send(Go, { topic: "a" });
    await settle();
    return errors;
  }

  test.each([
    ["ctx.subscribe", (ctx: OpenContext) => ctx.subscribe("news")],
    ["ctx.topics.subscribe", (ctx: OpenContext) => ctx.topics.subscribe("news")],
    ["ctx.topics.subscribeMany", (ctx: OpenContext) => ctx.topics.subscribeMany(["news", "more"])],
  ])("by %s is reported to onError with the topic", async (_, subscribe) => {
    const [error, ...others] = await run((ctx) => void subscribe(ctx));
    expect(others).toEqual([]);
    expect(error).toMatchObject({ code: "PERMISSION_DENIED" });
    expect(error?.message).toBe(
      'The subscription to topic "news" failed, and its promise was not awaited: This connection is not allowed to subscribe to the topic. Await ctx.subscribe() or ctx.topics.subscribe(), so that the handler answers with the failure.',
    );
  });

  test("is reported for an invalid topic and for a pub/sub that fails", async () => {
    const [invalid] = await run((ctx) => void ctx.topics.subscribe(""));
    expect(invalid).toMatchObject({ code: "INVALID_ARGUMENT" });
    const errors: WsError[] = [];
    const bus = new SlowBus();
    const router = createRouter({ pubsub: bus })
      .onError((error) => void errors.push(error))
      .on(Go, (ctx) => void ctx.subscribe("news"));
    const peer = await createTestServer(router).connect();
    await peer.send(Go, { topic: "a" });
    await bus.fail();
    expect(errors).toMatchObject([{ code: "UNAVAILABLE" }]);
  });

  test("is logged when the router has no onError", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const router = createRouter().on(Go, (ctx) => void ctx.topics.subscribe(""));
    const peer = await createTestServer(router).connect();
    await peer.send(Go, { topic: "a" });
    await settle();
    expect(String(logged.mock.calls[0]?.[1])).toContain('The subscription to topic "" failed');
    vi.restoreAllMocks();
  });

  test.each([
    ["await", async (ctx: OpenContext) => void (await ctx.topics.subscribe("news").catch(() => undefined))],
    [
      "try and await",
      async (ctx: OpenContext) => {
        try {
          await ctx.subscribe("news");
        } catch {
          // Handled here.
        }
      },
    ],
    [
      "Promise.allSettled",
      async (ctx: OpenContext) => void (await Promise.allSettled([ctx.topics.subscribe("")])),
    ],
  ])("is not reported when the handler does: %s", async (_, handler) => {
    expect(await run(handler)).toEqual([]);
  });
});

describe("the topics of a connection", () => {
  test("end when it closes, and a late authorizer does not restore them", async () => {
    let allow: (verdict: boolean) => void = () => undefined;
    const { server, router } = createRoom(undefined, {
      authorizeTopic: () =>
        new Promise<boolean>((resolve) => {
          allow = resolve;
        }),
    });
    const peer = await server.connect();
    await peer.send(Join, { topic: "a" });
    await peer.disconnect();
    allow(true);
    await settle();
    expect(await router.publish("a", News, { text: "x" })).toEqual({ ok: true, matchedLocal: 0 });
  });

  test("are counted exactly against the limit when many are requested concurrently", async () => {
    const { server } = createRoom(undefined, {
      maxTopicsPerConnection: 3,
      authorizeTopic: async () => true,
    });
    const peer = await server.connect();
    const joins = await Promise.allSettled(
      ["a", "b", "c", "d", "e", "a"].map((topic) => peer.request(Join, { topic })),
    );
    expect(joins.filter(({ status }) => status === "rejected")).toMatchObject([
      { reason: { code: "RESOURCE_EXHAUSTED", retryable: false } },
      { reason: { code: "RESOURCE_EXHAUSTED", retryable: false } },
    ]);
  });

  test.each([false, undefined, 1, "yes"])("are refused when the authorizer returns %s", async (verdict) => {
    const { server } = createRoom(undefined, { authorizeTopic: async () => verdict as boolean });
    const peer = await server.connect();
    await expect(peer.request(Join, { topic: "a" })).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
  });

  test("of a Durable Object are out of reach for router.publish, and its result says so", async () => {
    const router = createRouter();
    router.attach({ isolated: true });
    expect(await router.publish("news", News, { text: "x" })).toEqual({
      ok: false,
      error: "UNSUPPORTED",
      retryable: false,
      details: { reason: expect.stringContaining("this.publish()") },
    });
    createTestServer(router);
    expect(await router.publish("news", News, { text: "x" })).toEqual({ ok: true, matchedLocal: 0 });
  });

  test("give a result and no rejection for a publish without a JSON form", async () => {
    const Loose = message("LOOSE", { value: z.unknown() });
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    const { router } = createRoom();
    for (const value of [1n, cycle])
      expect(await router.publish("a", Loose, { value })).toMatchObject({ ok: false, error: "VALIDATION" });
  });
});
