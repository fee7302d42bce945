import { describe, expect, onTestFinished, test, vi } from "vitest";
import { ERROR_CODES, WsError } from "../../src/index.ts";
import { createTestServer } from "../../src/testing/index.ts";
import { answersTo, errorsOf, outcomeOf, sendFrame } from "./frames.ts";
import { libraries } from "./libraries.ts";

const throwing = (thrown: unknown) => () => {
  throw thrown;
};

describe("guide/errors: Error codes", () => {
  const TABLE = [
    ["UNAUTHENTICATED", "terminal", false],
    ["PERMISSION_DENIED", "terminal", false],
    ["INVALID_ARGUMENT", "terminal", false],
    ["FAILED_PRECONDITION", "terminal", false],
    ["NOT_FOUND", "terminal", false],
    ["ALREADY_EXISTS", "terminal", false],
    ["ABORTED", "terminal", true],
    ["CANCELLED", "terminal", false],
    ["DEADLINE_EXCEEDED", "transient", true],
    ["RESOURCE_EXHAUSTED", "transient", true],
    ["UNAVAILABLE", "transient", true],
    ["UNIMPLEMENTED", "server", false],
    ["INTERNAL", "server", false],
  ] as const;

  test("ERROR_CODES has exactly these 13 codes", () => {
    expect(Object.keys(ERROR_CODES)).toEqual(TABLE.map(([code]) => code));
  });

  test.each(TABLE)("%s is of class %s, and its default for retryable is %s", (code, kind, retryable) => {
    expect(ERROR_CODES[code]).toEqual({ class: kind, retryable });
    expect(new WsError(code).retryable).toBe(retryable);
  });

  test.each(TABLE)("%s uses an explicit retryable instead of the default", (code) => {
    for (const retryable of [true, false]) {
      const error = new WsError(code, undefined, undefined, { retryable });
      expect(error.retryable).toBe(retryable);
      expect(error.toPayload().retryable).toBe(retryable);
    }
  });

  test.each(TABLE)("%s, of class %s, accepts retryAfterMs only if it is not terminal", (code, kind) => {
    const make = () => new WsError(code, undefined, undefined, { retryAfterMs: 10 });
    if (kind === "terminal") expect(make).toThrow(code);
    else expect(make().toPayload()).toMatchObject({ code, retryAfterMs: 10 });
  });

  test("custom codes are not retryable unless the error says so", () => {
    expect(new WsError("ROOM_FULL").retryable).toBe(false);
    expect(new WsError("ROOM_FULL", "later", undefined, { retryable: true }).retryable).toBe(true);
    expect(new WsError("toString").retryable).toBe(false);
  });
});

describe("guide/errors: `WsError`", () => {
  const original = new TypeError("inner");

  test("a WsError is an Error with name, code, message, details and cause", () => {
    const error = new WsError("NOT_FOUND", "no such room", { room: 1 }, { cause: original });
    expect(error).toBeInstanceOf(Error);
    expect([error.name, error.code, error.message]).toEqual(["WsError", "NOT_FOUND", "no such room"]);
    expect(error.details).toEqual({ room: 1 });
    expect(error.cause).toBe(original);
  });

  test("originalError is the cause", () => {
    expect(new WsError("INTERNAL", "outer", undefined, { cause: original }).originalError).toBe(original);
    expect(new WsError("INTERNAL").originalError).toBeUndefined();
  });

  test("from(code, message, details?) creates a WsError", () => {
    expect(WsError.from("ABORTED", "again", { n: 1 })).toMatchObject({
      code: "ABORTED",
      message: "again",
      details: { n: 1 },
    });
    expect(WsError.from("ABORTED", "again").details).toBeUndefined();
  });

  test("wrap keeps the original as cause and takes its message unless another is given", () => {
    const full = WsError.wrap(original, "UNAVAILABLE", "outer", { a: 1 });
    expect(full).toMatchObject({ code: "UNAVAILABLE", message: "outer", details: { a: 1 } });
    expect(full.cause).toBe(original);
    expect(WsError.wrap(original, "INTERNAL").message).toBe("inner");
    expect(WsError.wrap("a string", "INTERNAL")).toMatchObject({ message: "a string", cause: "a string" });
  });

  test("wrap returns the same object when it is a WsError already", () => {
    const error = new WsError("NOT_FOUND", "mine");
    expect(WsError.wrap(error, "INTERNAL", "other", { a: 1 })).toBe(error);
    expect([error.code, error.message]).toEqual(["NOT_FOUND", "mine"]);
  });

  test("isWsError is true for a WsError and false for any other value", () => {
    expect(WsError.isWsError(new WsError("INTERNAL"))).toBe(true);
    const others = [new Error("x"), null, undefined, {}, "INTERNAL", { name: "WsError", code: "INTERNAL" }];
    for (const other of others) expect(WsError.isWsError(other)).toBe(false);
  });

  test("toJSON returns code, message, details, stack and cause for logs", () => {
    const json = WsError.wrap(original, "UNAVAILABLE", "outer", { a: 1 }).toJSON();
    expect(json).toMatchObject({
      code: "UNAVAILABLE",
      message: "outer",
      details: { a: 1 },
      stack: expect.stringContaining("errors.test"),
      cause: { name: "TypeError", message: "inner" },
    });
    expect(JSON.stringify(WsError.wrap(original, "INTERNAL"))).toContain("inner");
  });

  test("toPayload returns exactly the error frame's payload for clients, without cause and stack", () => {
    const options = { retryable: true, retryAfterMs: 5, cause: original };
    expect(new WsError("UNAVAILABLE", "outer", { a: 1 }, options).toPayload()).toEqual({
      code: "UNAVAILABLE",
      message: "outer",
      details: { a: 1 },
      retryable: true,
      retryAfterMs: 5,
    });
    expect(new WsError("UNAVAILABLE", "outer").toPayload()).toEqual({
      code: "UNAVAILABLE",
      message: "outer",
    });
  });

  test("toPayload is sanitised", () => {
    const error = new WsError("NOT_FOUND", "no", { password: "x", room: 1 });
    expect(error.toPayload().details).toEqual({ room: 1 });
    expect(error.details).toEqual({ password: "x", room: 1 });
  });
});

