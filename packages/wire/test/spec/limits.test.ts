import { describe, expect, test, vi } from "vitest";
import type { LimitExceededInfo } from "../../src/index.ts";
import { memoryRateLimiter } from "../../src/memory.ts";
import { rateLimit } from "../../src/middleware/index.ts";
import { createTestServer } from "../../src/testing/index.ts";
import { answersTo, errorsOf, framesOf, outcomeOf } from "./frames.ts";
import { libraries } from "./libraries.ts";
import { start } from "./network.ts";

/** A NOTE frame of exactly this many bytes. */
function noteOf(bytes: number): string {
  const shell = (text: string) =>
    JSON.stringify({ type: "NOTE", meta: { correlationId: "1" }, payload: { text } });
  return shell("x".repeat(bytes - shell("").length));
}

describe.each(libraries)("guide/limits: All limits ($name)", ({ createRouter, message, rpc, string }) => {
  const Note = message("NOTE", { text: string() });
  const Call = rpc("CALL", undefined, "CALLED", undefined);

  test.each([
    ["1,000,000 by default", {}, 1_000_000],
    ["as configured", { limits: { maxPayloadBytes: 2_000 } }, 2_000],
  ])(
    "maxPayloadBytes is %s, and a frame with one byte more closes the connection with 1009",
    async (_how, options, limit) => {
      const infos: LimitExceededInfo[] = [];
      const closed: number[] = [];
      const sizes: number[] = [];
      const router = createRouter(options)
        .on(Note, (ctx) => sizes.push(ctx.payload.text.length))
        .onLimitExceeded((info) => infos.push(info))
        .onClose((ctx) => closed.push(ctx.code));
      const { connect } = await start(router);
      const peer = await connect();
      expect((await peer.frame("$ws:hello")).payload).toMatchObject({ maxPayloadBytes: limit });
      peer.socket.send(noteOf(limit));
      await peer.caughtUp();
      expect(sizes).toHaveLength(1);
      peer.socket.send(noteOf(limit + 1));
      expect((await peer.closed).code).toBe(1009);
      await vi.waitFor(() => expect(closed).toEqual([1009]), 10_000);
      expect(sizes).toHaveLength(1);
      expect(infos).toEqual([
        { type: "payload", clientId: expect.any(String), ws: expect.anything(), observed: limit + 1, limit },
      ]);
    },
  );

  test("maxPayloadBytes counts bytes, not characters, and adds up fragments", async () => {
    const { connect } = await start(createRouter({ limits: { maxPayloadBytes: 2_000 } }));
    const wide = await connect();
    wide.send({ type: "NOTE", payload: { text: "é".repeat(1_200) } });
    expect((await wide.closed).code).toBe(1009);
    const fragmented = await connect();
    fragmented.socket.send("x".repeat(1_500), { fin: false });
    fragmented.socket.send("x".repeat(1_500), { fin: true });
    expect((await fragmented.closed).code).toBe(1009);
  });

  test("publishes above socketBufferLimitBytes are dropped and announced by one $ws:gap, and other subscribers miss nothing", async () => {
    const router = createRouter({ socketBufferLimitBytes: 1_000 }).onOpen((ctx) => ctx.subscribe("t"));
    const server = createTestServer(router);
    const [slow, quick, plain] = [
      await server.connect(),
      await server.connect(),
      await server.connect({ greets: false }),
    ];
    slow.pause();
    plain.pause();
    for (const text of ["x".repeat(1_000), "missed", "missed too"]) await router.publish("t", Note, { text });
    await slow.resume();
    await plain.resume();
    expect(slow.frames.at(-1)).toMatchObject({ type: "$ws:gap", payload: { reason: "shed" } });
    await router.publish("t", Note, { text: "after a gap" });
    const texts = (peer: typeof slow) => peer.received(Note).map(({ text }) => text.slice(0, 11));
    expect(texts(slow)).toEqual(["x".repeat(11), "after a gap"]);
    expect(texts(quick)).toEqual(["x".repeat(11), "missed", "missed too", "after a gap"]);
    expect(framesOf(slow, "$ws:gap")).toHaveLength(1);
    expect([...framesOf(quick, "$ws:gap"), ...framesOf(plain, "$ws:gap")]).toEqual([]);
  });

  test("replies, errors and ctx.send are kept above the limit, and at twice the limit the server closes the connection with 1013", async () => {
    const closed: number[] = [];
    const router = createRouter({ socketBufferLimitBytes: 1_000 })
      .onClose((ctx) => closed.push(ctx.code))
      .on(Note, (ctx) => ctx.send(Note, { text: ctx.payload.text }))
      .rpc(Call, (ctx) => ctx.reply(Call.response));
    const peer = await createTestServer(router).connect();
    peer.pause();
    await peer.send(Note, { text: "x".repeat(1_100) });
    await peer.send(Call, undefined, { correlationId: "reply" });
    await peer.sendRaw('{"type":"UNKNOWN","meta":{"correlationId":"error"}}');
    expect([outcomeOf(peer, "reply"), outcomeOf(peer, "error")]).toEqual(["CALLED", "UNIMPLEMENTED"]);
    expect(closed).toEqual([]);
    await peer.send(Note, { text: "x".repeat(1_000) });
    expect(peer.closedWith?.code).toBe(1013);
    expect(closed).toEqual([1013]);
  });

  test("rpcTimeoutMs, rpcIdleTimeoutMs and maxInflightRpcsPerSocket apply together", async () => {
    const server = createTestServer(createRouter().rpc(Call, () => new Promise(() => undefined)));
    const peer = await server.connect();
    await peer.send(Call, undefined, { correlationId: "default" });
    await peer.send(Call, undefined, { correlationId: "long", timeoutMs: 300_000 });
    for (let n = 3; n <= 1_001; n++)
      await peer.send(Call, undefined, { correlationId: `${n}`, timeoutMs: 300_000 });
    expect(outcomeOf(peer, "1001")).toBe("RESOURCE_EXHAUSTED");
    await server.clock.advance(30_000);
    expect(outcomeOf(peer, "default")).toBe("DEADLINE_EXCEEDED");
    expect(answersTo(peer, "long")).toEqual([]);
    await server.clock.advance(10_000);
    expect(outcomeOf(peer, "long")).toBe("INTERNAL");
  });
});

