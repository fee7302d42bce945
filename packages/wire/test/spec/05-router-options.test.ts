import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { MemoryPubSub, type StandardSchema, WsError } from "../../src/index.ts";
import { createTestServer } from "../../src/testing/index.ts";
import { answersTo, errorsOf, framesOf, outcomeOf, sendFrame, unsettled } from "./frames.ts";
import { libraries } from "./libraries.ts";

// What nobody listens for goes to the console; these tests throw on purpose.
beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

describe.each(libraries)("router options, with $name", ({ name, createRouter, message, rpc, string }) => {
  const Note = message("NOTE", { text: string() });
  const Call = rpc("CALL", undefined, "CALLED", undefined);

  test("createRouter() configures the validator: the schema's own validation is used [Router options: validator]", async () => {
    const peer = await createTestServer(createRouter().on(Note, () => undefined)).connect();
    await sendFrame(peer, { type: "NOTE", meta: {}, payload: { text: 1 } });
    expect(errorsOf(peer)).toMatchObject([{ code: "INVALID_ARGUMENT" }]);
  });

  test("a validator replaces the call of the schema's own validation, in and out [Router options: validator]", async () => {
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

  test("a platform's own pub/sub is used, unless a pub/sub is given [Router options: platform]", async () => {
    const native = new MemoryPubSub();
    const given = new MemoryPubSub();
    const publishedNative = vi.spyOn(native, "publish");
    const publishedGiven = vi.spyOn(given, "publish");
    await createRouter({ platform: { pubsub: native } }).publish("t", Note, { text: "a" });
    await createRouter({ platform: { pubsub: native }, pubsub: given }).publish("t", Note, { text: "b" });
    expect([publishedNative.mock.calls.length, publishedGiven.mock.calls.length]).toEqual([1, 1]);
  });

  test("without a platform, a router serves all the same [Router options: platform]", async () => {
    const peer = await createTestServer(
      createRouter({}).rpc(Call, (ctx) => ctx.reply(Call.response)),
    ).connect();
    expect(await peer.request(Call)).toBeUndefined();
  });

  test("without a pub/sub, topics work within the process [Router options: pubsub]", async () => {
    const router = createRouter().onOpen((ctx) => ctx.subscribe("t"));
    const peer = await createTestServer(router).connect();
    expect(await router.publish("t", Note, { text: "hi" })).toEqual({ ok: true, matchedLocal: 1 });
    expect(peer.received(Note)).toEqual([{ text: "hi" }]);
  });

  test("hooks onOpen, onClose, onAuth and onError may be given as options; none is needed [Router options: hooks]", async () => {
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

  test("hooks given as options run before those added by method, and all run in order [Hooks and options]", async () => {
    const log: string[] = [];
    const router = createRouter({ hooks: { onOpen: () => log.push("option") } })
      .onOpen(() => log.push("first"))
      .onOpen(() => log.push("second"));
    await createTestServer(router).connect();
    expect(log).toEqual(["option", "first", "second"]);
  });

  test("socketBufferLimitBytes is 1,000,000: above it, publishes to that connection are shed [Router options: socketBufferLimitBytes]", async () => {
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

  test("socketBufferLimitBytes may be set [Router options: socketBufferLimitBytes]", async () => {
    const router = createRouter({ socketBufferLimitBytes: 200 }).onOpen((ctx) => ctx.subscribe("t"));
    const peer = await createTestServer(router).connect();
    peer.pause();
    expect(await router.publish("t", Note, { text: "x".repeat(200) })).toMatchObject({ matchedLocal: 1 });
    expect(await router.publish("t", Note, { text: "x" })).toMatchObject({ matchedLocal: 0 });
  });

  test("a call without timeoutMs is answered DEADLINE_EXCEEDED at 30,000 ms and not before [Router options: rpcTimeoutMs]", async () => {
    const server = createTestServer(createRouter().rpc(Call, unsettled));
    const peer = await server.connect();
    await peer.send(Call, undefined, { correlationId: "1" });
    await server.clock.advance(29_999);
    expect(answersTo(peer, "1")).toEqual([]);
    await server.clock.advance(1);
    expect(outcomeOf(peer, "1")).toBe("DEADLINE_EXCEEDED");
  });

  test("rpcTimeoutMs may be set, also beyond what a caller may ask for [Router options: rpcTimeoutMs]", async () => {
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

  /** A connection whose reader has stopped, with a call that reports progress into the full buffer. */
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

  test("progress is dropped on backpressure unless one says otherwise; the reply is kept [Router options: dropProgressOnBackpressure]", async () => {
    const { peer, dropped } = await progressUnderPressure({});
    expect(dropped).toEqual([true]);
    expect(framesOf(peer, "$ws:rpc-progress")).toEqual([]);
    expect(outcomeOf(peer, "1")).toBe("CALLED");
  });

  test("with dropProgressOnBackpressure false, progress is kept [Router options: dropProgressOnBackpressure]", async () => {
    const { peer, dropped } = await progressUnderPressure({ dropProgressOnBackpressure: false });
    expect(dropped).toEqual([false]);
    expect(framesOf(peer, "$ws:rpc-progress")).toHaveLength(1);
  });

  test("1,000 calls of one socket may be in flight; the next is RESOURCE_EXHAUSTED [Router options: maxInflightRpcsPerSocket]", async () => {
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

  test("maxInflightRpcsPerSocket may be set; an answered call frees its place [Router options: maxInflightRpcsPerSocket]", async () => {
    const server = createTestServer(createRouter({ maxInflightRpcsPerSocket: 1 }).rpc(Call, unsettled));
    const peer = await server.connect();
    await peer.send(Call, undefined, { correlationId: "1", timeoutMs: 1_000 });
    await peer.send(Call, undefined, { correlationId: "2" });
    expect(outcomeOf(peer, "2")).toBe("RESOURCE_EXHAUSTED");
    await server.clock.advance(1_100);
    await peer.send(Call, undefined, { correlationId: "3" });
    expect(answersTo(peer, "3")).toEqual([]);
  });

  test("a call without progress ends with INTERNAL 10,000 ms after rpcTimeoutMs, where its deadline is later [Router options: rpcIdleTimeoutMs]", async () => {
    const server = createTestServer(createRouter().rpc(Call, unsettled));
    const peer = await server.connect();
    await peer.send(Call, undefined, { correlationId: "1", timeoutMs: 300_000 });
    await server.clock.advance(39_999);
    expect(answersTo(peer, "1")).toEqual([]);
    await server.clock.advance(1);
    expect(outcomeOf(peer, "1")).toBe("INTERNAL");
  });

  test("the default of rpcIdleTimeoutMs follows rpcTimeoutMs [Router options: rpcIdleTimeoutMs]", async () => {
    const server = createTestServer(createRouter({ rpcTimeoutMs: 6_000 }).rpc(Call, unsettled));
    const peer = await server.connect();
    await peer.send(Call, undefined, { correlationId: "1", timeoutMs: 300_000 });
    await server.clock.advance(15_999);
    expect(answersTo(peer, "1")).toEqual([]);
    await server.clock.advance(1);
    expect(outcomeOf(peer, "1")).toBe("INTERNAL");
  });

  test("rpcIdleTimeoutMs may be set, and each progress starts it anew [Router options: rpcIdleTimeoutMs]", async () => {
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

  test("a handler that throws is answered with an error, unless autoSendErrorOnThrow is false [Router options: autoSendErrorOnThrow]", async () => {
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

  test("details of thrown errors are hidden by default and shown with exposeErrorDetails [Router options: exposeErrorDetails]", async () => {
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

  /** What is warned about a handler that settles without an answer; each type is warned about once. */
  async function warningsOf(type: string, options: { warnIncompleteRpc?: boolean }): Promise<string[]> {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const Forgotten = rpc(`${name}_${type}`, undefined, "NEVER", undefined);
    const peer = await createTestServer(createRouter(options).rpc(Forgotten, () => undefined)).connect();
    await peer.send(Forgotten);
    return warn.mock.calls.map(([text]) => String(text));
  }

  test("in development, a handler that settles without an answer is warned about [Router options: warnIncompleteRpc]", async () => {
    vi.stubEnv("NODE_ENV", "development");
    expect(await warningsOf("DEVELOPMENT", {})).toEqual([
      expect.stringContaining(`The handler of ${name}_DEVELOPMENT is done but gave no answer`),
    ]);
  });

  test("in production, and with warnIncompleteRpc false, it is not [Router options: warnIncompleteRpc]", async () => {
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
  ])("a senseless %s is refused when the router is made [Router options]", (option, options) => {
    expect(() => createRouter(options)).toThrow(option);
  });
});
