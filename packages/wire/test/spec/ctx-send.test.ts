import { describe, expect, test } from "vitest";
import { type EventContext, WsError } from "../../src/index.ts";
import { createTestServer } from "../../src/testing/index.ts";
import { errorsOf, framesOf, outcomeOf, sendFrame } from "./frames.ts";
import { libraries } from "./libraries.ts";

describe.each(libraries)(
  "guide/rpc: Delivery confirmation ($name)",
  ({ createRouter, message, rpc, string }) => {
    const Go = message("GO");
    const Note = message("NOTE", { text: string() });

    /** A peer, and the context of one event that it sent. */
    async function handling(options: { greets?: boolean; socketBufferLimitBytes?: number } = {}) {
      const contexts: EventContext[] = [];
      const { greets = true, ...routerOptions } = options;
      const server = createTestServer(
        createRouter(routerOptions).on(Go, (ctx) => contexts.push(ctx as unknown as EventContext)),
      );
      const peer = await server.connect({ greets });
      await peer.send(Go);
      const [ctx] = contexts;
      if (ctx === undefined) throw new Error("the handler did not run");
      return { server, peer, ctx };
    }

    /** Records the value of a promise without waiting for it. */
    function follow(promise: Promise<boolean>): (boolean | "pending")[] {
      const state: (boolean | "pending")[] = ["pending"];
      void promise.then((value) => {
        state[0] = value;
      });
      return state;
    }

    const settled = { type: "$ws:ping" };

    test("send without waitFor returns undefined after it has sent the frame", async () => {
      const { peer, ctx } = await handling();
      expect(ctx.send(Note, { text: "hi" })).toBeUndefined();
      expect(peer.received(Note)).toEqual([{ text: "hi" }]);
    });

    test("send throws INTERNAL and sends nothing when the payload does not match the schema", async () => {
      const { peer, ctx } = await handling();
      for (const bad of [{ text: 1 }, { text: "x", extra: 1 }, undefined]) {
        const sending = () => ctx.send(Note, bad as never);
        expect(sending).toThrow(expect.objectContaining({ name: "WsError", code: "INTERNAL" }));
      }
      expect(() => ctx.send(Go, { text: "x" } as never)).toThrow(/declares no payload/);
      expect(peer.received(Note)).toEqual([]);
    });

    test("send adds a timestamp, and neither clientId nor receivedAt", async () => {
      const { server, peer, ctx } = await handling();
      await server.clock.advance(777);
      ctx.send(Note, { text: "hi" });
      ctx.send(Note, { text: "hi" }, { inheritCorrelationId: true });
      for (const frame of framesOf(peer, "NOTE"))
        expect(frame.meta).toEqual({ timestamp: server.clock.wall() });
    });

    test("send in a request handler leaves the request open until reply", async () => {
      const Ask = rpc("ASK", undefined, "ANSWER", undefined);
      const router = createRouter().rpc(Ask, (ctx) => {
        ctx.send(Note, { text: "side effect" });
        expect(ctx.timeRemaining()).toBe(30_000);
        ctx.reply(Ask.response);
      });
      const peer = await createTestServer(router).connect();
      await peer.send(Ask, undefined, { correlationId: "1" });
      expect(peer.frames.slice(1).map((frame) => frame.type)).toEqual(["NOTE", "ANSWER"]);
      expect(outcomeOf(peer, "1")).toBe("ANSWER");
    });

    test("waitFor drain is true immediately while the buffer is under socketBufferLimitBytes", async () => {
      const { ctx } = await handling();
      expect(await ctx.send(Note, { text: "hi" }, { waitFor: "drain" })).toBe(true);
    });

    test("waitFor drain is true once the buffer is back under the limit", async () => {
      const { peer, ctx } = await handling({ socketBufferLimitBytes: 200 });
      peer.pause();
      const drained = follow(ctx.send(Note, { text: "x".repeat(200) }, { waitFor: "drain" }));
      await sendFrame(peer, settled);
      expect(drained).toEqual(["pending"]);
      await peer.resume();
      expect(drained).toEqual([true]);
    });

    test("waitFor drain is false when the frame was dropped", async () => {
      const { peer, ctx } = await handling();
      await peer.disconnect();
      expect(await ctx.send(Note, { text: "hi" }, { waitFor: "drain" })).toBe(false);
    });

    test.each(["the connection closes", "the signal aborts"])(
      "waitFor drain is false when %s",
      async (when) => {
        const { peer, ctx } = await handling({ socketBufferLimitBytes: 200 });
        const controller = new AbortController();
        peer.pause();
        const drained = follow(
          ctx.send(Note, { text: "x".repeat(200) }, { waitFor: "drain", signal: controller.signal }),
        );
        if (when === "the signal aborts") {
          controller.abort();
          await sendFrame(peer, settled);
        } else await peer.disconnect();
        expect(drained).toEqual([false]);
      },
    );

    test("waitFor ack sends a marker after the frame and is true once the peer returns it", async () => {
      const { peer, ctx } = await handling();
      const acknowledged = follow(ctx.send(Note, { text: "hi" }, { waitFor: "ack" }));
      await sendFrame(peer, settled);
      expect(acknowledged).toEqual(["pending"]);
      expect(peer.frames.slice(1).map((frame) => frame.type)).toEqual(["NOTE", "$ws:sync", "$ws:pong"]);
      const [marker] = framesOf(peer, "$ws:sync");
      expect(marker?.payload).toEqual({ id: expect.any(String) });
      await sendFrame(peer, { type: "$ws:synced", meta: {}, payload: { id: "another" } });
      expect(acknowledged).toEqual(["pending"]);
      await sendFrame(peer, { type: "$ws:synced", meta: {}, payload: marker?.payload });
      expect(acknowledged).toEqual([true]);
      expect(errorsOf(peer)).toEqual([]);
    });

    test("waitFor ack is false after rpcTimeoutMs, and not before", async () => {
      const { server, ctx } = await handling();
      const acknowledged = follow(ctx.send(Note, { text: "hi" }, { waitFor: "ack" }));
      await server.clock.advance(29_999);
      expect(acknowledged).toEqual(["pending"]);
      await server.clock.advance(1);
      expect(acknowledged).toEqual([false]);
    });

    test.each(["the connection closes", "the signal aborts"])(
      "waitFor ack is false when %s",
      async (when) => {
        const { peer, ctx } = await handling();
        const controller = new AbortController();
        const acknowledged = follow(
          ctx.send(Note, { text: "hi" }, { waitFor: "ack", signal: controller.signal }),
        );
        if (when === "the signal aborts") {
          controller.abort();
          await sendFrame(peer, settled);
        } else await peer.disconnect();
        expect(acknowledged).toEqual([false]);
      },
    );

    test("waitFor ack to a plain peer is false immediately and sends no marker", async () => {
      const { peer, ctx } = await handling({ greets: false });
      expect(await ctx.send(Note, { text: "hi" }, { waitFor: "ack" })).toBe(false);
      expect(peer.frames.map((frame) => frame.type)).toEqual(["NOTE"]);
    });
  },
);

