import { describe, expect, test } from "vitest";
import type { CloseContext, OpenContext } from "../../src/index.ts";
import { memoryRateLimiter } from "../../src/memory.ts";
import { rateLimit } from "../../src/middleware/index.ts";
import { createTestServer } from "../../src/testing/index.ts";
import { framesOf, outcomeOf, sendFrame, unsettled } from "./frames.ts";
import { libraries } from "./libraries.ts";

describe.each(libraries)("guide/router: Hooks ($name)", ({ createRouter, message, rpc, string }) => {
  const Note = message("NOTE", { text: string() });
  const Call = rpc("CALL", undefined, "CALLED", undefined);

  test("onOpen has a context with clientId and can send right after hello", async () => {
    const router = createRouter().onOpen((ctx) => ctx.send(Note, { text: `welcome ${ctx.clientId}` }));
    const peer = await createTestServer(router).connect();
    expect(peer.frames).toMatchObject([
      { type: "$ws:hello" },
      { type: "NOTE", payload: { text: expect.stringMatching(/^welcome \w{8}-/) } },
    ]);
  });

  test("onOpen has a context with data and ws, and can assignData, subscribe and publish", async () => {
    const contexts: OpenContext[] = [];
    const router = createRouter().onOpen(async (ctx) => {
      contexts.push(ctx);
      ctx.assignData({});
      await ctx.subscribe("lobby");
      await ctx.publish("lobby", Note, { text: "someone came" });
    });
    const peer = await createTestServer(router).connect();
    expect(contexts[0]?.ws.data).toBe(contexts[0]?.data);
    expect(contexts[0]?.data.clientId).toBe(contexts[0]?.clientId);
    expect(peer.received(Note)).toEqual([{ text: "someone came" }]);
  });

  test("onClose has a context with clientId and the peer's close code", async () => {
    const contexts: CloseContext[] = [];
    const peer = await createTestServer(createRouter().onClose((ctx) => contexts.push(ctx))).connect();
    await peer.disconnect(4242, "leaving");
    expect(contexts).toHaveLength(1);
    expect(contexts[0]?.clientId).toBe(contexts[0]?.ws.clientId);
    expect([contexts[0]?.code, contexts[0]?.reason]).toEqual([4242, "leaving"]);
    expect(contexts[0]?.data.clientId).toBe(contexts[0]?.clientId);
  });

  test("onClose receives the code that the server chose when the server closes", async () => {
    const codes: number[] = [];
    const router = createRouter()
      .onClose((ctx) => codes.push(ctx.code))
      .on(Note, (ctx) => ctx.ws.close(4321, "enough"));
    const peer = await createTestServer(router).connect();
    await peer.send(Note, { text: "close me" });
    expect(peer.closedWith).toEqual({ code: 4321, reason: "enough" });
    expect(codes).toEqual([4321]);
  });

  test("onAuth receives the context of the message and returns a boolean", async () => {
    const router = createRouter()
      .onAuth((ctx) => ctx.type === "NOTE" && (ctx.payload as { text: string }).text === "let me in")
      .on(Note, (ctx) => ctx.send(Note, { text: "in" }));
    const server = createTestServer(router);
    const [friend, stranger] = [await server.connect(), await server.connect()];
    await friend.send(Note, { text: "let me in" });
    await stranger.send(Note, { text: "hello" });
    expect(friend.received(Note)).toEqual([{ text: "in" }]);
    expect(stranger.closedWith?.code).toBe(4401);
  });

  test("onError receives a WsError and the context of the message", async () => {
    const seen: unknown[] = [];
    const router = createRouter()
      .onError(
        (error, ctx) =>
          void seen.push([error.name, error.message, ctx.type, ctx.data?.clientId === ctx.clientId]),
      )
      .on(Note, () => {
        throw new Error("boom");
      });
    const peer = await createTestServer(router).connect();
    await peer.send(Note, { text: "hi" });
    expect(seen).toEqual([["WsError", "boom", "NOTE", true]]);
  });

  test("onLimitExceeded receives a rate limit", async () => {
    const seen: unknown[] = [];
    const limiter = memoryRateLimiter({ capacity: 1, tokensPerSecond: 0.001 });
    const router = createRouter()
      .onLimitExceeded((info) => seen.push(info.type))
      .use(rateLimit({ limiter }))
      .on(Note, () => undefined);
    const peer = await createTestServer(router).connect();
    await peer.send(Note, { text: "one" });
    await peer.send(Note, { text: "two" });
    expect(seen).toEqual(["rate"]);
  });

  test("a publish is delivered, typed, to all subscribers of the topic and to no other connection", async () => {
    const router = createRouter().on(Note, (ctx) => ctx.subscribe(ctx.payload.text));
    const server = createTestServer(router, { epoch: 9 });
    const [one, two, other] = [await server.connect(), await server.connect(), await server.connect()];
    await one.send(Note, { text: "a" });
    await two.send(Note, { text: "a" });
    await other.send(Note, { text: "b" });
    await router.publish("a", Note, { text: "news" });
    expect(one.frames.at(-1)).toMatchObject({
      type: "NOTE",
      meta: { timestamp: expect.any(Number) },
      payload: { text: "news" },
    });
    expect([one, two, other].map((peer) => peer.received(Note).length)).toEqual([1, 1, 0]);
  });

  test("onStaleConnection receives clientId and ws", async () => {
    const seen: [string, string][] = [];
    const heartbeat = {
      intervalMs: 1_000,
      timeoutMs: 500,
      onStaleConnection: (clientId: string, ws: { clientId: string }) => seen.push([clientId, ws.clientId]),
    };
    const server = createTestServer(createRouter({ heartbeat }));
    await server.connect();
    await server.clock.advance(3_000);
    expect(seen).toHaveLength(1);
    expect(seen[0]?.[0]).toBe(seen[0]?.[1]);
  });

  test("ctx.progress sends the $ws:rpc-progress control message", async () => {
    const router = createRouter().rpc(Call, (ctx) => {
      ctx.progress({ done: 1, of: 2 });
      ctx.reply(Call.response);
    });
    const peer = await createTestServer(router).connect();
    await peer.send(Call, undefined, { correlationId: "1" });
    expect(framesOf(peer, "$ws:rpc-progress")).toMatchObject([
      { meta: { correlationId: "1" }, payload: { done: 1, of: 2 } },
    ]);
  });

  test("the $ws:abort control message cancels only the request with its correlationId", async () => {
    const peer = await createTestServer(createRouter().rpc(Call, unsettled)).connect();
    await peer.send(Call, undefined, { correlationId: "1" });
    await peer.send(Call, undefined, { correlationId: "2" });
    await sendFrame(peer, { type: "$ws:abort", meta: { correlationId: "1" } });
    expect(outcomeOf(peer, "1")).toBe("CANCELLED");
    await sendFrame(peer, { type: "$ws:abort", meta: { correlationId: "2" } });
    expect(outcomeOf(peer, "2")).toBe("CANCELLED");
  });
});
