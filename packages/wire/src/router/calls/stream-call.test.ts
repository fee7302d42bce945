import { describe, expect, test, vi } from "vitest";
import type { RpcContext } from "../../index.ts";
import { createTestServer, type TestConnection } from "../../testing/index.ts";
import { createRouter, rpc, z } from "../../zod.ts";
import { drain } from "../server/drain.ts";

const Rows = rpc(
  "ROWS",
  { n: z.number() },
  "ROWS_END",
  { sent: z.number() },
  { progress: z.object({ i: z.number() }) },
);

type Handler = (ctx: RpcContext<typeof Rows>) => Promise<{ sent: number } | void>;

async function serving(handler: Handler, options: Parameters<typeof createRouter>[0] = {}) {
  const errors: string[] = [];
  const router = createRouter(options)
    .onError((error, ctx) => void errors.push(`${ctx.type} ${error.code} ${error.message}`))
    .rpc(Rows, handler);
  const server = createTestServer(router);
  const peer = await server.connect();
  return { server, peer, errors };
}

const start = (peer: TestConnection, n: number, meta: Record<string, unknown> = { $c: 64 }) =>
  peer.send(Rows, { n }, { correlationId: "r", ...meta });
const credit = (peer: TestConnection, n: unknown) =>
  peer.sendRaw(JSON.stringify({ type: "$ws:credit", meta: { correlationId: "r" }, payload: { n } }));
const abort = async (peer: TestConnection, ...ids: string[]) => {
  for (const id of ids) await peer.sendRaw(`{"type":"$ws:abort","meta":{"correlationId":"${id}"}}`);
};
const items = (peer: TestConnection) =>
  peer.frames
    .filter(({ type }) => type === "$ws:rpc-progress")
    .map(({ payload }) => (payload as { i: number }).i);
const last = (peer: TestConnection) => {
  const frame = peer.frames.at(-1);
  return frame?.type === "$ws:error" ? (frame.payload as { code: string }).code : frame?.type;
};
const upTo = (n: number) => Array.from({ length: n }, (_, i) => i);

/** Sends all items one after the other. */
function producer(log: { sent: number; aborted?: boolean; error?: unknown } = { sent: 0 }): Handler {
  return async (ctx) => {
    ctx.onCancel(() => {
      log.aborted = true;
    });
    try {
      for (log.sent = 0; log.sent < ctx.payload.n; log.sent++) await ctx.progress({ i: log.sent });
    } catch (error) {
      log.error = error;
      throw error;
    }
    return { sent: log.sent };
  };
}

describe("typed progress", () => {
  test("is not paced for a request without credit, also after a $ws:credit", async () => {
    const { peer } = await serving(async (ctx) => {
      await ctx.progress({ i: 0 });
      await vi.waitUntil(() => isCredited);
      for (let i = 1; i < 2_000; i++) await ctx.progress({ i });
      return { sent: 2_000 };
    });
    let isCredited = false;
    await start(peer, 2_000, {});
    await credit(peer, 1);
    isCredited = true;
    await vi.waitUntil(() => last(peer) === "ROWS_END");
    expect(items(peer)).toEqual(upTo(2_000));
  });

  test("stops at the reader's credit, and continues with each $ws:credit until the response", async () => {
    const log = { sent: 0 };
    const { peer } = await serving(producer(log));
    await start(peer, 100, { $c: 10 });
    await vi.waitUntil(() => log.sent === 10);
    expect(items(peer)).toEqual(upTo(10));
    await credit(peer, 40);
    await vi.waitUntil(() => log.sent === 50);
    await credit(peer, 1_000);
    await vi.waitUntil(() => last(peer) === "ROWS_END");
    expect(items(peer)).toEqual(upTo(100));
  });

  test("is not limited by credit for a client that sends none, but waits while the socket is over its limit", async () => {
    const log = { sent: 0 };
    const { peer } = await serving(producer(log), { socketBufferLimitBytes: 1_000 });
    peer.pause();
    await start(peer, 100, {});
    await vi.waitUntil(() => log.sent > 3);
    const before = log.sent;
    expect(before).toBeLessThan(20);
    while (last(peer) !== "ROWS_END") {
      await peer.resume();
      peer.pause();
    }
    expect(items(peer)).toEqual(upTo(100));
  });

  test("is complete before the response, although the handler replies while items wait", async () => {
    const { peer } = await serving(async (ctx) => {
      for (let i = 0; i < 20; i++) void ctx.progress({ i });
      ctx.reply(Rows.response, { sent: 20 });
      ctx.reply(Rows.response, { sent: -1 });
      ctx.error("ABORTED");
    });
    await start(peer, 0, { $c: 5 });
    expect(items(peer)).toEqual(upTo(5));
    await credit(peer, 20);
    expect(items(peer)).toEqual(upTo(20));
    expect(peer.frames.at(-1)).toMatchObject({ type: "ROWS_END", payload: { sent: 20 } });
  });

  test("throws when more than 64 items wait to be sent", async () => {
    let thrown: unknown;
    const { peer } = await serving(async (ctx) => {
      try {
        for (let i = 0; i < 200; i++) void ctx.progress({ i });
      } catch (error) {
        thrown = error;
      }
      return { sent: 0 };
    });
    await start(peer, 0, { $c: 10 });
    await credit(peer, 100);
    expect(thrown).toMatchObject({ code: "RESOURCE_EXHAUSTED", message: expect.stringContaining("Await") });
    expect(items(peer)).toEqual(upTo(74));
  });

  test("that does not match its schema is INTERNAL, and onError gets the message type and the field", async () => {
    const { peer, errors } = await serving(async (ctx) => {
      await ctx.progress({ i: "one" } as never);
    });
    await start(peer, 1);
    expect(last(peer)).toBe("INTERNAL");
    expect(errors).toEqual([expect.stringContaining("ROWS INTERNAL The progress of ROWS does not match")]);
  });

  test("ignores $ws:credit for a request without a response to wait for, and refuses one without a number", async () => {
    const { peer } = await serving(producer());
    await credit(peer, 5);
    expect(peer.frames.filter(({ type }) => type === "$ws:error")).toEqual([]);
    await credit(peer, -1);
    expect(last(peer)).toBe("INVALID_ARGUMENT");
  });
});

