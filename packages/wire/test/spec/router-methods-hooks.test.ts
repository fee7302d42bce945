import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { WsError } from "../../src/index.ts";
import { createTestServer } from "../../src/testing/index.ts";
import { answersTo, errorsOf, gate, sendFrame, UUID_V7 } from "./frames.ts";
import { libraries } from "./libraries.ts";

// Errors without an onError hook go to the console, and these tests throw on purpose.
beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe.each(libraries)("guide/router: Hooks ($name)", ({ createRouter, message, rpc, string }) => {
  const Note = message("NOTE", { text: string() });
  const Bare = message("BARE");
  const Echo = rpc("ECHO", { text: string() }, "ECHOED", { text: string() });

  test("onOpen receives a context with clientId before any message", async () => {
    const ids: string[] = [];
    const peer = await createTestServer(createRouter().onOpen((ctx) => ids.push(ctx.clientId))).connect();
    expect(peer.frames[0]?.payload).toMatchObject({ clientId: ids[0] });
    expect(ids).toHaveLength(1);
  });

  test("onClose receives a context with clientId and code once", async () => {
    const closed: [string, number, string][] = [];
    const router = createRouter().onClose((ctx) => closed.push([ctx.clientId, ctx.code, ctx.reason]));
    const peer = await createTestServer(router).connect();
    await peer.disconnect(4001, "bye");
    await peer.disconnect(1006, "again");
    expect(closed).toEqual([[expect.stringMatching(UUID_V7), 4001, "bye"]]);
  });

  test("onAuth receives the context of the first message and admits the connection by returning true, once per connection", async () => {
    const asked: string[] = [];
    const router = createRouter()
      .onAuth((ctx) => asked.push(`${ctx.type} ${JSON.stringify(ctx.payload)}`) > 0)
      .on(Note, () => undefined)
      .on(Bare, () => undefined);
    const server = createTestServer(router);
    const peer = await server.connect();
    expect(asked).toEqual([]);
    await peer.send(Note, { text: "hi" });
    await peer.send(Bare);
    await (await server.connect()).send(Bare);
    expect(asked).toEqual(['NOTE {"text":"hi"}', "BARE undefined"]);
  });

  test("onAuth runs after validation and before middleware", async () => {
    const log: string[] = [];
    const router = createRouter()
      .onAuth(() => log.push("auth") > 0)
      .use((_ctx, next) => {
        log.push("middleware");
        return next();
      })
      .on(Note, () => log.push("handler"));
    const peer = await createTestServer(router).connect();
    await sendFrame(peer, { type: "NOTE", meta: {}, payload: { text: 1 } });
    await sendFrame(peer, { type: "UNKNOWN", meta: {} });
    await sendFrame(peer, { type: "$ws:ping", meta: {} });
    expect(log).toEqual([]);
    await peer.send(Note, { text: "hi" });
    expect(log).toEqual(["auth", "middleware", "handler"]);
  });

  test.each([
    ["false", () => false],
    ["a promise of false", async () => false],
    [
      "a throw",
      () => {
        throw new Error("no");
      },
    ],
    [
      "a rejection",
      async () => {
        throw new Error("no");
      },
    ],
  ])(
    "an onAuth that gives %s closes the connection with 4401, and the message is not handled",
    async (_how, onAuth) => {
      const handled: string[] = [];
      const closed: number[] = [];
      const router = createRouter()
        .onAuth(onAuth)
        .use((ctx, next) => {
          handled.push(ctx.type);
          return next();
        })
        .on(Bare, (ctx) => handled.push(ctx.type))
        .onClose((ctx) => closed.push(ctx.code));
      const peer = await createTestServer(router).connect();
      await peer.send(Bare);
      await peer.send(Bare);
      expect(peer.closedWith?.code).toBe(4401);
      expect(closed).toEqual([4401]);
      expect(handled).toEqual([]);
    },
  );

  test("messages wait for an asynchronous onAuth and then start in order of arrival", async () => {
    const verdict = gate<boolean>();
    const seen: string[] = [];
    const router = createRouter()
      .onAuth(() => verdict.opened)
      .on(Note, (ctx) => seen.push(ctx.payload.text));
    const peer = await createTestServer(router).connect();
    for (const text of ["1", "2", "3"]) await peer.send(Note, { text });
    expect(seen).toEqual([]);
    verdict.open(true);
    await vi.waitFor(() => expect(seen).toEqual(["1", "2", "3"]));
  });

  test("onError receives the error as WsError and the context, and only the return value false suppresses the error frame", async () => {
    const seen: [WsError, string | undefined][] = [];
    const router = createRouter()
      .onError((error, ctx) => void seen.push([error, ctx.type]))
      .on(Bare, () => {
        throw new TypeError("boom");
      });
    const peer = await createTestServer(router).connect();
    await peer.send(Bare);
    expect(seen.map(([error, type]) => [error.name, error.code, type])).toEqual([
      ["WsError", "INTERNAL", "BARE"],
    ]);
    expect(errorsOf(peer)).toMatchObject([{ code: "INTERNAL" }]);
  });

  test("an onError that returns false suppresses the error frame permanently", async () => {
    const router = createRouter()
      .onError(() => false)
      .rpc(Echo, () => {
        throw new Error("boom");
      });
    const server = createTestServer(router);
    const peer = await server.connect();
    await peer.send(Echo, { text: "?" }, { correlationId: "1" });
    await server.clock.advance(60_000);
    expect(answersTo(peer, "1")).toEqual([]);
  });

  test("onLimitExceeded receives the limit that was exceeded", () => {
    const types: string[] = [];
    const router = createRouter().onLimitExceeded((info) => types.push(info.type));
    const socket = { bufferedBytes: 0, send: () => "sent" as const, close: () => undefined };
    router.accept(socket, { clientId: "one" }).tooLarge(2_000_000);
    expect(types).toEqual(["payload"]);
  });
});
