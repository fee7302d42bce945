import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import type { RpcContext } from "../../src/index.ts";
import { createTestServer } from "../../src/testing/index.ts";
import { answersTo, errorsOf, framesOf, outcomeOf, sendFrame, unsettled } from "./frames.ts";
import { libraries } from "./libraries.ts";

describe.each(libraries)("guide/rpc: How a request ends ($name)", ({ createRouter, rpc, number }) => {
  const Call = rpc("CALL", { n: number() }, "CALLED", { n: number() });
  type Call = typeof Call;

  /** A request in progress that the test controls. */
  async function inProgress(options = {}, meta = {}) {
    const calls: RpcContext<Call>[] = [];
    const router = createRouter(options).rpc(Call, (ctx) => {
      calls.push(ctx);
      return unsettled();
    });
    const server = createTestServer(router);
    const peer = await server.connect();
    await peer.send(Call, { n: 1 }, { correlationId: "1", ...meta });
    const [call] = calls;
    if (call === undefined) throw new Error("the handler did not run");
    const log: string[] = [];
    call.onCancel(() => log.push("cancelled"));
    call.abortSignal.addEventListener("abort", () => log.push("aborted"));
    return { server, peer, call, log };
  }

  const abort = { type: "$ws:abort", meta: { correlationId: "1" } };

  test("progress is sent as $ws:rpc-progress and leaves the request in progress", async () => {
    const { server, peer, call } = await inProgress();
    expect(call.progress({ at: 1 })).toBe(true);
    expect(call.progress("half")).toBe(true);
    expect(framesOf(peer, "$ws:rpc-progress")).toEqual([
      {
        type: "$ws:rpc-progress",
        meta: { correlationId: "1", timestamp: server.clock.wall() },
        payload: { at: 1 },
      },
      {
        type: "$ws:rpc-progress",
        meta: { correlationId: "1", timestamp: server.clock.wall() },
        payload: "half",
      },
    ]);
    call.reply(Call.response, { n: 2 });
    expect(outcomeOf(peer, "1")).toBe("CALLED");
  });

  test("progress dropped on backpressure leaves the request in progress", async () => {
    const { peer, call } = await inProgress({ socketBufferLimitBytes: 300 });
    peer.pause();
    expect(call.progress("x".repeat(300))).toBe(true);
    expect(call.progress("dropped")).toBe(false);
    await peer.resume();
    expect(call.progress("again")).toBe(true);
    call.reply(Call.response, { n: 2 });
    expect(outcomeOf(peer, "1")).toBe("CALLED");
  });

  test("the first reply ends the request with a response that carries its correlationId", async () => {
    const { server, peer, call } = await inProgress();
    call.reply(Call.response, { n: 2 });
    expect(answersTo(peer, "1")).toEqual([
      { type: "CALLED", meta: { correlationId: "1", timestamp: server.clock.wall() }, payload: { n: 2 } },
    ]);
  });

  test("later replies are ignored", async () => {
    const { peer, call } = await inProgress();
    call.reply(Call.response, { n: 1 });
    call.reply(Call.response, { n: 2 });
    expect(await call.reply(Call.response, { n: 3 }, { waitFor: "drain" })).toBe(false);
    expect(answersTo(peer, "1").map((frame) => frame.payload)).toEqual([{ n: 1 }]);
  });

  test("ctx.error ends the request with an error", async () => {
    const { peer, call } = await inProgress();
    call.error("FAILED_PRECONDITION", "not yet");
    expect(outcomeOf(peer, "1")).toBe("FAILED_PRECONDITION");
  });

  test("replies, errors and progress after the end send no frame", async () => {
    const { peer, call } = await inProgress();
    call.error("FAILED_PRECONDITION");
    call.reply(Call.response, { n: 1 });
    call.error("NOT_FOUND");
    expect(call.progress("late")).toBe(false);
    expect(outcomeOf(peer, "1")).toBe("FAILED_PRECONDITION");
    expect(framesOf(peer, "$ws:rpc-progress")).toEqual([]);
  });

  test("a client abort ends the request with CANCELLED and fires onCancel and abortSignal once", async () => {
    const { peer, call, log } = await inProgress();
    await sendFrame(peer, abort);
    await sendFrame(peer, abort);
    expect(outcomeOf(peer, "1")).toBe("CANCELLED");
    expect(log.sort()).toEqual(["aborted", "cancelled"]);
    call.reply(Call.response, { n: 1 });
    expect(outcomeOf(peer, "1")).toBe("CANCELLED");
  });

  test.each([
    ["the reason of its abortSignal", ({ abortSignal }: RpcContext<Call>) => abortSignal.throwIfAborted()],
    [
      "an error caused by that reason",
      ({ abortSignal }: RpcContext<Call>) => sleep(1, undefined, { signal: abortSignal }),
    ],
  ])(
    "a cancelled handler that throws %s has not failed, and any other error is reported",
    async (_, stop) => {
      const reported: string[] = [];
      const ended = Promise.withResolvers<void>();
      const router = createRouter()
        .onError((error) => void reported.push(error.message))
        .rpc(Call, async (ctx) => {
          await ended.promise;
          if (ctx.payload.n === 2) throw new Error("lost");
          await stop(ctx);
          return { n: 1 };
        });
      const peer = await createTestServer(router).connect();
      for (const n of [1, 2]) await peer.send(Call, { n }, { correlationId: `${n}` });
      for (const id of ["1", "2"]) await sendFrame(peer, { type: "$ws:abort", meta: { correlationId: id } });
      ended.resolve();
      await vi.waitFor(() => expect(reported).toEqual(["lost"]));
      expect(outcomeOf(peer, "1")).toBe("CANCELLED");
    },
  );

  test("a closed connection cancels the request and fires onCancel and abortSignal once", async () => {
    const { peer, log } = await inProgress();
    await peer.disconnect();
    expect(log.sort()).toEqual(["aborted", "cancelled"]);
    expect(answersTo(peer, "1")).toEqual([]);
  });

  test("the server generates a missing correlationId for the handler and the response", async () => {
    const ids: string[] = [];
    const router = createRouter().rpc(Call, (ctx) => {
      ids.push(ctx.meta.correlationId);
      ctx.reply(Call.response, ctx.payload);
    });
    const peer = await createTestServer(router).connect();
    await peer.send(Call, { n: 1 });
    await peer.send(Call, { n: 2 });
    expect(new Set(ids).size).toBe(2);
    expect(framesOf(peer, "CALLED").map((frame) => frame.meta["correlationId"])).toEqual(ids);
  });

  test("a handler may keep its context and reply after it has returned", async () => {
    const { server, peer, call } = await inProgress();
    await server.clock.advance(10_000);
    call.reply(Call.response, { n: 5 });
    expect(outcomeOf(peer, "1")).toBe("CALLED");
  });

  test("a request whose handler never replies ends at its deadline, and the connection stays open", async () => {
    const { server, peer, log } = await inProgress();
    await server.clock.advance(30_000);
    expect(outcomeOf(peer, "1")).toBe("DEADLINE_EXCEEDED");
    expect(log.sort()).toEqual(["aborted", "cancelled"]);
    expect(peer.closedWith).toBeUndefined();
  });

  test("a change of the wall clock does not move a deadline", async () => {
    const { server, peer, call } = await inProgress();
    const { clock } = server;
    const epoch = clock.wall();
    for (const jump of [3_600_000, -3_600_000]) {
      vi.spyOn(clock, "wall").mockImplementation(() => epoch + jump + clock.now());
      await clock.advance(14_000);
      expect(answersTo(peer, "1")).toEqual([]);
    }
    expect(call.timeRemaining()).toBe(2_000);
    await clock.advance(2_000);
    expect(outcomeOf(peer, "1")).toBe("DEADLINE_EXCEEDED");
  });

  test("the caller's timeoutMs is the deadline, measured by the server's clock", async () => {
    const server = createTestServer(createRouter().rpc(Call, unsettled));
    const peer = await server.connect();
    await peer.send(Call, { n: 1 }, { correlationId: "1", timeoutMs: 800, timestamp: 1 });
    await server.clock.advance(799);
    expect(answersTo(peer, "1")).toEqual([]);
    await server.clock.advance(1);
    expect(outcomeOf(peer, "1")).toBe("DEADLINE_EXCEEDED");
  });

  test.each([
    [0, 1],
    [-5, 1],
    [1, 1],
    [299_999, 299_999],
    [300_000, 300_000],
    [9e9, 300_000],
  ])("a caller's timeoutMs of %d is used as %d", async (timeoutMs, expected) => {
    const left: number[] = [];
    const router = createRouter().rpc(Call, (ctx) => {
      left.push(ctx.timeRemaining());
      ctx.reply(Call.response, ctx.payload);
    });
    const peer = await createTestServer(router).connect();
    await peer.send(Call, { n: 1 }, { timeoutMs });
    expect(left).toEqual([expected]);
  });

  test.each([
    [600_000, 600_000],
    [9e9, 900_000],
    [2_000, 2_000],
  ])(
    "with an rpcTimeoutMs of 900,000, a caller's timeoutMs of %d is used as %d",
    async (timeoutMs, expected) => {
      const { server, peer, call } = await inProgress({ rpcTimeoutMs: 900_000 }, { timeoutMs });
      expect(call.timeRemaining()).toBe(expected);
      await server.clock.advance(expected - 1);
      expect(answersTo(peer, "1")).toEqual([]);
      await server.clock.advance(1);
      expect(outcomeOf(peer, "1")).toBe("DEADLINE_EXCEEDED");
    },
  );

  test("a correlationId that is in flight is refused with ALREADY_EXISTS without the id in meta, and the request in flight continues", async () => {
    const { peer, call } = await inProgress();
    await peer.send(Call, { n: 2 }, { correlationId: "1" });
    expect(answersTo(peer, "1")).toEqual([]);
    expect(errorsOf(peer)).toMatchObject([{ code: "ALREADY_EXISTS", details: { correlationId: "1" } }]);
    call.reply(Call.response, { n: 9 });
    expect(answersTo(peer, "1").map((frame) => frame.payload)).toEqual([{ n: 9 }]);
  });

  test("a correlationId can be used again when its request has ended, and at any time on another connection", async () => {
    const { server, peer, call } = await inProgress();
    call.reply(Call.response, { n: 1 });
    await peer.send(Call, { n: 2 }, { correlationId: "1" });
    const other = await server.connect();
    await other.send(Call, { n: 3 }, { correlationId: "1" });
    expect([...errorsOf(peer), ...errorsOf(other)]).toEqual([]);
  });

  test("the error of a request over maxInflightRpcsPerSocket has retryAfterMs", async () => {
    const { peer } = await inProgress({ maxInflightRpcsPerSocket: 1 });
    await peer.send(Call, { n: 2 }, { correlationId: "2" });
    expect(errorsOf(peer)).toMatchObject([{ code: "RESOURCE_EXHAUSTED", retryAfterMs: expect.any(Number) }]);
    expect(outcomeOf(peer, "2")).toBe("RESOURCE_EXHAUSTED");
  });

  test("an idle request ends with INTERNAL in production too, and the connection stays open", async () => {
    const { server, peer, log } = await inProgress({ rpcIdleTimeoutMs: 1_600 });
    await server.clock.advance(1_600);
    expect(outcomeOf(peer, "1")).toBe("INTERNAL");
    expect(log.sort()).toEqual(["aborted", "cancelled"]);
    expect(peer.closedWith).toBeUndefined();
  });

  test.each(["reply", "error"] as const)("onCancel and abortSignal do not fire after %s", async (how) => {
    const { server, peer, call, log } = await inProgress();
    if (how === "reply") call.reply(Call.response, { n: 1 });
    else call.error("NOT_FOUND");
    await sendFrame(peer, abort);
    await server.clock.advance(60_000);
    await peer.disconnect();
    expect(log).toEqual([]);
    expect(call.abortSignal.aborted).toBe(false);
  });

  test("abortSignal is already aborted when the onCancel callbacks run", async () => {
    const { peer, call } = await inProgress();
    const aborted: boolean[] = [];
    call.onCancel(() => aborted.push(call.abortSignal.aborted));
    await sendFrame(peer, abort);
    expect(aborted).toEqual([true]);
  });

  test("an onCancel callback that throws is reported to onError, and the other callbacks still run", async () => {
    const codes: string[] = [];
    const log: string[] = [];
    const router = createRouter()
      .onError((error) => void codes.push(error.code))
      .rpc(Call, (ctx) => {
        ctx.onCancel(() => {
          throw new Error("boom");
        });
        ctx.onCancel(() => log.push("ran"));
        return unsettled();
      });
    const peer = await createTestServer(router).connect();
    await peer.send(Call, { n: 1 }, { correlationId: "1" });
    await sendFrame(peer, abort);
    expect([log, codes]).toEqual([["ran"], ["INTERNAL"]]);
    expect(outcomeOf(peer, "1")).toBe("CANCELLED");
  });

  test("an abort for a request that has ended or does not exist sends no frame", async () => {
    const { peer, call } = await inProgress();
    call.reply(Call.response, { n: 1 });
    const before = peer.frames.length;
    await sendFrame(peer, abort);
    await sendFrame(peer, { type: "$ws:abort", meta: { correlationId: "never" } });
    expect(peer.frames).toHaveLength(before);
  });
});
