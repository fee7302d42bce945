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

describe.each(libraries)("protocol: Close codes ($name)", ({ createRouter, message, string }) => {
  const Close = message("CLOSE", { reason: string() });

  test("onClose receives the server's own code within a second, never 1006, and a peer that does not read is terminated", async () => {
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

  test("a reason that is too long for a close frame is cut at a character", async () => {
    const { connect } = await start(
      createRouter().on(Close, (ctx) => ctx.ws.close(4000, ctx.payload.reason)),
    );
    const peer = await connect();
    peer.send({ type: "CLOSE", payload: { reason: "é".repeat(100) } });
    expect(await peer.closed).toEqual({ code: 4000, reason: "é".repeat(61) });
  });

  test("a code that is not allowed in a close frame throws", async () => {
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

  test("ws.close() without arguments closes with 1000, and the server handles and sends nothing after it", async () => {
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

describe.each(libraries)("guide/graceful-shutdown: Graceful shutdown ($name)", ({ createRouter, rpc }) => {
  const Call = rpc("CALL", undefined, "CALLED", undefined);

  test("stop() closes with 1012, frees the port and is idempotent", async () => {
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

  describe("drain()", () => {
    test("sends $ws:drain to halyard peers, answers their requests and then closes them with 1012", async () => {
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

    test("closes a peer that stays after a grace period of one second", async () => {
      const { handle, connect } = await start(createRouter());
      const peer = await connect();
      const startedAt = performance.now();
      await handle.drain();
      expect((await peer.closed).code).toBe(1012);
      expect(performance.now() - startedAt).toBeGreaterThan(950);
    });

    test("resolves immediately when no connection is open", async () => {
      const { handle } = await start(createRouter());
      // Fake timers that never advance prove that drain waits for none.
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
      expect(await handle.drain()).toEqual({ forced: 0 });
    });

    test("aborts the rest after drainTimeoutMs: requests receive UNAVAILABLE and count as forced, and the server closes with 1012", async () => {
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

    test("waits for 10,000 ms unless drainTimeoutMs is given", async () => {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
      const { handle, connect } = await start(createRouter().rpc(Call, unsettled));
      const peer = await connect();
      peer.send({ type: "CALL", meta: { correlationId: "1" } });
      await peer.caughtUp();
      const drained = handle.drain();
      await vi.advanceTimersByTimeAsync(9_900);
      // A WebSocket ping shows that earlier frames have arrived, and unlike a wait it does not move this clock.
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

describe("guide/graceful-shutdown: Graceful shutdown", () => {
  test("SIGTERM drains every running server unless handleSignals is false", async () => {
    const [library] = libraries;
    if (library === undefined) throw new Error("The list of libraries is empty");
    const keepAlive = () => undefined;
    // With its own listener, the application decides when the process ends.
    process.on("SIGTERM", keepAlive);
    onTestFinished(() => void process.removeListener("SIGTERM", keepAlive));
    const listeners = process.listenerCount("SIGTERM");
    const { connect } = await start(library.createRouter(), { handleSignals: true });
    const ignoring = await start(library.createRouter(), { handleSignals: false });
    expect(process.listenerCount("SIGTERM")).toBe(listeners + 1);
    const [draining, ignored] = [await connect(), await ignoring.connect()];
    process.emit("SIGTERM", "SIGTERM");
    await draining.frame("$ws:drain");
    expect((await draining.closed).code).toBe(1012);
    await ignored.caughtUp();
    expect(framesOf(ignored, "$ws:drain")).toEqual([]);
    await vi.waitFor(() => expect(process.listenerCount("SIGTERM")).toBe(listeners), 10_000);
  });
});