describe.each(libraries)("guide/rpc: Context methods ($name)", ({ createRouter, message, rpc, string }) => {
  const Note = message("NOTE", { text: string() });
  const Go = message("GO");

  test("an uncaught invalid payload ends the request with one INTERNAL", async () => {
    const Ask = rpc("ASK", undefined, "ANSWER", { text: string() });
    const router = createRouter()
      .rpc(Ask, (ctx) => ctx.send(Note, { text: 1 } as never))
      .on(Go, (ctx) => ctx.send(Note, { text: 1 } as never));
    const peer = await createTestServer(router).connect();
    await peer.send(Ask, undefined, { correlationId: "1" });
    await peer.send(Go);
    expect(outcomeOf(peer, "1")).toBe("INTERNAL");
    expect(errorsOf(peer).map(({ code }) => code)).toEqual(["INTERNAL", "INTERNAL"]);
  });

  test("reply throws INTERNAL for an invalid payload or another schema, and the handler can still reply", async () => {
    const Ask = rpc("ASK", undefined, "ANSWER", { text: string() });
    const thrown: unknown[] = [];
    const attempt = (reply: () => void) => {
      try {
        reply();
      } catch (error) {
        thrown.push(error);
      }
    };
    const router = createRouter().rpc(Ask, (ctx) => {
      attempt(() => ctx.reply(Ask.response, { text: 1 } as never));
      attempt(() => ctx.reply(Note as never, { text: "x" }));
      ctx.reply(Ask.response, { text: "fine" });
    });
    const peer = await createTestServer(router).connect();
    expect(await peer.request(Ask)).toEqual({ text: "fine" });
    expect(thrown.map((error) => WsError.isWsError(error) && error.code)).toEqual(["INTERNAL", "INTERNAL"]);
  });

  test.each([
    ["a payload that does not fit", (_response: unknown) => [_response, { text: 1 }]],
    ["another schema than the route's response", () => [Note, { text: "x" }]],
  ])("an uncaught reply with %s ends the request with one INTERNAL", async (_what, make) => {
    const Ask = rpc("ASK", undefined, "ANSWER", { text: string() });
    const router = createRouter().rpc(Ask, (ctx) => {
      const [schema, payload] = make(Ask.response);
      ctx.reply(schema as never, payload as never);
    });
    const peer = await createTestServer(router).connect();
    await peer.send(Ask, undefined, { correlationId: "1" });
    expect(outcomeOf(peer, "1")).toBe("INTERNAL");
    expect(peer.received(Note)).toEqual([]);
  });
});
