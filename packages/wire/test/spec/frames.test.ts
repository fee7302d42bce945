import { describe, expect, test } from "vitest";
import { createTestServer } from "../../src/testing/index.ts";
import { errorsOf, framesOf, outcomeOf, sendFrame } from "./frames.ts";
import { libraries } from "./libraries.ts";

describe.each(libraries)("protocol: Frames ($name)", ({ createRouter, message, rpc, string }) => {
  const Note = message("NOTE", { text: string() });
  const Bare = message("BARE");

  /** A peer of a router with two event handlers, and the messages that they handled. */
  async function listening() {
    const handled: { type: string; meta: object }[] = [];
    const router = createRouter()
      .on(Note, (ctx) => handled.push(ctx))
      .on(Bare, (ctx) => handled.push(ctx));
    const server = createTestServer(router);
    return { server, peer: await server.connect(), handled };
  }

  test("a frame is UTF-8 JSON text, and a missing meta counts as {}", async () => {
    const { peer, handled } = await listening();
    await peer.sendRaw('{"type":"NOTE","payload":{"text":"häßlich ✓ 😀"}}');
    expect(handled).toMatchObject([{ type: "NOTE", payload: { text: "häßlich ✓ 😀" } }]);
    expect(Object.keys(handled[0]?.meta ?? {}).sort()).toEqual(["clientId", "receivedAt"]);
  });

  test("the server removes meta keys that start with $ before validation", async () => {
    const { peer, handled } = await listening();
    await sendFrame(peer, { type: "BARE", meta: { $t: "x", $: 1, $future: {} } });
    expect(Object.keys(handled[0]?.meta ?? {}).sort()).toEqual(["clientId", "receivedAt"]);
    expect(errorsOf(peer)).toEqual([]);
  });

  test.each([
    "",
    "not json",
    "{",
    "null",
    "[]",
    "42",
    '"NOTE"',
    "{}",
    '{"meta":{}}',
    '{"type":5,"meta":{}}',
    '{"type":"","meta":{}}',
    '{"type":null}',
    '{"type":"BARE","meta":null}',
    '{"type":"BARE","meta":[]}',
    '{"type":"BARE","meta":"x"}',
    '{"type":"BARE","meta":{},"extra":1}',
    '{"type":"BARE","meta":{},"__proto__":{}}',
  ])(
    "the frame %j is refused with INVALID_ARGUMENT without correlationId, and the connection stays open",
    async (text) => {
      const { server, peer, handled } = await listening();
      await peer.sendRaw(text);
      expect(framesOf(peer, "$ws:error")).toMatchObject([
        { meta: { timestamp: server.clock.wall() }, payload: { code: "INVALID_ARGUMENT" } },
      ]);
      expect(framesOf(peer, "$ws:error")[0]?.meta).not.toHaveProperty("correlationId");
      await peer.send(Bare);
      expect(handled.map(({ type }) => type)).toEqual(["BARE"]);
      expect(peer.closedWith).toBeUndefined();
    },
  );

  test("binary frames are refused with INVALID_ARGUMENT", async () => {
    const { peer, handled } = await listening();
    await peer.sendRaw(new TextEncoder().encode('{"type":"BARE"}'));
    expect(errorsOf(peer)).toMatchObject([{ code: "INVALID_ARGUMENT" }]);
    expect(handled).toEqual([]);
  });

  test.each([
    ["an empty correlationId", { correlationId: "" }],
    ["a correlationId of 129 characters", { correlationId: "x".repeat(129) }],
    ["a correlationId that is a number", { correlationId: 5 }],
    ["a correlationId that is null", { correlationId: null }],
    ["a timeoutMs that is a string", { timeoutMs: "50" }],
    ["a timeoutMs that is null", { timeoutMs: null }],
    ["a timestamp that is a string", { timestamp: "now" }],
    ["a timestamp that is null", { timestamp: null }],
  ])("%s is refused", async (_what, meta) => {
    const { peer, handled } = await listening();
    await sendFrame(peer, { type: "BARE", meta });
    expect(errorsOf(peer)).toMatchObject([{ code: "INVALID_ARGUMENT" }]);
    expect(handled).toEqual([]);
  });

  test("a timeoutMs or timestamp that is not finite is refused", async () => {
    const { peer, handled } = await listening();
    await peer.sendRaw('{"type":"BARE","meta":{"timeoutMs":1e999}}');
    await peer.sendRaw('{"type":"BARE","meta":{"timestamp":-1e999}}');
    expect(errorsOf(peer)).toHaveLength(2);
    expect(handled).toEqual([]);
  });

  test("a correlationId of 1 to 128 characters is accepted", async () => {
    const { peer, handled } = await listening();
    for (const correlationId of ["x", "x".repeat(128)])
      await sendFrame(peer, { type: "BARE", meta: { correlationId } });
    expect(handled).toHaveLength(2);
  });

  test.each([
    ...["$ws:hello", "$ws:error", "$ws:rpc-progress", "$ws:pong", "$ws:sync", "$ws:subscribed"],
    ...["$ws:gap", "$ws:drain", "$ws:unknown", "$ws:"],
  ])("%s from a client is refused with INVALID_ARGUMENT", async (type) => {
    const { peer } = await listening();
    await sendFrame(peer, { type, meta: {}, payload: {} });
    expect(errorsOf(peer)).toMatchObject([{ code: "INVALID_ARGUMENT" }]);
  });

  test("the server answers $ws:ping with $ws:pong, to plain peers too", async () => {
    const server = createTestServer(createRouter());
    for (const greets of [true, false]) {
      const peer = await server.connect({ greets });
      await sendFrame(peer, { type: "$ws:ping", meta: {} });
      expect(framesOf(peer, "$ws:pong")).toHaveLength(1);
    }
  });

  test("plain peers receive errors, pongs and progress, and no other control frame", async () => {
    const Call = rpc("CALL", undefined, "CALLED", undefined);
    const router = createRouter({ socketBufferLimitBytes: 300 })
      .onOpen((ctx) => ctx.subscribe("t"))
      .rpc(Call, async (ctx) => {
        ctx.progress();
        await ctx.send(Note, { text: "hi" }, { waitFor: "ack" });
        ctx.reply(Call.response);
      });
    const peer = await createTestServer(router).connect({ greets: false });
    await peer.send(Call);
    await sendFrame(peer, { type: "UNKNOWN", meta: {} });
    await sendFrame(peer, { type: "$ws:ping", meta: {} });
    peer.pause();
    for (const text of ["x".repeat(300), "shed"]) await router.publish("t", Note, { text });
    await peer.resume();
    expect(peer.frames.map((frame) => frame.type)).toEqual([
      "$ws:rpc-progress",
      "NOTE",
      "CALLED",
      "$ws:error",
      "$ws:pong",
      "NOTE",
    ]);
  });

  describe("a message with a correlationId", () => {
    test("of an unknown type is refused with UNIMPLEMENTED and that correlationId", async () => {
      const { peer } = await listening();
      await sendFrame(peer, { type: "UNKNOWN", meta: { correlationId: "1" } });
      expect(outcomeOf(peer, "1")).toBe("UNIMPLEMENTED");
    });

    test("of an unknown type gets that type back escaped and cut to 64 characters", async () => {
      const { peer } = await listening();
      const type = `A"B\nC${"x".repeat(100)}`;
      await sendFrame(peer, { type, meta: { correlationId: "1" } });
      await sendFrame(peer, { type: `$ws:${type}`, meta: { correlationId: "2" } });
      const cut = (text: string) => JSON.stringify(text.slice(0, 64));
      expect(errorsOf(peer)).toMatchObject([
        { message: expect.stringContaining(`message type ${cut(type)}.`) },
        { message: expect.stringContaining(`control type ${cut(`$ws:${type}`)}.`) },
      ]);
    });

    test("is not required: an unknown type without one is refused too, without correlationId", async () => {
      const { peer } = await listening();
      await sendFrame(peer, { type: "constructor", meta: {} });
      expect(errorsOf(peer)).toMatchObject([{ code: "UNIMPLEMENTED" }]);
      expect(framesOf(peer, "$ws:error")[0]?.meta).not.toHaveProperty("correlationId");
    });

    test("causes only errors with that correlationId in an on handler", async () => {
      const router = createRouter()
        .onError(() => undefined)
        .on(Note, (ctx) => {
          ctx.error("NOT_FOUND");
          throw new Error("boom");
        });
      const peer = await createTestServer(router).connect();
      await peer.send(Note, { text: "hi" }, { correlationId: "1" });
      await sendFrame(peer, { type: "NOTE", meta: { correlationId: "2" }, payload: {} });
      expect(framesOf(peer, "$ws:error").map((frame) => frame.meta["correlationId"])).toEqual([
        "1",
        "1",
        "2",
      ]);
    });

    test("is answered by an on handler with send and inheritCorrelationId", async () => {
      const router = createRouter().on(Bare, (ctx) =>
        ctx.send(Note, { text: "answer" }, { inheritCorrelationId: true }),
      );
      const peer = await createTestServer(router).connect();
      await peer.send(Bare, undefined, { correlationId: "1" });
      expect(outcomeOf(peer, "1")).toBe("NOTE");
    });
  });
});