describe.each(libraries)(
  "guide/errors: Thrown errors: what the peer receives ($name)",
  ({ createRouter, message, rpc, string }) => {
    const Call = rpc("CALL", undefined, "CALLED", undefined);
    const Poke = message("POKE", { text: string() });

    /** The error payload for a request whose handler throws this. */
    async function errorFor(thrown: unknown, options = {}) {
      const router = createRouter(options)
        .onError(() => undefined)
        .rpc(Call, throwing(thrown));
      const peer = await createTestServer(router).connect();
      await peer.send(Call, undefined, { correlationId: "1" });
      const [answer, ...more] = answersTo(peer, "1");
      expect(more).toEqual([]);
      return answer?.payload;
    }

    test("details are sent without keys that name a secret, at any depth and in any case", async () => {
      const secrets = Object.fromEntries(
        [
          ...["password", "passwd", "secret", "token", "authorization", "cookie", "apikey", "api_key"],
          ...["credential", "private", "userPassword", "ACCESS_TOKEN", "privateKey", "Set-Cookie"],
        ].map((key) => [key, "hunter2"]),
      );
      const router = createRouter().rpc(Call, (ctx) =>
        ctx.error("FAILED_PRECONDITION", "no", {
          ...secrets,
          deep: { list: [{ ...secrets, ok: 1 }] },
          ok: 2,
        }),
      );
      const peer = await createTestServer(router).connect();
      await peer.send(Call);
      expect(errorsOf(peer)[0]?.details).toEqual({ deep: { list: [{ ok: 1 }] }, ok: 2 });
    });

    test("details are sent as JSON data, and as { truncated: true } above 4 KiB", async () => {
      const circular: Record<string, unknown> = { a: 1 };
      circular["self"] = circular;
      const odd = { when: new Date(0), big: 10n, run: () => 1, nothing: undefined, circular };
      const router = createRouter().on(Poke, (ctx) => {
        ctx.error("ABORTED", "odd", odd);
        ctx.error("ABORTED", "just fits", { text: "x".repeat(4_096 - '{"text":""}'.length) });
        ctx.error("ABORTED", "too big", { text: "x".repeat(4_097 - '{"text":""}'.length) });
      });
      const peer = await createTestServer(router).connect();
      await peer.send(Poke, { text: "go" });
      const [first, fits, big] = errorsOf(peer);
      expect(first?.details).toEqual({ when: "1970-01-01T00:00:00.000Z", big: "10", circular: { a: 1 } });
      expect(JSON.stringify(fits?.details)).toHaveLength(4_096);
      expect(big?.details).toEqual({ truncated: true });
    });

    test("details passed to ctx.error are always sent, and those of a thrown WsError only with exposeErrorDetails", async () => {
      const thrown = new WsError("NOT_FOUND", "no room", { room: 7 }, { cause: new Error("inner") });
      expect(await errorFor(thrown)).toEqual({ code: "NOT_FOUND", message: "no room" });
      expect(await errorFor(thrown, { exposeErrorDetails: true })).toEqual({
        code: "NOT_FOUND",
        message: "no room",
        details: { room: 7 },
      });
    });

    test('any other thrown value is sent as "Internal error", with its message in details only with exposeErrorDetails, and never with stack or cause', async () => {
      const thrown = new Error("connection to db failed", { cause: new Error("inner") });
      expect(await errorFor(thrown)).toEqual({ code: "INTERNAL", message: "Internal error" });
      expect(await errorFor(thrown, { exposeErrorDetails: true })).toEqual({
        code: "INTERNAL",
        message: "Internal error",
        details: { message: "connection to db failed" },
      });
    });

    test("validation errors carry details.issues with path and message, at most 10", async () => {
      const keys = Array.from({ length: 12 }, (_, n) => `field${n}`);
      const Many = message("MANY", Object.fromEntries(keys.map((key) => [key, string()])));
      const peer = await createTestServer(
        createRouter()
          .on(Poke, () => undefined)
          .on(Many, () => undefined),
      ).connect();
      await sendFrame(peer, { type: "POKE", meta: {}, payload: { text: 1 } });
      await sendFrame(peer, { type: "MANY", meta: {}, payload: {} });
      const [one, many] = errorsOf(peer);
      expect(one?.details).toEqual({ issues: [{ path: "text", message: expect.any(String) }] });
      expect(many?.details?.["issues"]).toHaveLength(10);
    });

    test.each([
      ["throws", throwing(new WsError("ALREADY_EXISTS", "taken"))],
      ["rejects", async () => Promise.reject(new WsError("ALREADY_EXISTS", "taken"))],
    ])("a handler that %s causes one error frame, for requests and for events", async (_how, handler) => {
      const router = createRouter().rpc(Call, handler).on(Poke, handler);
      const peer = await createTestServer(router).connect();
      await peer.send(Call, undefined, { correlationId: "1" });
      await peer.send(Poke, { text: "hi" });
      expect(outcomeOf(peer, "1")).toBe("ALREADY_EXISTS");
      expect(errorsOf(peer)).toEqual([
        { code: "ALREADY_EXISTS", message: "taken" },
        { code: "ALREADY_EXISTS", message: "taken" },
      ]);
    });
  },
);

