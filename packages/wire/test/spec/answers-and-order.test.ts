import { describe, expect, test, vi } from "vitest";
import { WsError } from "../../src/index.ts";
import { createTestServer } from "../../src/testing/index.ts";
import { answersTo, errorsOf, gate, outcomeOf, sendFrame, unsettled } from "./frames.ts";
import { libraries } from "./libraries.ts";

describe.each(libraries)(
  "protocol: Order, and what is not promised ($name)",
  ({ createRouter, message, rpc, string, number }) => {
    const Call = rpc("CALL", { n: number() }, "CALLED", { n: number() });
    const Note = message("NOTE", { text: string() });

    test.each<[string, string, { type: string; payload?: unknown; meta?: object }]>([
      ["a request of an unknown type", "UNIMPLEMENTED", { type: "UNKNOWN", payload: { n: 1 } }],
      ["a request with an invalid payload", "INVALID_ARGUMENT", { type: "CALL", payload: { n: "1" } }],
      ["a request without its payload", "INVALID_ARGUMENT", { type: "CALL" }],
      [
        "a request with an unknown meta key",
        "INVALID_ARGUMENT",
        { type: "CALL", payload: { n: 1 }, meta: { extra: 1 } },
      ],
      ["a request whose handler throws", "INTERNAL", { type: "CALL", payload: { n: 2 } }],
      ["a request whose handler throws a WsError", "ABORTED", { type: "CALL", payload: { n: 3 } }],
      ["a request with two replies and an error", "CALLED", { type: "CALL", payload: { n: 4 } }],
      ["a request whose handler never replies", "DEADLINE_EXCEEDED", { type: "CALL", payload: { n: 5 } }],
      [
        "a request that middleware refuses",
        "PERMISSION_DENIED",
        { type: "CALL", payload: { n: 6 }, meta: { timestamp: 6 } },
      ],
    ])("%s receives exactly one %s", async (_what, expected, frame) => {
      const router = createRouter()
        .onError(() => undefined)
        .use((ctx, next) => (ctx.meta.timestamp === 6 ? ctx.error("PERMISSION_DENIED") : next()))
        .rpc(Call, (ctx) => {
          if (ctx.payload.n === 2) throw new Error("boom");
          if (ctx.payload.n === 3) throw new WsError("ABORTED");
          if (ctx.payload.n === 5) return unsettled();
          ctx.reply(Call.response, { n: 1 });
          ctx.reply(Call.response, { n: 2 });
          ctx.error("NOT_FOUND");
          return undefined;
        });
      const server = createTestServer(router);
      const peer = await server.connect();
      await sendFrame(peer, { ...frame, meta: { ...frame.meta, correlationId: "1" } });
      await server.clock.advance(60_000);
      expect(outcomeOf(peer, "1")).toBe(expected);
    });

    test("requests beyond the limit receive RESOURCE_EXHAUSTED with retryAfterMs, and the server continues to read", async () => {
      const router = createRouter({ maxInflightRpcsPerSocket: 2 }).rpc(Call, unsettled);
      const peer = await createTestServer(router).connect();
      for (const correlationId of ["1", "2", "3", "4"]) await peer.send(Call, { n: 1 }, { correlationId });
      expect([outcomeOf(peer, "3"), outcomeOf(peer, "4")]).toEqual([
        "RESOURCE_EXHAUSTED",
        "RESOURCE_EXHAUSTED",
      ]);
      for (const error of errorsOf(peer)) expect(error.retryAfterMs).toBeGreaterThan(0);
      await sendFrame(peer, { type: "$ws:abort", meta: { correlationId: "1" } });
      expect(outcomeOf(peer, "1")).toBe("CANCELLED");
    });

    test("handlers of one connection start in order of arrival and run concurrently", async () => {
      const started: number[] = [];
      const first = gate();
      const router = createRouter().rpc(Call, async (ctx) => {
        started.push(ctx.payload.n);
        if (ctx.payload.n === 0) await first.opened;
        ctx.reply(Call.response, ctx.payload);
      });
      const peer = await createTestServer(router).connect();
      for (let n = 0; n < 10; n++) await peer.send(Call, { n }, { correlationId: `${n}` });
      expect(started).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
      expect(answersTo(peer, "0")).toEqual([]);
      expect(outcomeOf(peer, "9")).toBe("CALLED");
      first.open();
      await vi.waitFor(() => expect(outcomeOf(peer, "0")).toBe("CALLED"));
    });

    test("handlers start in order of arrival behind asynchronous middleware too", async () => {
      const log: string[] = [];
      const slow = gate();
      const router = createRouter()
        .use(async (ctx, next) => {
          if (ctx.meta.correlationId === "slow") await slow.opened;
          await next();
        })
        .on(Note, (ctx) => log.push(ctx.payload.text));
      const server = createTestServer(router);
      const [peer, other] = [await server.connect(), await server.connect()];
      await peer.send(Note, { text: "first" }, { correlationId: "slow" });
      await peer.send(Note, { text: "second" });
      await other.send(Note, { text: "of another connection" });
      expect(log).toEqual(["of another connection"]);
      slow.open();
      await vi.waitFor(() => expect(log).toEqual(["of another connection", "first", "second"]));
    });

    test("control frames do not wait behind messages: the server answers a ping and processes an abort", async () => {
      const handled: number[] = [];
      const router = createRouter()
        .use(async () => unsettled())
        .rpc(Call, (ctx) => void handled.push(ctx.payload.n));
      const peer = await createTestServer(router).connect();
      await peer.send(Call, { n: 1 }, { correlationId: "1" });
      await peer.send(Call, { n: 2 }, { correlationId: "2" });
      await sendFrame(peer, { type: "$ws:ping", meta: {} });
      expect(peer.frames.at(-1)?.type).toBe("$ws:pong");
      for (const correlationId of ["2", "1"])
        await sendFrame(peer, { type: "$ws:abort", meta: { correlationId } });
      expect([outcomeOf(peer, "1"), outcomeOf(peer, "2")]).toEqual(["CANCELLED", "CANCELLED"]);
      expect(handled).toEqual([]);
    });

    test("a request that waits behind another still ends at its deadline", async () => {
      const server = createTestServer(
        createRouter()
          .use(async () => unsettled())
          .rpc(Call, () => undefined),
      );
      const peer = await server.connect();
      await peer.send(Call, { n: 1 }, { correlationId: "1" });
      await peer.send(Call, { n: 2 }, { correlationId: "2", timeoutMs: 1_600 });
      await server.clock.advance(1_600);
      expect(outcomeOf(peer, "2")).toBe("DEADLINE_EXCEEDED");
      expect(answersTo(peer, "1")).toEqual([]);
    });

    test("a synchronous handler replies in the same tick", async () => {
      const router = createRouter()
        .use((_ctx, next) => next())
        .rpc(Call, (ctx) => ctx.reply(Call.response, ctx.payload));
      const peer = await createTestServer(router).connect();
      const sending = peer.send(Call, { n: 1 }, { correlationId: "1" });
      expect(outcomeOf(peer, "1")).toBe("CALLED");
      await sending;
    });
  },
);