describe("a stream ends", () => {
  test("within one item when its caller cancels it, and ctx.progress() rejects without a report to onError", async () => {
    const log: Parameters<typeof producer>[0] = { sent: 0 };
    const { peer, errors } = await serving(producer(log));
    await start(peer, 1_000);
    await vi.waitUntil(() => log.sent === 64);
    await abort(peer, "r");
    await vi.waitUntil(() => log.error !== undefined);
    expect(log).toMatchObject({ sent: 64, aborted: true, error: { code: "CANCELLED" } });
    expect(last(peer)).toBe("CANCELLED");
    expect(errors).toEqual([]);
  });

  test.each([
    ["its caller cancels it", (peer: TestConnection) => abort(peer, "r", "s")],
    ["its connection is lost", (peer: TestConnection) => peer.disconnect()],
  ])("when %s, and a handler that throws the reason of its abortSignal has not failed", async (_, end) => {
    const log: string[] = [];
    const { peer, errors } = await serving(async (ctx) => {
      const signal = ctx.payload.n === 1 ? ctx.abortSignal : undefined;
      await new Promise<void>((resolve) => ctx.onCancel(resolve));
      log.push("stopped");
      (signal ?? ctx.abortSignal).throwIfAborted();
    });
    await start(peer, 1);
    await start(peer, 2, { correlationId: "s" });
    await end(peer);
    await vi.waitUntil(() => log.length === 2);
    expect(errors).toEqual([]);
  });

  test("with its response after the items before it, although the handler throws and a hook suppresses the error", async () => {
    const router = createRouter()
      .onError(() => false)
      .rpc(Rows, (ctx) => {
        void ctx.progress({ i: 0 });
        void ctx.progress({ i: 1 });
        ctx.reply(Rows.response, { sent: 2 });
        throw new Error("too late");
      });
    const peer = await createTestServer(router).connect();
    await start(peer, 2, { $c: 1 });
    await credit(peer, 5);
    expect(items(peer)).toEqual([0, 1]);
    expect(last(peer)).toBe("ROWS_END");
  });

  test("with CANCELLED when the reader takes no item for slowConsumerTimeoutMs, and the connection lives", async () => {
    const log: Parameters<typeof producer>[0] = { sent: 0 };
    const { server, peer } = await serving(producer(log), { slowConsumerTimeoutMs: 1_000 });
    await start(peer, 1_000, { $c: 64, timeoutMs: 9_000 });
    await vi.waitUntil(() => log.sent === 64);
    await server.clock.advance(900);
    expect(log.aborted).toBeUndefined();
    await credit(peer, 1);
    await server.clock.advance(900);
    expect(log.aborted).toBeUndefined();
    await server.clock.advance(400);
    expect([log.aborted, last(peer), peer.closedWith]).toEqual([true, "CANCELLED", undefined]);
  });

  test("with DEADLINE_EXCEEDED after timeoutMs of silence, which each item begins again", async () => {
    let next = (): void => undefined;
    const { server, peer } = await serving(async (ctx) => {
      for (let i = 0; i < 3; i++) {
        await new Promise<void>((resolve) => {
          next = resolve;
        });
        await ctx.progress({ i });
      }
      await new Promise(() => undefined);
    });
    await start(peer, 3, { $c: 64, timeoutMs: 1_000 });
    for (let i = 1; i <= 3; i++) {
      await server.clock.advance(900);
      next();
      await vi.waitUntil(() => items(peer).length === i);
    }
    await server.clock.advance(900);
    expect(last(peer)).toBe("$ws:rpc-progress");
    await server.clock.advance(200);
    expect(last(peer)).toBe("DEADLINE_EXCEEDED");
  });

  test("with DEADLINE_EXCEEDED at its deadlineMs, however busy it is", async () => {
    const { server, peer } = await serving(async (ctx) => {
      for (let i = 0; ; i++) {
        await ctx.progress({ i });
        await new Promise<void>((resolve) => server.clock.setTimeout(resolve, 100));
      }
    });
    await start(peer, 0, { $c: 1_000, $d: 1_000, timeoutMs: 500 });
    await server.clock.advance(950);
    expect(last(peer)).toBe("$ws:rpc-progress");
    await server.clock.advance(100);
    expect(last(peer)).toBe("DEADLINE_EXCEEDED");
  });

  test("with UNAVAILABLE after the grace period of a drain", async () => {
    const router = createRouter().rpc(Rows, producer());
    const attached = vi.spyOn(router, "attach");
    const server = createTestServer(router);
    const peer = await server.connect();
    await start(peer, 1_000);
    const drained = drain(attached.mock.results[0]?.value, 30_000);
    await server.clock.advance(900);
    expect(last(peer)).not.toBe("UNAVAILABLE");
    await server.clock.advance(200);
    expect(peer.frames.at(-1)).toMatchObject({ type: "$ws:error", payload: { code: "UNAVAILABLE" } });
    await server.clock.advance(2_000);
    expect(await drained).toEqual({ forced: 0 });
  });
});