describe.each(libraries)("guide/errors: `onError` ($name)", ({ createRouter, message, rpc, string }) => {
  const Call = rpc("CALL", undefined, "CALLED", undefined);
  const Poke = message("POKE", { text: string() });

  test("one onError hook that returns false suppresses the error frame", async () => {
    const router = createRouter()
      .onError(() => false)
      .onError(() => true)
      .on(Poke, throwing(new Error("boom")));
    const peer = await createTestServer(router).connect();
    await peer.send(Poke, { text: "hi" });
    await sendFrame(peer, { type: "UNKNOWN", meta: { correlationId: "1" } });
    expect(errorsOf(peer)).toEqual([]);
  });

  test("onError receives a thrown WsError unchanged and any other value wrapped in a WsError", async () => {
    const own = new WsError("NOT_FOUND", "mine");
    const plain = new RangeError("plain");
    const seen: WsError[] = [];
    for (const thrown of [own, plain, "a string", undefined, null]) {
      const router = createRouter()
        .onError((error) => void seen.push(error))
        .on(Poke, throwing(thrown));
      const peer = await createTestServer(router).connect();
      await peer.send(Poke, { text: "hi" });
    }
    expect(seen).toHaveLength(5);
    expect(seen.every((error) => WsError.isWsError(error))).toBe(true);
    expect(seen[0]).toBe(own);
    expect(seen[1]).toMatchObject({ code: "INTERNAL", message: "plain" });
    expect(seen[1]?.originalError).toBe(plain);
    expect(seen[2]?.originalError).toBe("a string");
  });

  test("an onError that throws is logged, and the server and the error frame are not affected", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => undefined);
    onTestFinished(() => logged.mockRestore());
    const router = createRouter()
      .onError(() => {
        throw new Error("in the hook");
      })
      .on(Poke, throwing(new WsError("NOT_FOUND")));
    const peer = await createTestServer(router).connect();
    await peer.send(Poke, { text: "hi" });
    await peer.send(Poke, { text: "hi" });
    expect(errorsOf(peer).map(({ code }) => code)).toEqual(["NOT_FOUND", "NOT_FOUND"]);
    expect(logged.mock.calls).toMatchObject([
      ["[halyard]", { message: "in the hook" }],
      ["[halyard]", { message: "in the hook" }],
    ]);
  });

  test("onError receives every refused frame, with at most clientId and type in its context", async () => {
    const seen: unknown[] = [];
    const router = createRouter()
      .onError((error, ctx) => void seen.push([error.code, Object.keys(ctx).sort(), ctx.type]))
      .on(Poke, () => undefined);
    const peer = await createTestServer(router).connect();
    await sendFrame(peer, { type: "UNKNOWN", meta: {} });
    await sendFrame(peer, { type: "POKE", meta: {}, payload: {} });
    await peer.sendRaw("not json");
    await peer.sendRaw(new Uint8Array([1, 2]));
    expect(seen).toEqual([
      ["UNIMPLEMENTED", ["clientId", "type"], "UNKNOWN"],
      ["INVALID_ARGUMENT", ["clientId", "type"], "POKE"],
      ["INVALID_ARGUMENT", ["clientId", "type"], undefined],
      ["INVALID_ARGUMENT", ["clientId", "type"], undefined],
    ]);
  });

  test("an error thrown after the request has ended reaches onError and sends nothing", async () => {
    const seen: string[] = [];
    const router = createRouter()
      .onError((error) => void seen.push(error.message))
      .rpc(Call, (ctx) => {
        ctx.reply(Call.response);
        throw new Error("after the reply");
      });
    const peer = await createTestServer(router).connect();
    await peer.send(Call, undefined, { correlationId: "1" });
    expect(outcomeOf(peer, "1")).toBe("CALLED");
    expect(seen).toEqual(["after the reply"]);
  });
});
