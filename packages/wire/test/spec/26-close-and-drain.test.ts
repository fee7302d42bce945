import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createTestServer } from "../../src/testing/index.ts";
import { PATIENCE_MS } from "../fixtures/patience.ts";
import { answersTo, framesOf, gate, unsettled } from "./frames.ts";
import { libraries } from "./libraries.ts";
import { RawPeer, start } from "./network.ts";

beforeEach(() => {
  vi.spyOn(console, "info").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe.each(libraries)("close, stop and drain, with $name", ({ createRouter, message, rpc, string }) => {
  const Call = rpc("CALL", undefined, "CALLED", undefined);
  const Close = message("CLOSE", { reason: string() });

  describe("close", () => {
    test("onClose gets the code the server chose, never 1006, at most a second after; a peer that does not read is terminated [Finer points: Close]", async () => {
      const closed: [number, number][] = [];
      const chosenAt: number[] = [];
      const router = createRouter()
        .on(Close, (ctx) => {
          chosenAt.push(performance.now());
          ctx.ws.close(4000, ctx.payload.reason);
        })
        .onClose((ctx) => closed.push([ctx.code, performance.now()]));
      const { connect } = await start(router);
      const peer = await connect();
      peer.send({ type: "CLOSE", payload: { reason: "enough" } });
      peer.socket.pause();
      await vi.waitFor(() => expect(closed).toHaveLength(1), 10_000);
      const [code, at] = closed[0] ?? [0, 0];
      expect(code).toBe(4000);
      expect(at - (chosenAt[0] ?? 0)).toBeLessThan(1_000 + PATIENCE_MS);
    });

    test("a reason longer than a close frame holds is cut at a character [Finer points: Close]", async () => {
      const { connect } = await start(
        createRouter().on(Close, (ctx) => ctx.ws.close(4000, ctx.payload.reason)),
      );
      const peer = await connect();
      peer.send({ type: "CLOSE", payload: { reason: "é".repeat(100) } });
      expect(await peer.closed).toEqual({ code: 4000, reason: "é".repeat(61) });
    });

    test("a code that may not stand in a close frame throws [Finer points: Shapes]", async () => {
      const thrown: unknown[] = [];
      const router = createRouter().onOpen((ctx) => {
        for (const code of [999, 1005, 1006, 1015, 2_000, 5_000]) {
          try {
            ctx.ws.close(code);
          } catch (error) {
            thrown.push(error);
          }
        }
      });
      const peer = await createTestServer(router).connect();
      expect(thrown).toHaveLength(6);
      expect(peer.closedWith).toBeUndefined();
    });

    test("ws.close() without arguments closes with 1000; nothing is handled or sent after [Finer points: Shapes]", async () => {
      const handled: string[] = [];
      const router = createRouter().on(Close, (ctx) => {
        handled.push(ctx.payload.reason);
        ctx.ws.close();
        ctx.send(Close, { reason: "too late" });
      });
      const peer = await createTestServer(router).connect();
      await peer.send(Close, { reason: "first" });
      await peer.send(Close, { reason: "second" });
      expect(peer.closedWith?.code).toBe(1000);
      expect(handled).toEqual(["first"]);
      expect(framesOf(peer, "CLOSE")).toEqual([]);
    });
  });

  describe("stop", () => {
    test("stop() closes with 1012, frees the port and is idempotent [Finer points: Shapes]", async () => {
      const codes: number[] = [];
      const router = createRouter().onClose((ctx) => codes.push(ctx.code));
      const { handle, connect } = await start(router);
      const peer = await connect();
      await Promise.all([handle.stop(), handle.stop()]);
      await handle.stop();
      expect((await peer.closed).code).toBe(1012);
      expect(codes).toEqual([1012]);
      const again = await start(router, { port: handle.port });
      await again.connect();
    });
  });

  describe("drain", () => {
    test("halyard peers are told by $ws:drain, what they asked before their close is answered, then they are closed with 1012 [Decisions: Close codes]", async () => {
      const answer = gate();
      const router = createRouter().rpc(Call, async (ctx) => {
        await answer.opened;
        ctx.reply(Call.response);
      });
      const { handle, connect, open } = await start(router);
      const [peer, plain] = [await connect(), await connect({ protocols: [] })];
      const before = peer.ask("CALL");
      await peer.caughtUp();
      const drained = handle.drain();
      expect((await peer.frame("$ws:drain")).payload).toEqual({ retryAfterMs: expect.any(Number) });
      const after = peer.ask("CALL");
      await peer.caughtUp();
      const late = open();
      expect(await late.closed).toEqual({ code: 1013, reason: expect.stringMatching(/^retryAfterMs=\d+$/) });
      expect(late.frames).toEqual([]);
      const latePlain = open({ protocols: [] });
      expect(await latePlain.outcome).toBe(503);
      expect(Number(latePlain.headers["retry-after"])).toBeGreaterThan(0);
      answer.open();
      expect([(await before).type, (await after).type]).toEqual(["CALLED", "CALLED"]);
      expect(await peer.closed).toEqual({ code: 1012, reason: expect.stringMatching(/^retryAfterMs=\d+$/) });
      expect((await plain.closed).code).toBe(1012);
      expect(plain.frames).toEqual([]);
      expect(await drained).toEqual({ forced: 0 });
      await expect(new RawPeer(handle.port).outcome).rejects.toMatchObject({ code: "ECONNREFUSED" });
    });

    test("a peer that stays is closed after a grace of a second, not before [Finer points: Shapes]", async () => {
      const { handle, connect } = await start(createRouter());
      const peer = await connect();
      const startedAt = performance.now();
      await handle.drain();
      expect((await peer.closed).code).toBe(1012);
      expect(performance.now() - startedAt).toBeGreaterThan(950);
    });

    test("it resolves at once when nobody is connected [Finer points: Shapes]", async () => {
      const { handle } = await start(createRouter());
      // No timer goes off, so there is none it waits for.
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
      expect(await handle.drain()).toEqual({ forced: 0 });
    });

    test("after drainTimeoutMs the rest is forced: counted, answered UNAVAILABLE, cancelled, closed with 1012 [Finer points: Cancel]", async () => {
      const log: string[] = [];
      const router = createRouter().rpc(Call, (ctx) => {
        ctx.onCancel(() => log.push("cancelled"));
        ctx.abortSignal.addEventListener("abort", () => log.push("aborted"));
        return unsettled();
      });
      const { handle, connect } = await start(router, { drainTimeoutMs: 100 });
      const peer = await connect();
      peer.send({ type: "CALL", meta: { correlationId: "1" } });
      await peer.caughtUp();
      expect(await handle.drain()).toEqual({ forced: 1 });
      expect((await peer.closed).code).toBe(1012);
      expect(answersTo(peer, "1")).toMatchObject([{ type: "$ws:error", payload: { code: "UNAVAILABLE" } }]);
      expect(log.sort()).toEqual(["aborted", "cancelled"]);
    });

    test("drainTimeoutMs is 10,000 unless given [Options added: drainTimeoutMs]", async () => {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
      const { handle, connect } = await start(createRouter().rpc(Call, unsettled));
      const peer = await connect();
      peer.send({ type: "CALL", meta: { correlationId: "1" } });
      await peer.caughtUp();
      const drained = handle.drain();
      await vi.advanceTimersByTimeAsync(9_900);
      // What was sent until now has arrived. Waiting for a frame of ours would move this clock, too.
      const pong = once(peer.socket, "pong");
      peer.socket.ping();
      await pong;
      expect(answersTo(peer, "1")).toEqual([]);
      await vi.advanceTimersByTimeAsync(150);
      expect((await peer.closed).code).toBe(1012);
      const ticking = setInterval(() => vi.advanceTimersByTime(20), 1);
      onTestFinished(() => clearInterval(ticking));
      expect(await drained).toEqual({ forced: 1 });
    });
  });
});

test("handleSignals: SIGTERM drains every running server, unless it is false [Options added: handleSignals]", async () => {
  const [library] = libraries;
  if (library === undefined) throw new Error("there are two libraries");
  const keepAlive = () => undefined;
  // With a listener of its own, the application decides when the process ends.
  process.on("SIGTERM", keepAlive);
  onTestFinished(() => void process.removeListener("SIGTERM", keepAlive));
  const listeners = process.listenerCount("SIGTERM");
  const { connect } = await start(library.createRouter(), { handleSignals: true });
  const ignoring = await start(library.createRouter(), { handleSignals: false });
  expect(process.listenerCount("SIGTERM")).toBe(listeners + 1);
  const [told, untold] = [await connect(), await ignoring.connect()];
  process.emit("SIGTERM", "SIGTERM");
  await told.frame("$ws:drain");
  expect((await told.closed).code).toBe(1012);
  await untold.caughtUp();
  expect(framesOf(untold, "$ws:drain")).toEqual([]);
  await vi.waitFor(() => expect(process.listenerCount("SIGTERM")).toBe(listeners), 10_000);
});
