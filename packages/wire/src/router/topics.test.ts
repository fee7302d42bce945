import { describe, expect, test } from "vitest";
import type { PublishResult, PubSub, Subscriber } from "../pubsub/pubsub.ts";
import { settle } from "../testing/fake-clock.ts";
import { createTestServer } from "../testing/index.ts";
import { createRouter, message, rpc, z } from "../zod.ts";

const Join = rpc("JOIN", { topic: z.string() }, "JOINED", { topics: z.array(z.string()) });
const Leave = rpc("LEAVE", { topic: z.string() }, "LEFT", undefined);
const News = message("NEWS", { text: z.string() });

/** A bus whose broker answers when the test says so. */
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

describe("topics on a bus that takes its time", () => {
  test("nobody counts as subscribed before the bus has confirmed, the second subscriber neither", async () => {
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

  test("who subscribes again before the bus has confirmed waits for the same answer, be it yes or no", async () => {
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

  test("a failure of the bus reaches everybody who waited for it, and the next one tries again", async () => {
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

  test("a bus that throws at once is a bus that failed", async () => {
    const bus = new SlowBus();
    bus.subscribe = () => {
      throw new Error("not connected");
    };
    const { server } = createRoom(bus);
    const peer = await server.connect();
    await expect(peer.request(Join, { topic: "a" })).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await expect(peer.request(Join, { topic: "a" })).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  test("a topic is listened to while it has subscribers here, and no longer", async () => {
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

  test("whoever leaves before the bus has confirmed is not subscribed by the late answer", async () => {
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

describe("topics", () => {
  test("of a closed connection are gone, and a late authorizer does not bring them back", async () => {
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

  test("are counted against the limit exactly, however many are asked for at once", async () => {
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

  test.each([false, undefined, 1, "yes"])("an authorizer that answers %s refuses", async (verdict) => {
    const { server } = createRoom(undefined, { authorizeTopic: async () => verdict as boolean });
    const peer = await server.connect();
    await expect(peer.request(Join, { topic: "a" })).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
  });

  test("publishing what has no JSON form is a result, not a rejection", async () => {
    const Loose = message("LOOSE", { value: z.unknown() });
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    const { router } = createRoom();
    for (const value of [1n, cycle])
      expect(await router.publish("a", Loose, { value })).toMatchObject({ ok: false, error: "VALIDATION" });
  });
});
