import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createTestServer, type TestConnection } from "../../src/testing/index.ts";
import { answersTo, errorsOf, gate, outcomeOf, unsettled } from "./frames.ts";
import { libraries } from "./libraries.ts";

// Errors without an onError hook go to the console, and these tests throw on purpose.
beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

describe.each(libraries)("guide/router: Methods ($name)", ({ createRouter, message, rpc, string }) => {
  const Note = message("NOTE", { text: string() });
  const Bare = message("BARE");
  const Echo = rpc("ECHO", { text: string() }, "ECHOED", { text: string() });

  /** Sends a request and returns the text of the response, which names the handler. */
  async function ask(peer: TestConnection): Promise<string> {
    return (await peer.request(Echo, { text: "?" })).text;
  }

  test("every method but publish returns the router for chaining", () => {
    const router = createRouter();
    const noop = () => undefined;
    for (const returned of [
      router.on(Note, noop),
      router.rpc(Echo, noop),
      router.off(Note),
      router.use((_ctx, next) => next()),
      router.route(Note).on(noop),
      router.onOpen(noop),
      router.onClose(noop),
      router.onAuth(() => true),
      router.onError(noop),
      router.onLimitExceeded(noop),
      router.merge(createRouter()),
      router.reset(),
    ]) {
      expect(returned).toBe(router);
    }
  });

  test("on registers a handler for messages without an answer, and the server sends nothing by itself", async () => {
    const seen: string[] = [];
    const peer = await createTestServer(
      createRouter().on(Note, (ctx) => seen.push(ctx.payload.text)),
    ).connect();
    await peer.send(Note, { text: "one" });
    await peer.send(Note, { text: "two" }, { correlationId: "2" });
    expect(seen).toEqual(["one", "two"]);
    expect(peer.frames.map((frame) => frame.type)).toEqual(["$ws:hello"]);
  });

  test("on with an RPC schema registers an event handler", async () => {
    const seen: boolean[] = [];
    const server = createTestServer(
      createRouter().on(Echo, (ctx) => {
        seen.push(ctx.isRpc);
        expect(ctx).not.toHaveProperty("reply");
      }),
    );
    const peer = await server.connect();
    await peer.send(Echo, { text: "hi" }, { correlationId: "1" });
    await server.clock.advance(60_000);
    expect(seen).toEqual([false]);
    expect(answersTo(peer, "1")).toEqual([]);
  });

  test("rpc registers a request handler", async () => {
    const router = createRouter().rpc(Echo, (ctx) => ctx.reply(Echo.response, ctx.payload));
    const peer = await createTestServer(router).connect();
    expect(await peer.request(Echo, { text: "hi" })).toEqual({ text: "hi" });
  });

  test("rpc with a schema without .response throws, and the error says what to change", () => {
    expect(() => createRouter().rpc(Note as never, () => undefined)).toThrow(/NOTE has no response/);
    expect(() =>
      createRouter()
        .route(Note)
        .rpc((() => undefined) as never),
    ).toThrow(/NOTE has no response/);
  });

  test("off unregisters the handler of that message type, also on a running server", async () => {
    const router = createRouter().rpc(Echo, (ctx) => ctx.reply(Echo.response, { text: "here" }));
    const peer = await createTestServer(router).connect();
    expect(await ask(peer)).toBe("here");
    router.off(Echo);
    await peer.send(Echo, { text: "?" }, { correlationId: "gone" });
    expect(outcomeOf(peer, "gone")).toBe("UNIMPLEMENTED");
    router.off(Note);
  });

  test.each(["on", "rpc"] as const)(
    "%s for a registered type replaces the handler and warns in development only",
    async (method) => {
      const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
      vi.stubEnv("NODE_ENV", "production");
      const router = createRouter().rpc(Echo, (ctx) => ctx.reply(Echo.response, { text: "first" }));
      router.rpc(Echo, (ctx) => ctx.reply(Echo.response, { text: "second" }));
      expect(warn).not.toHaveBeenCalled();
      vi.stubEnv("NODE_ENV", "development");
      if (method === "on") {
        router.on(Echo, (ctx) => ctx.send(Echo.response, { text: "third" }, { inheritCorrelationId: true }));
      } else router.rpc(Echo, (ctx) => ctx.reply(Echo.response, { text: "third" }));
      expect(warn).toHaveBeenCalledExactlyOnceWith(expect.stringContaining("ECHO is registered twice"));
      const peer = await createTestServer(router).connect();
      expect(await ask(peer)).toBe("third");
      expect(peer.received(Echo.response)).toHaveLength(1);
    },
  );

  test("use adds global middleware that runs for all messages, in order, around the handler", async () => {
    const log: string[] = [];
    const router = createRouter()
      .use(async (ctx, next) => {
        log.push(`a ${ctx.type}`);
        await next();
        log.push("a after");
      })
      .on(Bare, () => log.push("handler"))
      .use(async (_ctx, next) => {
        log.push("b");
        await next();
        log.push("b after");
      })
      .rpc(Echo, (ctx) => {
        log.push("request handler");
        ctx.reply(Echo.response, ctx.payload);
      });
    const peer = await createTestServer(router).connect();
    await peer.send(Bare);
    await peer.send(Echo, { text: "?" });
    const around = (type: string, handler: string) => [`a ${type}`, "b", handler, "b after", "a after"];
    expect(log).toEqual([...around("BARE", "handler"), ...around("ECHO", "request handler")]);
  });

  test("middleware that calls ctx.error instead of next answers the message, and the handler does not run", async () => {
    const handled: string[] = [];
    const router = createRouter()
      .use((ctx) => ctx.error("PERMISSION_DENIED", "not you"))
      .rpc(Echo, (ctx) => void handled.push(ctx.type))
      .on(Bare, (ctx) => handled.push(ctx.type));
    const peer = await createTestServer(router).connect();
    await peer.send(Echo, { text: "?" }, { correlationId: "1" });
    await peer.send(Bare);
    expect(outcomeOf(peer, "1")).toBe("PERMISSION_DENIED");
    expect(errorsOf(peer)).toHaveLength(2);
    expect(handled).toEqual([]);
  });

  test("route(schema) returns a builder whose middleware runs for that message only, inside the global middleware", async () => {
    const log: string[] = [];
    const router = createRouter().use((_ctx, next) => {
      log.push("global");
      return next();
    });
    const chained = router
      .route(Note)
      .use((_ctx, next) => {
        log.push("first");
        return next();
      })
      .use((_ctx, next) => {
        log.push("second");
        return next();
      })
      .on((ctx) => log.push(ctx.payload.text));
    expect(chained).toBe(router);
    router.on(Bare, () => log.push("bare"));
    const peer = await createTestServer(router).connect();
    await peer.send(Note, { text: "note" });
    await peer.send(Bare);
    expect(log).toEqual(["global", "first", "second", "note", "global", "bare"]);
  });

  test("route(schema).rpc registers a request handler and returns the router", async () => {
    const router = createRouter();
    const chained = router
      .route(Echo)
      .use((_ctx, next) => next())
      .rpc((ctx) => ctx.reply(Echo.response, { text: "by route" }));
    expect(chained).toBe(router);
    expect(await ask(await createTestServer(router).connect())).toBe("by route");
  });

  test("merge adds the other router's routes, which replace routes of the same type", async () => {
    const other = createRouter()
      .rpc(Echo, (ctx) => ctx.reply(Echo.response, { text: "merged" }))
      .on(Bare, (ctx) => ctx.send(Note, { text: "bare of the other" }));
    const router = createRouter()
      .rpc(Echo, (ctx) => ctx.reply(Echo.response, { text: "own" }))
      .merge(other);
    const peer = await createTestServer(router).connect();
    expect(await ask(peer)).toBe("merged");
    await peer.send(Bare);
    expect(peer.received(Note)).toEqual([{ text: "bare of the other" }]);
  });

  test("a merged router's middleware wraps its own routes only, and the outer router's middleware wraps both", async () => {
    const log: string[] = [];
    const logging = (name: string) => (_ctx: unknown, next: () => Promise<void>) => {
      log.push(name);
      return next();
    };
    const other = createRouter()
      .use(logging("inner"))
      .on(Bare, () => log.push("bare"));
    const router = createRouter()
      .use(logging("outer"))
      .on(Note, () => log.push("note"))
      .merge(other);
    const peer = await createTestServer(router).connect();
    await peer.send(Note, { text: "hi" });
    await peer.send(Bare);
    expect(log).toEqual(["outer", "note", "outer", "inner", "bare"]);
  });

  test("merge appends the hooks of the merged router", async () => {
    const log: string[] = [];
    const router = createRouter()
      .onOpen(() => log.push("own"))
      .merge(createRouter({ hooks: { onOpen: () => log.push("other") } }));
    await createTestServer(router).connect();
    expect(log).toEqual(["own", "other"]);
  });

  test("publish validates the payload, works outside handlers and resolves to a PublishResult", async () => {
    const router = createRouter().onOpen((ctx) => ctx.subscribe("t"));
    const peer = await createTestServer(router).connect();
    expect(await router.publish("t", Note, { text: "hi" })).toEqual({ ok: true, matchedLocal: 1 });
    expect(await router.publish("t", Note, { text: "hi", extra: 1 } as never)).toMatchObject({
      ok: false,
      error: "VALIDATION",
    });
    expect(peer.received(Note)).toEqual([{ text: "hi" }]);
  });

  test("excludeSelf has no effect on router.publish, which has no sender", async () => {
    const router = createRouter().onOpen((ctx) => ctx.subscribe("t"));
    const peer = await createTestServer(router).connect();
    expect(await router.publish("t", Note, { text: "hi" }, { excludeSelf: true })).toMatchObject({
      matchedLocal: 1,
    });
    expect(peer.received(Note)).toEqual([{ text: "hi" }]);
  });

  test("reset removes handlers and middleware and keeps the configuration", async () => {
    const log: string[] = [];
    const router = createRouter({ rpcTimeoutMs: 1_600, hooks: { onOpen: () => log.push("option hook") } })
      .onOpen(() => log.push("method hook"))
      .use((_ctx, next) => {
        log.push("middleware");
        return next();
      })
      .rpc(Echo, (ctx) => ctx.reply(Echo.response, ctx.payload));
    router.reset();
    const server = createTestServer(router);
    const peer = await server.connect();
    await peer.send(Echo, { text: "?" }, { correlationId: "1" });
    expect(outcomeOf(peer, "1")).toBe("UNIMPLEMENTED");
    router.rpc(Echo, unsettled);
    await peer.send(Echo, { text: "?" }, { correlationId: "2" });
    await server.clock.advance(1_600);
    expect(outcomeOf(peer, "2")).toBe("DEADLINE_EXCEEDED");
    expect(log).toEqual(["option hook"]);
  });

  test("reset keeps requests in flight, which are still answered", async () => {
    const answer = gate();
    const router = createRouter().rpc(Echo, async (ctx) => {
      await answer.opened;
      ctx.reply(Echo.response, { text: "answered" });
    });
    const peer = await createTestServer(router).connect();
    const asked = ask(peer);
    await peer.send(Echo, { text: "?" }, { correlationId: "waiting" });
    router.reset();
    answer.open();
    expect(await asked).toBe("answered");
    await vi.waitFor(() => expect(outcomeOf(peer, "waiting")).toBe("ECHOED"));
  });

  test("reset keeps the heartbeat of open connections", async () => {
    const router = createRouter({ heartbeat: { intervalMs: 1_000, timeoutMs: 500 } });
    const server = createTestServer(router);
    const peer = await server.connect();
    await server.clock.advance(1_250);
    expect(peer.pings).toBe(1);
    router.reset();
    await server.clock.advance(1_000);
    expect(peer.closedWith?.code).toBe(4408);
  });

  test("one router may serve several servers, and publish reaches the subscribers of all", async () => {
    const router = createRouter()
      .onOpen((ctx) => ctx.subscribe("t"))
      .rpc(Echo, (ctx) => ctx.reply(Echo.response, ctx.payload));
    const [one, two] = [await createTestServer(router).connect(), await createTestServer(router).connect()];
    expect(await one.request(Echo, { text: "1" })).toEqual({ text: "1" });
    expect(await two.request(Echo, { text: "2" })).toEqual({ text: "2" });
    expect(await router.publish("t", Note, { text: "all" })).toEqual({ ok: true, matchedLocal: 2 });
    expect([one.received(Note), two.received(Note)]).toEqual([[{ text: "all" }], [{ text: "all" }]]);
  });
});
