import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { MemoryPubSub, type StandardSchema, WsError } from "../../src/index.ts";
import { createTestServer } from "../../src/testing/index.ts";
import { answersTo, errorsOf, framesOf, outcomeOf, sendFrame, unsettled } from "./frames.ts";
import { libraries } from "./libraries.ts";

// Errors without an onError hook go to the console, and these tests throw on purpose.
beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

describe.each(libraries)("guide/router: Options ($name)", ({ name, createRouter, message, rpc, string }) => {
  const Note = message("NOTE", { text: string() });
  const Call = rpc("CALL", undefined, "CALLED", undefined);

  test("createRouter() validates with the schema's own validation by default", async () => {
    const peer = await createTestServer(createRouter().on(Note, () => undefined)).connect();
    await sendFrame(peer, { type: "NOTE", meta: {}, payload: { text: 1 } });
    expect(errorsOf(peer)).toMatchObject([{ code: "INVALID_ARGUMENT" }]);
  });

  test("a validator replaces the schema's own validation for inbound and outbound messages", async () => {
    const checked: [StandardSchema, unknown][] = [];
    const validator = (schema: StandardSchema, value: unknown) => {
      checked.push([schema, value]);
      return { value: { text: `checked ${(value as { text: string }).text}` } };
    };
    const router = createRouter({ validator }).on(Note, (ctx) => ctx.send(Note, { text: ctx.payload.text }));
    const peer = await createTestServer(router).connect();
    await peer.send(Note, { text: "hi" });
    expect(peer.received(Note)).toEqual([{ text: "checked hi" }]);
    expect(checked).toEqual([
      [Note.payload, { text: "hi" }],
      [Note.payload, { text: "checked hi" }],
    ]);
  });

  test("the router uses the platform's pub/sub unless the pubsub option is given", async () => {
    const native = new MemoryPubSub();
    const given = new MemoryPubSub();
    const publishedNative = vi.spyOn(native, "publish");
    const publishedGiven = vi.spyOn(given, "publish");
    await createRouter({ platform: { pubsub: native } }).publish("t", Note, { text: "a" });
    await createRouter({ platform: { pubsub: native }, pubsub: given }).publish("t", Note, { text: "b" });
    expect([publishedNative.mock.calls.length, publishedGiven.mock.calls.length]).toEqual([1, 1]);
  });

  test("a router without the platform option serves requests", async () => {
    const peer = await createTestServer(
      createRouter({}).rpc(Call, (ctx) => ctx.reply(Call.response)),
    ).connect();
    expect(await peer.request(Call)).toBeUndefined();
  });

  test("a router without the pubsub option delivers topics within the process", async () => {
    const router = createRouter().onOpen((ctx) => ctx.subscribe("t"));
    const peer = await createTestServer(router).connect();
    expect(await router.publish("t", Note, { text: "hi" })).toEqual({ ok: true, matchedLocal: 1 });
    expect(peer.received(Note)).toEqual([{ text: "hi" }]);
  });

  test("the hooks option accepts onOpen, onClose, onAuth and onError, all optional", async () => {
    const log: string[] = [];
    const router = createRouter({
      hooks: {
        onOpen: () => log.push("open"),
        onClose: () => log.push("close"),
        onAuth: () => log.push("auth") > 0,
        onError: (error) => void log.push(error.code),
      },
    }).on(Note, () => {
      throw new WsError("NOT_FOUND");
    });
    const peer = await createTestServer(router).connect();
    await peer.send(Note, { text: "hi" });
    await peer.disconnect();
    expect(log).toEqual(["open", "auth", "NOT_FOUND", "close"]);
  });

  test("hooks given as options run before hooks added by method, each group in order", async () => {
    const log: string[] = [];
    const router = createRouter({ hooks: { onOpen: () => log.push("option") } })
      .onOpen(() => log.push("first"))
      .onOpen(() => log.push("second"));
    await createTestServer(router).connect();
    expect(log).toEqual(["option", "first", "second"]);
  });

  test("the router drops publishes to a connection with more than 1,000,000 unsent bytes by default", async () => {
    const router = createRouter()
      .onOpen((ctx) => ctx.subscribe("t"))
      .on(Note, (ctx) => {
        const overhead = JSON.stringify({
          type: "NOTE",
          meta: { timestamp: ctx.receivedAt },
          payload: { text: "" },
        }).length;
        ctx.send(Note, { text: "x".repeat(1_000_000 - overhead) });
        expect(ctx.ws.bufferedBytes).toBe(1_000_000);
      });
    const peer = await createTestServer(router).connect();
    peer.pause();
    await peer.send(Note, { text: "fill" });
    expect(errorsOf(peer)).toEqual([]);
    expect(await router.publish("t", Note, { text: "at the limit" })).toMatchObject({ matchedLocal: 1 });
    expect(await router.publish("t", Note, { text: "above it" })).toMatchObject({ matchedLocal: 0 });
  });

  test("socketBufferLimitBytes sets that limit", async () => {
    const router = createRouter({ socketBufferLimitBytes: 200 }).onOpen((ctx) => ctx.subscribe("t"));
    const peer = await createTestServer(router).connect();
    peer.pause();
    expect(await router.publish("t", Note, { text: "x".repeat(200) })).toMatchObject({ matchedLocal: 1 });
    expect(await router.publish("t", Note, { text: "x" })).toMatchObject({ matchedLocal: 0 });
  });

  test("a request without timeoutMs ends with DEADLINE_EXCEEDED after exactly 30,000 ms", async () => {
    const server = createTestServer(createRouter().rpc(Call, unsettled));
    const peer = await server.connect();
    await peer.send(Call, undefined, { correlationId: "1" });
    await server.clock.advance(29_999);
    expect(answersTo(peer, "1")).toEqual([]);
    await server.clock.advance(1);
    expect(outcomeOf(peer, "1")).toBe("DEADLINE_EXCEEDED");
  });

  test("rpcTimeoutMs sets that deadline, and may exceed the largest timeoutMs that a caller may request", async () => {
    const short = createTestServer(createRouter({ rpcTimeoutMs: 160 }).rpc(Call, unsettled));
    const hurried = await short.connect();
    await hurried.send(Call, undefined, { correlationId: "1" });
    await short.clock.advance(160);
    expect(outcomeOf(hurried, "1")).toBe("DEADLINE_EXCEEDED");
    const long = createTestServer(createRouter({ rpcTimeoutMs: 400_000 }).rpc(Call, unsettled));
    const patient = await long.connect();
    await patient.send(Call, undefined, { correlationId: "1" });
    await long.clock.advance(399_999);
    expect(answersTo(patient, "1")).toEqual([]);
    await long.clock.advance(1);
    expect(outcomeOf(patient, "1")).toBe("DEADLINE_EXCEEDED");
  });

  /** A connection that has stopped reading, with a request that reports progress into the full buffer. */
  async function progressUnderPressure(options: { dropProgressOnBackpressure?: boolean }) {
    const dropped: boolean[] = [];
    const router = createRouter({ ...options, socketBufferLimitBytes: 500 }).rpc(Call, (ctx) => {
      ctx.send(Note, { text: "x".repeat(500) });
      dropped.push(!ctx.progress("under pressure"));
      ctx.reply(Call.response);
    });
    const peer = await createTestServer(router).connect();
    peer.pause();
    await peer.send(Call, undefined, { correlationId: "1" });
    return { peer, dropped };
  }

  test("progress is dropped on backpressure by default, and the reply is kept", async () => {
    const { peer, dropped } = await progressUnderPressure({});
    expect(dropped).toEqual([true]);
    expect(framesOf(peer, "$ws:rpc-progress")).toEqual([]);
    expect(outcomeOf(peer, "1")).toBe("CALLED");
  });

  test("progress is kept on backpressure when dropProgressOnBackpressure is false", async () => {
    const { peer, dropped } = await progressUnderPressure({ dropProgressOnBackpressure: false });
    expect(dropped).toEqual([false]);
    expect(framesOf(peer, "$ws:rpc-progress")).toHaveLength(1);
  });

  test("one connection may have 1,000 requests in flight, and the next one ends with RESOURCE_EXHAUSTED", async () => {
    const server = createTestServer(createRouter().rpc(Call, unsettled));
    const peer = await server.connect();
    for (let n = 1; n <= 1_000; n++) await peer.send(Call, undefined, { correlationId: `${n}` });
    expect(errorsOf(peer)).toEqual([]);
    await peer.send(Call, undefined, { correlationId: "1001" });
    expect(outcomeOf(peer, "1001")).toBe("RESOURCE_EXHAUSTED");
    const other = await server.connect();
    await other.send(Call, undefined, { correlationId: "1" });
    expect(errorsOf(other)).toEqual([]);
  });

  test("maxInflightRpcsPerSocket sets that limit, and a finished request no longer counts", async () => {
    const server = createTestServer(createRouter({ maxInflightRpcsPerSocket: 1 }).rpc(Call, unsettled));
    const peer = await server.connect();
    await peer.send(Call, undefined, { correlationId: "1", timeoutMs: 1_000 });
    await peer.send(Call, undefined, { correlationId: "2" });
    expect(outcomeOf(peer, "2")).toBe("RESOURCE_EXHAUSTED");
    await server.clock.advance(1_100);
    await peer.send(Call, undefined, { correlationId: "3" });
    expect(answersTo(peer, "3")).toEqual([]);
  });

  test("a request without progress ends with INTERNAL 10,000 ms after rpcTimeoutMs when its deadline is later", async () => {
    const server = createTestServer(createRouter().rpc(Call, unsettled));
    const peer = await server.connect();
    await peer.send(Call, undefined, { correlationId: "1", timeoutMs: 300_000 });
    await server.clock.advance(39_999);
    expect(answersTo(peer, "1")).toEqual([]);
    await server.clock.advance(1);
    expect(outcomeOf(peer, "1")).toBe("INTERNAL");
  });

  test("the default of rpcIdleTimeoutMs is rpcTimeoutMs plus 10,000 ms", async () => {
    const server = createTestServer(createRouter({ rpcTimeoutMs: 6_000 }).rpc(Call, unsettled));
    const peer = await server.connect();
    await peer.send(Call, undefined, { correlationId: "1", timeoutMs: 300_000 });
    await server.clock.advance(15_999);
    expect(answersTo(peer, "1")).toEqual([]);
    await server.clock.advance(1);
    expect(outcomeOf(peer, "1")).toBe("INTERNAL");
  });

  test("rpcIdleTimeoutMs can be set, and every progress restarts it", async () => {
    const server = createTestServer(
      createRouter({ rpcIdleTimeoutMs: 1_600 }).rpc(Call, (ctx) => {
        server.clock.setTimeout(() => ctx.progress(), 1_600 - 16);
        return unsettled();
      }),
    );
    const peer = await server.connect();
    await peer.send(Call, undefined, { correlationId: "1" });
    await server.clock.advance(3_100);
    expect(answersTo(peer, "1")).toEqual([]);
    await server.clock.advance(100);
    expect(outcomeOf(peer, "1")).toBe("INTERNAL");
  });

  test("a request whose handler throws receives an error unless autoSendErrorOnThrow is false", async () => {
    const failing = () => {
      throw new Error("boom");
    };
    const loud = await createTestServer(createRouter().rpc(Call, failing)).connect();
    await loud.send(Call, undefined, { correlationId: "1" });
    expect(outcomeOf(loud, "1")).toBe("INTERNAL");
    const server = createTestServer(createRouter({ autoSendErrorOnThrow: false }).rpc(Call, failing));
    const quiet = await server.connect();
    await quiet.send(Call, undefined, { correlationId: "1" });
    await server.clock.advance(60_000);
    expect(answersTo(quiet, "1")).toEqual([]);
  });

  test("the details of thrown errors are hidden by default and sent with exposeErrorDetails", async () => {
    const failing = () => {
      throw new WsError("NOT_FOUND", "no room", { room: 7 });
    };
    const hidden = await createTestServer(createRouter().rpc(Call, failing)).connect();
    const shown = await createTestServer(
      createRouter({ exposeErrorDetails: true }).rpc(Call, failing),
    ).connect();
    for (const peer of [hidden, shown]) await peer.send(Call);
    expect(errorsOf(hidden)).toEqual([{ code: "NOT_FOUND", message: "no room" }]);
    expect(errorsOf(shown)).toEqual([{ code: "NOT_FOUND", message: "no room", details: { room: 7 } }]);
  });

  /** The warnings about a handler that settles without an answer. The router warns once per type. */
  async function warningsOf(type: string, options: { warnIncompleteRpc?: boolean }): Promise<string[]> {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const Forgotten = rpc(`${name}_${type}`, undefined, "NEVER", undefined);
    const peer = await createTestServer(createRouter(options).rpc(Forgotten, () => undefined)).connect();
    await peer.send(Forgotten);
    return warn.mock.calls.map(([text]) => String(text));
  }

  test("the router warns in development about a handler that settles without an answer", async () => {
    vi.stubEnv("NODE_ENV", "development");
    expect(await warningsOf("DEVELOPMENT", {})).toEqual([
      expect.stringContaining(`The handler of ${name}_DEVELOPMENT finished without a response`),
    ]);
  });

  test("the router does not warn in production, or when warnIncompleteRpc is false", async () => {
    vi.stubEnv("NODE_ENV", "production");
    expect(await warningsOf("PRODUCTION", { warnIncompleteRpc: true })).toEqual([]);
    vi.stubEnv("NODE_ENV", "development");
    expect(await warningsOf("OFF", { warnIncompleteRpc: false })).toEqual([]);
  });

  test.each([
    ["rpcTimeoutMs", { rpcTimeoutMs: 0 }],
    ["rpcIdleTimeoutMs", { rpcIdleTimeoutMs: -1 }],
    ["maxInflightRpcsPerSocket", { maxInflightRpcsPerSocket: Number.NaN }],
    ["socketBufferLimitBytes", { socketBufferLimitBytes: 0 }],
    ["limits.maxPayloadBytes", { limits: { maxPayloadBytes: -5 } }],
    ["heartbeat.intervalMs", { heartbeat: { intervalMs: 0 } }],
    ["heartbeat.timeoutMs", { heartbeat: { timeoutMs: 0 } }],
  ])("an invalid %s throws when the router is created", (option, options) => {
    expect(() => createRouter(options)).toThrow(option);
  });
});
