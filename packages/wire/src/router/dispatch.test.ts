import { afterEach, describe, expect, test, vi } from "vitest";
import { WsError } from "../protocol/error.ts";
import { createTestServer } from "../testing/index.ts";
import { createRouter, message, rpc, z } from "../zod.ts";

const Ask = rpc("ASK", { n: z.number() }, "ANSWER", { n: z.number() });
const Hold = rpc("HOLD", undefined, "HELD", undefined);
const Tell = message("TELL", { n: z.number() });

/** Middleware that lets messages pass one by one. */
function turnstile() {
  const waiting: (() => void)[] = [];
  return {
    wait: () => new Promise<void>((resolve) => waiting.push(resolve)),
    /** Lets the first one pass. */
    async turn(): Promise<void> {
      waiting.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    },
    get size() {
      return waiting.length;
    },
  };
}

function idsOf(frames: readonly { meta: Readonly<Record<string, unknown>> }[]): unknown[] {
  return frames.map(({ meta }) => meta["correlationId"]).filter((id) => id !== undefined);
}

describe("messages that wait for an earlier one", () => {
  test("start in order of arrival, requests and events alike", async () => {
    const gate = turnstile();
    const started: number[] = [];
    const router = createRouter()
      .use(async (_, next) => {
        await gate.wait();
        await next();
      })
      .rpc(Ask, (ctx) => {
        started.push(ctx.payload.n);
        ctx.reply(Ask.response, ctx.payload);
      })
      .on(Tell, (ctx) => started.push(ctx.payload.n));
    const peer = await createTestServer(router).connect();
    for (let n = 0; n < 10; n++) await (n % 2 === 0 ? peer.send(Ask, { n }) : peer.send(Tell, { n }));
    expect(gate.size).toBe(1);
    for (let n = 0; n < 10; n++) await gate.turn();
    expect(started).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test("have their own deadline, counted from arrival", async () => {
    const router = createRouter()
      .use((ctx, next) => (ctx.type === "HOLD" ? new Promise(() => undefined) : next()))
      .rpc(Hold, () => undefined)
      .rpc(Ask, (ctx) => ctx.reply(Ask.response, ctx.payload));
    const server = createTestServer(router);
    const peer = await server.connect();
    await peer.send(Hold, undefined, { correlationId: "stuck", timeoutMs: 60_000 });
    await peer.send(Ask, { n: 1 }, { correlationId: "behind", timeoutMs: 500 });
    await server.clock.advance(1_000);
    expect(peer.frames.slice(1)).toMatchObject([
      { type: "$ws:error", meta: { correlationId: "behind" }, payload: { code: "DEADLINE_EXCEEDED" } },
    ]);
  });

  test("can be aborted and then never reach their handler", async () => {
    const gate = turnstile();
    const started: number[] = [];
    const router = createRouter()
      .use(async (_, next) => {
        await gate.wait();
        await next();
      })
      .rpc(Ask, (ctx) => {
        started.push(ctx.payload.n);
        ctx.reply(Ask.response, ctx.payload);
      });
    const peer = await createTestServer(router).connect();
    await peer.send(Ask, { n: 1 }, { correlationId: "1" });
    await peer.send(Ask, { n: 2 }, { correlationId: "2" });
    await peer.sendRaw('{"type":"$ws:abort","meta":{"correlationId":"2"}}');
    expect(peer.frames.at(-1)).toMatchObject({
      meta: { correlationId: "2" },
      payload: { code: "CANCELLED" },
    });
    await gate.turn();
    await gate.turn();
    expect(started).toEqual([1]);
    expect(idsOf(peer.frames)).toEqual(["2", "1"]);
  });

  test("reserve their correlationId: a duplicate is refused without it, and an abort ends only the first", async () => {
    const gate = turnstile();
    let cancelled = 0;
    const router = createRouter()
      .rpc(Hold, (ctx) => {
        ctx.onCancel(() => cancelled++);
        return new Promise(() => undefined);
      })
      .route(Ask)
      .use(async (_, next) => {
        await gate.wait();
        await next();
      })
      .rpc((ctx) => ctx.reply(Ask.response, ctx.payload));
    const peer = await createTestServer(router).connect();
    await peer.send(Hold, undefined, { correlationId: "x" });
    await peer.send(Ask, { n: 1 }, { correlationId: "blocks" });
    await peer.send(Ask, { n: 2 }, { correlationId: "x" });
    await peer.send(Ask, { n: 3 }, { correlationId: "blocks" });
    await peer.sendRaw('{"type":"$ws:abort","meta":{"correlationId":"x"}}');
    expect(cancelled).toBe(1);
    await gate.turn();
    await gate.turn();
    expect(peer.frames.slice(1)).toMatchObject([
      { payload: { code: "ALREADY_EXISTS", details: { correlationId: "x" } } },
      { payload: { code: "ALREADY_EXISTS", details: { correlationId: "blocks" } } },
      { meta: { correlationId: "x" }, payload: { code: "CANCELLED" } },
      { type: "ANSWER", meta: { correlationId: "blocks" }, payload: { n: 1 } },
    ]);
    expect(idsOf(peer.frames)).toEqual(["x", "blocks"]);
  });

  test("are refused immediately with a time to retry beyond the limit", async () => {
    const router = createRouter({ maxInflightRpcsPerSocket: 3 })
      .use(() => new Promise(() => undefined))
      .on(Tell, () => undefined);
    const peer = await createTestServer(router).connect();
    for (let n = 0; n < 4; n++) await peer.send(Tell, { n });
    expect(peer.frames.slice(1)).toMatchObject([
      { payload: { code: "RESOURCE_EXHAUSTED", retryAfterMs: expect.any(Number) } },
    ]);
  });

  test("free their place after they were handled, also when their handlers throw", async () => {
    const gate = turnstile();
    const router = createRouter({ maxInflightRpcsPerSocket: 3 })
      .use(async (_, next) => {
        await gate.wait();
        await next();
      })
      .on(Tell, () => {
        throw new WsError("ABORTED", "no");
      });
    const peer = await createTestServer(router).connect();
    for (let round = 0; round < 5; round++) {
      for (let n = 0; n < 3; n++) await peer.send(Tell, { n });
      for (let n = 0; n < 3; n++) await gate.turn();
    }
    const codes = peer.frames.slice(1).map(({ payload }) => (payload as { code: string }).code);
    expect(codes).toEqual(Array.from({ length: 15 }, () => "ABORTED"));
  });

  test("do not delay the error for a malformed frame", async () => {
    const router = createRouter()
      .use(() => new Promise(() => undefined))
      .on(Tell, () => undefined);
    const peer = await createTestServer(router).connect();
    await peer.send(Tell, { n: 1 });
    await peer.send(Tell, { n: "2" as never });
    await peer.sendRaw('{"type":"UNKNOWN","meta":{"correlationId":"1"}}');
    await peer.sendRaw('{"type":"$ws:ping"}');
    expect(peer.frames.slice(1)).toMatchObject([
      { payload: { code: "INVALID_ARGUMENT" } },
      { meta: { correlationId: "1" }, payload: { code: "UNIMPLEMENTED" } },
      { type: "$ws:pong" },
    ]);
  });

  test("reach no handler when onAuth refuses", async () => {
    const gate = turnstile();
    const started: number[] = [];
    const router = createRouter()
      .onAuth(async () => {
        await gate.wait();
        return false;
      })
      .on(Tell, (ctx) => started.push(ctx.payload.n));
    const peer = await createTestServer(router).connect();
    for (let n = 0; n < 3; n++) await peer.send(Tell, { n });
    await gate.turn();
    expect(started).toEqual([]);
    expect(peer.closedWith).toMatchObject({ code: 4401 });
  });
});

describe("a handler that throws any value", () => {
  afterEach(() => vi.restoreAllMocks());

  class Lookalike extends Error {
    override readonly name = "WsError";
    readonly code = "CUSTOM";
  }
  const hostile = {
    toString() {
      throw new Error("no text");
    },
  };
  const unreadable = new WsError("NOT_FOUND", "gone", {
    get secretless() {
      throw new Error("no details");
    },
  });
  const cases: [string, unknown, string][] = [
    ["undefined", undefined, "INTERNAL"],
    ["null", null, "INTERNAL"],
    ["a symbol", Symbol("x"), "INTERNAL"],
    ["an object without prototype", Object.create(null), "INTERNAL"],
    ["an object whose toString throws", hostile, "INTERNAL"],
    ["an error that resembles a WsError", new Lookalike("odd"), "CUSTOM"],
    ["an error whose details cannot be read", unreadable, "NOT_FOUND"],
    ["a frozen error", Object.freeze(new Error("cold")), "INTERNAL"],
  ];

  test.each(cases)("ends the request with one error: %s, thrown or rejected", async (_, thrown, code) => {
    const router = createRouter({ exposeErrorDetails: true })
      .onError((error) => expect(error.message).toEqual(expect.any(String)))
      .rpc(Ask, (ctx) => {
        if (ctx.payload.n === 0) throw thrown;
        return Promise.reject(thrown);
      });
    const server = createTestServer(router);
    const peer = await server.connect();
    await peer.send(Ask, { n: 0 }, { correlationId: "now", timeoutMs: 1_000 });
    await peer.send(Ask, { n: 1 }, { correlationId: "later", timeoutMs: 1_000 });
    await server.clock.advance(5_000);
    expect(peer.frames.slice(1)).toMatchObject([
      { meta: { correlationId: "now" }, payload: { code } },
      { meta: { correlationId: "later" }, payload: { code } },
    ]);
  });

  test("does not affect the server when a hook throws too", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const router = createRouter()
      .onError(() => {
        throw new Error("in the hook");
      })
      .rpc(Ask, () => {
        throw new Error("in the handler");
      });
    const peer = await createTestServer(router).connect();
    await expect(peer.request(Ask, { n: 1 })).rejects.toMatchObject({ code: "INTERNAL" });
    expect(log).toHaveBeenCalledOnce();
  });
});

describe("a request that has ended", () => {
  test("sends no progress and no second response and runs no cancel callback", async () => {
    const after: unknown[] = [];
    const router = createRouter().rpc(Ask, (ctx) => {
      ctx.onCancel(() => after.push("cancelled"));
      ctx.reply(Ask.response, { n: 1 });
      after.push(ctx.progress({ half: true }));
      ctx.reply(Ask.response, { n: 2 });
      ctx.error("ABORTED");
      after.push(ctx.abortSignal.aborted);
    });
    const server = createTestServer(router);
    const peer = await server.connect();
    await peer.send(Ask, { n: 0 }, { correlationId: "1" });
    await peer.sendRaw('{"type":"$ws:abort","meta":{"correlationId":"1"}}');
    await peer.disconnect();
    await server.clock.advance(100_000);
    expect(peer.frames.slice(1)).toMatchObject([{ type: "ANSWER", payload: { n: 1 } }]);
    expect(after).toEqual([false, false]);
  });

  test("leaves no timer and no table entry", async () => {
    const router = createRouter({ maxInflightRpcsPerSocket: 1 }).rpc(Ask, async (ctx) => {
      await Promise.resolve();
      ctx.reply(Ask.response, ctx.payload);
    });
    const server = createTestServer(router);
    const peer = await server.connect();
    for (let n = 0; n < 100; n++) expect(await peer.request(Ask, { n })).toEqual({ n });
    await server.clock.advance(20_000);
    expect(server.clock.pendingTimers).toBe(0);
  });
});
