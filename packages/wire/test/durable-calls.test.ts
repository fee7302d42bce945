import { describe, expect, test, vi } from "vitest";
import type { AppendOptions, AppendResult, History, PubSub } from "../src/index.ts";
import { memoryPubSub } from "../src/memory.ts";
import { createTestServer, type TestConnection } from "../src/testing/index.ts";
import { createRouter, rpc, z } from "../src/zod.ts";
import { durableCallContract } from "./contract/durable-calls.ts";

durableCallContract("memory", async () => {
  const pubsub = memoryPubSub();
  return { near: pubsub, far: pubsub, stop: async () => pubsub.close() };
});

const Ask = rpc("ASK", undefined, "ASK_END", undefined, { progress: z.string(), durable: { keepMs: 1_000 } });

test("a durable request needs the owner of its calls", () => {
  expect(() => createRouter().rpc(Ask as never, () => undefined)).toThrow("owner");
});

test("a durable request needs a pub/sub that keeps history, and the error says which ones do", () => {
  const pubsub = { subscribe() {}, unsubscribe() {}, publish: () => ({ ok: true }) as const, close() {} };
  expect(() => createRouter({ pubsub }).rpc(Ask, { owner: () => "ann" }, () => undefined)).toThrow(
    "redisPubSub()",
  );
});

test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, 40 * 24 * 60 * 60_000])(
  "keepMs must not be %d",
  (keepMs) => {
    expect(() =>
      rpc("ASK", undefined, "ASK_END", undefined, { progress: z.string(), durable: { keepMs } }),
    ).toThrow("durable.keepMs of ASK");
  },
);

describe("a durable call", () => {
  const Count = rpc("COUNT", undefined, "COUNTED", z.object({ text: z.string() }), {
    progress: z.number(),
    durable: { keepMs: 60_000 },
  });

  /** A broker whose appends can fail: `fault` gets each of them, and what it would have resulted in. */
  function faulty(
    fault: (options: AppendOptions, append: () => AppendResult, frame: string) => AppendResult,
  ) {
    const memory = memoryPubSub();
    const { history: kept } = memory;
    if (kept === undefined) throw new Error("memory keeps history");
    const append = (topic: string, frame: string, options: AppendOptions) =>
      fault(options, () => kept.append(topic, frame, options) as AppendResult, frame);
    const history: History = {
      append,
      read: (topic, options) => kept.read(topic, options),
      top: (topic) => kept.top(topic),
      delete: (topic) => kept.delete(topic),
    };
    const pubsub: PubSub = {
      subscribe: (topic, subscriber) => memory.subscribe(topic, subscriber),
      unsubscribe: (topic, subscriber) => memory.unsubscribe(topic, subscriber),
      publish: (topic, frame, options) => memory.publish(topic, frame, options),
      close: () => memory.close(),
      history,
    };
    return pubsub;
  }

  async function serving(pubsub: PubSub, text = "done", maxOutboundFrameBytes = 100_000) {
    let runs = 0;
    const router = createRouter({ pubsub, maxOutboundFrameBytes })
      .onError(() => undefined)
      .rpc(Count, { owner: () => "ann" }, async (ctx) => {
        runs++;
        for (let i = 0; i < 3; i++) await ctx.progress(i);
        return { text };
      });
    const server = createTestServer(router);
    const peer = await server.connect();
    return { server, peer, runs: () => runs };
  }
  const ask = (peer: TestConnection, correlationId: string, $k: object) =>
    peer.sendRaw(JSON.stringify({ type: "COUNT", meta: { correlationId, $c: 64, $k } }));
  const end = async (peer: TestConnection, id: string) => {
    const frames = () =>
      peer.frames.filter(({ meta, type }) => meta?.["correlationId"] === id && type !== "$ws:rpc-progress");
    await vi.waitUntil(() => frames().length > 0, { timeout: 10_000, interval: 5 });
    return frames().map(({ type, payload }) => (payload as { code?: string })?.code ?? type);
  };
  const items = (peer: TestConnection, id: string) =>
    peer.frames
      .filter(({ meta, type }) => meta?.["correlationId"] === id && type === "$ws:rpc-progress")
      .map(({ payload }) => payload);

  test("starts when the reply to its first append is lost, because the append is repeated", async () => {
    let lost = 0;
    const pubsub = faulty((options, append) => {
      const result = append();
      if (options.id !== "start" || lost++ > 0) return result;
      return { ok: false, error: "DISCONNECTED", retryable: true };
    });
    const { peer, runs } = await serving(pubsub);
    await ask(peer, "r", { id: "call" });
    expect(await end(peer, "r")).toEqual(["COUNTED"]);
    expect([items(peer, "r"), runs(), lost]).toEqual([[0, 1, 2], 1, 2]);
  });

  test("ends with RESOURCE_EXHAUSTED when the broker refuses its response as too large", async () => {
    const pubsub = faulty((_options, append, frame) =>
      frame.length > 1_000 ? { ok: false, error: "VALIDATION", retryable: false } : append(),
    );
    const { peer } = await serving(pubsub, "x".repeat(2_000));
    await ask(peer, "r", { id: "call" });
    expect(await end(peer, "r")).toEqual(["RESOURCE_EXHAUSTED"]);
    await ask(peer, "s", { id: "call", after: 0 });
    expect(await end(peer, "s")).toEqual(["RESOURCE_EXHAUSTED"]);
  });

  test("ends with RESOURCE_EXHAUSTED when its response is above maxOutboundFrameBytes", async () => {
    const { peer } = await serving(memoryPubSub(), "x".repeat(2_000), 2_000);
    await ask(peer, "r", { id: "call" });
    expect(await end(peer, "r")).toEqual(["RESOURCE_EXHAUSTED"]);
  });

  test("ends with UNAVAILABLE, and not with its response, when the broker has lost items of it", async () => {
    const pubsub = faulty((options, append) =>
      options.epoch !== undefined && options.isLast
        ? { ok: false, error: "EPOCH", retryable: false }
        : append(),
    );
    const { peer } = await serving(pubsub);
    await ask(peer, "r", { id: "call" });
    expect(await end(peer, "r")).toEqual(["UNAVAILABLE"]);
  });

  test.each([
    ["an id that is too long", { id: "x".repeat(129), after: 0 }, "NOT_FOUND"],
    ["an id that is not text", { id: 7, after: 0 }, "NOT_FOUND"],
    ["a negative number of items", { id: "other", after: -1 }, "NOT_FOUND"],
    ["an id that is too long, without a number of items", { id: "x".repeat(129) }, "INVALID_ARGUMENT"],
  ])("is not started by a request with %s", async (_, key, code) => {
    const { peer, runs } = await serving(memoryPubSub());
    await ask(peer, "r", key);
    expect(await end(peer, "r")).toEqual([code]);
    expect(runs()).toBe(0);
  });

  test("is not ended by a request that attaches in the same moment as it starts", async () => {
    const { peer } = await serving(memoryPubSub());
    const attaching = Array.from({ length: 30 }, async (_, turn) => {
      for (let i = 0; i < turn; i++) await undefined;
      return ask(peer, `a${turn}`, { id: "call", after: 0 });
    });
    await ask(peer, "r", { id: "call" });
    await Promise.all(attaching);
    expect(await end(peer, "r")).toEqual(["COUNTED"]);
    for (let turn = 0; turn < 30; turn++)
      expect(["COUNTED", "NOT_FOUND"]).toContain((await end(peer, `a${turn}`))[0]);
  });
});