describe.each(libraries)(
  "guide/middleware: `rateLimit` ($name)",
  ({ createRouter, message, rpc, string }) => {
    const Note = message("NOTE", { text: string() });
    const Call = rpc("CALL", undefined, "CALLED", undefined);

    test("a rate limit refuses with RESOURCE_EXHAUSTED and retryAfterMs and calls onLimitExceeded", async () => {
      const infos: LimitExceededInfo[] = [];
      const limiter = memoryRateLimiter({ capacity: 1, tokensPerSecond: 0.01 });
      const router = createRouter()
        .onLimitExceeded((info) => infos.push(info))
        .use(rateLimit({ limiter }))
        .rpc(Call, (ctx) => ctx.reply(Call.response));
      const server = createTestServer(router);
      const [peer, other] = [await server.connect(), await server.connect()];
      await peer.send(Call, undefined, { correlationId: "1" });
      await peer.send(Call, undefined, { correlationId: "2" });
      expect([outcomeOf(peer, "1"), outcomeOf(peer, "2")]).toEqual(["CALLED", "RESOURCE_EXHAUSTED"]);
      expect(errorsOf(peer)[0]?.retryAfterMs).toBeGreaterThan(90_000);
      expect(infos).toMatchObject([{ type: "rate", observed: 1, limit: 1 }]);
      expect(infos[0]).toHaveProperty("retryAfterMs", errorsOf(peer)[0]?.retryAfterMs);
      await other.send(Call, undefined, { correlationId: "1" });
      expect(outcomeOf(other, "1")).toBe("CALLED");
    });

    test("a cost above the capacity is refused with retryable false and without retryAfterMs", async () => {
      const limiter = memoryRateLimiter({ capacity: 2, tokensPerSecond: 1 });
      const router = createRouter()
        .use(rateLimit({ limiter, cost: () => 3 }))
        .rpc(Call, (ctx) => ctx.reply(Call.response));
      const peer = await createTestServer(router).connect();
      await peer.send(Call);
      expect(errorsOf(peer)).toEqual([
        { code: "RESOURCE_EXHAUSTED", message: expect.any(String), retryable: false },
      ]);
    });

    test("a rate limit on one route does not affect other routes", async () => {
      const limiter = memoryRateLimiter({ capacity: 1, tokensPerSecond: 0.01 });
      const router = createRouter();
      router
        .route(Call)
        .use(rateLimit({ limiter }))
        .rpc((ctx) => ctx.reply(Call.response));
      const seen: string[] = [];
      router.on(Note, (ctx) => seen.push(ctx.payload.text));
      const peer = await createTestServer(router).connect();
      for (const correlationId of ["1", "2"]) await peer.send(Call, undefined, { correlationId });
      for (const text of ["a", "b", "c"]) await peer.send(Note, { text });
      expect([outcomeOf(peer, "1"), outcomeOf(peer, "2")]).toEqual(["CALLED", "RESOURCE_EXHAUSTED"]);
      expect(seen).toEqual(["a", "b", "c"]);
    });

    test.each([
      ["the client by default", undefined, ["CALLED", "RESOURCE_EXHAUSTED", "RESOURCE_EXHAUSTED", "CALLED"]],
      ["the user", "user", ["CALLED", "RESOURCE_EXHAUSTED", "RESOURCE_EXHAUSTED", "RESOURCE_EXHAUSTED"]],
      ["the type", "type", ["CALLED", "RESOURCE_EXHAUSTED", "OTHERED", "CALLED"]],
    ] as const)("each bucket belongs to %s", async (_what, key, expected) => {
      interface Data {
        readonly clientId: string;
        readonly userId: string;
      }
      const Other = rpc("OTHER", undefined, "OTHERED", undefined);
      const limiter = memoryRateLimiter({ capacity: 1, tokensPerSecond: 0.01 });
      const router = createRouter<Data>()
        .use(rateLimit(key === undefined ? { limiter } : { limiter, key }))
        .rpc(Call, (ctx) => ctx.reply(Call.response))
        .rpc(Other, (ctx) => ctx.reply(Other.response));
      const server = createTestServer(router);
      const data = { userId: "ada" };
      const [laptop, phone] = [await server.connect({ data }), await server.connect({ data })];
      await laptop.send(Call, undefined, { correlationId: "1" });
      await laptop.send(Call, undefined, { correlationId: "2" });
      await laptop.send(Other, undefined, { correlationId: "3" });
      await phone.send(Call, undefined, { correlationId: "4" });
      expect([
        outcomeOf(laptop, "1"),
        outcomeOf(laptop, "2"),
        outcomeOf(laptop, "3"),
        outcomeOf(phone, "4"),
      ]).toEqual(expected);
    });

    test("key and cost may be functions, and the limiter may be asynchronous", async () => {
      const consumed: [string, number][] = [];
      const limiter = {
        capacity: 10,
        consume: async (key: string, cost: number) => {
          consumed.push([key, cost]);
          return consumed.length === 1
            ? { allowed: true, remaining: 1, retryAfterMs: 0 }
            : { allowed: false, remaining: 0, retryAfterMs: 40 };
        },
      };
      const router = createRouter()
        .use(rateLimit({ limiter, key: (ctx) => `mine:${ctx.type}`, cost: (ctx) => ctx.type.length }))
        .rpc(Call, (ctx) => ctx.reply(Call.response));
      const peer = await createTestServer(router).connect();
      for (const correlationId of ["1", "2"]) await peer.send(Call, undefined, { correlationId });
      expect([outcomeOf(peer, "1"), outcomeOf(peer, "2")]).toEqual(["CALLED", "RESOURCE_EXHAUSTED"]);
      expect(errorsOf(peer)[0]?.retryAfterMs).toBe(40);
      expect(consumed).toEqual([
        ["mine:CALL", 4],
        ["mine:CALL", 4],
      ]);
    });
  },
);

describe.each(libraries)("guide/limits: No limit by default ($name)", ({ createRouter, message, number }) => {
  test("connections, messages of a connection and subscribers of a topic are not limited by default", async () => {
    const Tick = message("TICK", { n: number() });
    const handled: number[] = [];
    const router = createRouter()
      .onOpen((ctx) => ctx.subscribe("all"))
      .on(Tick, (ctx) => handled.push(ctx.payload.n));
    const server = createTestServer(router);
    const peers = await Promise.all(Array.from({ length: 1_500 }, () => server.connect()));
    expect(await router.publish("all", Tick, { n: 0 })).toEqual({ ok: true, matchedLocal: 1_500 });
    const [first] = peers;
    for (let n = 0; n < 5_000; n++) await first?.send(Tick, { n });
    expect(handled).toHaveLength(5_000);
    expect(peers.every((peer) => peer.closedWith === undefined && errorsOf(peer).length === 0)).toBe(true);
  });
});

describe("guide/middleware: `rateLimit`", () => {
  test("memoryRateLimiter has a token bucket per key, and consume returns allowed, remaining and retryAfterMs", () => {
    const limiter = memoryRateLimiter({ capacity: 3, tokensPerSecond: 0.001 });
    expect(limiter.capacity).toBe(3);
    expect(limiter.consume("k", 2)).toEqual({ allowed: true, remaining: 1, retryAfterMs: 0 });
    const refused = limiter.consume("k", 2);
    expect(refused).toMatchObject({ allowed: false, remaining: 1 });
    expect(refused.retryAfterMs).toBeGreaterThan(990_000);
    expect(limiter.consume("other", 3)).toMatchObject({ allowed: true, remaining: 0 });
    expect(limiter.consume("k", 1)).toMatchObject({ allowed: true, remaining: 0 });
  });

  test("memoryRateLimiter returns retryAfterMs null when the cost exceeds the capacity", () => {
    const limiter = memoryRateLimiter({ capacity: 3, tokensPerSecond: 1 });
    expect(limiter.consume("k", 4)).toEqual({ allowed: false, remaining: 3, retryAfterMs: null });
  });

  test("memoryRateLimiter refills a bucket over time up to its capacity", () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    try {
      const limiter = memoryRateLimiter({ capacity: 2, tokensPerSecond: 4 });
      limiter.consume("k", 2);
      expect(limiter.consume("k", 1)).toEqual({ allowed: false, remaining: 0, retryAfterMs: 250 });
      vi.advanceTimersByTime(250);
      expect(limiter.consume("k", 1)).toMatchObject({ allowed: true });
      vi.advanceTimersByTime(60_000);
      expect(limiter.consume("k", 0)).toMatchObject({ allowed: true, remaining: 2 });
    } finally {
      vi.useRealTimers();
    }
  });
});
