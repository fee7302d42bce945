import { describe, expect, test } from "vitest";
import type { EventContext, MiddlewareContext, Peer, RpcContext } from "../../src/index.ts";
import { createTestServer } from "../../src/testing/index.ts";
import { answersTo, errorsOf, gate, outcomeOf, sendFrame, unsettled } from "./frames.ts";
import { libraries } from "./libraries.ts";

describe.each(libraries)(
  "guide/router: Context ($name)",
  ({ createRouter, message, rpc, string, number }) => {
    const Note = message("NOTE", { text: string() });
    const Bare = message("BARE");
    const Ask = rpc("ASK", { n: number() }, "ANSWER", { n: number() });
    type Ask = typeof Ask;
    type Note = typeof Note;

    /** The contexts that an event handler and a request handler received for one message each. */
    async function contexts() {
      const events: EventContext<Note>[] = [];
      const calls: RpcContext<Ask>[] = [];
      const router = createRouter()
        .on(Note, (ctx) => events.push(ctx))
        .rpc(Ask, (ctx) => {
          calls.push(ctx);
          return unsettled();
        });
      const server = createTestServer(router);
      const peer = await server.connect();
      await peer.send(Note, { text: "hi" });
      await peer.send(Ask, { n: 1 }, { correlationId: "1" });
      const [event] = events;
      const [call] = calls;
      if (event === undefined || call === undefined) throw new Error("a handler did not run");
      return { server, router, peer, event, call };
    }

    test("ws is the connection, with clientId, data, close and bufferedBytes", async () => {
      const { peer, event, call } = await contexts();
      expect(event.ws).toBe(call.ws);
      expect(event.ws.clientId).toBe(event.data.clientId);
      expect(event.ws.data).toBe(event.data);
      expect(event.ws.bufferedBytes).toBe(0);
      call.ws.close(4000, "enough");
      expect(peer.closedWith).toEqual({ code: 4000, reason: "enough" });
    });

    test("ws is the same object in every hook and handler", async () => {
      const seen: Peer[] = [];
      const router = createRouter()
        .onOpen((ctx) => seen.push(ctx.ws))
        .onAuth((ctx) => seen.push(ctx.ws) > 0)
        .use((ctx, next) => {
          seen.push(ctx.ws);
          return next();
        })
        .on(Bare, (ctx) => {
          seen.push(ctx.ws);
          throw new Error("for onError");
        })
        .onError((_error, ctx) => void (ctx.ws && seen.push(ctx.ws)))
        .onClose((ctx) => seen.push(ctx.ws));
      const peer = await createTestServer(router).connect();
      await peer.send(Bare);
      await peer.disconnect();
      expect(seen).toHaveLength(6);
      expect(new Set(seen).size).toBe(1);
    });

    test("type is the message's type", async () => {
      const { event, call } = await contexts();
      expect([event.type, call.type]).toEqual(["NOTE", "ASK"]);
    });

    test("payload is the validated payload, or undefined when the schema has none", async () => {
      const { event, call } = await contexts();
      expect([event.payload, call.payload]).toEqual([{ text: "hi" }, { n: 1 }]);
      const seen: unknown[] = [];
      const peer = await createTestServer(createRouter().on(Bare, (ctx) => seen.push(ctx.payload))).connect();
      await peer.send(Bare);
      expect(seen).toEqual([undefined]);
    });

    test("meta includes the correlationId of a request", async () => {
      const { event, call } = await contexts();
      expect(event.meta).toEqual({ clientId: event.clientId, receivedAt: event.receivedAt });
      expect(call.meta).toEqual({
        clientId: call.clientId,
        receivedAt: call.receivedAt,
        correlationId: "1",
      });
    });

    test("receivedAt is in ms since epoch", async () => {
      const { server, event, call } = await contexts();
      expect([event.receivedAt, call.receivedAt]).toEqual([server.clock.wall(), server.clock.wall()]);
    });

    test("isRpc is true for requests and false for events", async () => {
      const { event, call } = await contexts();
      expect([event.isRpc, call.isRpc]).toEqual([false, true]);
    });

    test("timeRemaining() is Infinity for events and counts down to 0 for requests", async () => {
      const { server, event, call } = await contexts();
      expect([event.timeRemaining(), call.timeRemaining()]).toEqual([Number.POSITIVE_INFINITY, 30_000]);
      await server.clock.advance(12_000);
      expect(call.timeRemaining()).toBe(18_000);
      await server.clock.advance(60_000);
      expect(call.timeRemaining()).toBe(0);
    });

    test("deadline is in ms since epoch and exists for requests only", async () => {
      const { server, event, call } = await contexts();
      expect(call.deadline).toBe(server.clock.wall() + 30_000);
      expect(event).not.toHaveProperty("deadline");
    });

    test("send sends other messages before and after the answer", async () => {
      const { peer, event, call } = await contexts();
      event.send(Note, { text: "from the event" });
      call.send(Note, { text: "from the call" });
      call.reply(Ask.response, { n: 2 });
      call.send(Note, { text: "afterwards" });
      expect(peer.received(Note).map(({ text }) => text)).toEqual([
        "from the event",
        "from the call",
        "afterwards",
      ]);
    });

    test("error sends an error frame for an event and ends a request", async () => {
      const { peer, event, call } = await contexts();
      event.error("NOT_FOUND", "no such note", { id: 1 });
      call.error("ALREADY_EXISTS", "asked before", { id: 2 });
      expect(errorsOf(peer)).toEqual([
        { code: "NOT_FOUND", message: "no such note", details: { id: 1 } },
        { code: "ALREADY_EXISTS", message: "asked before", details: { id: 2 } },
      ]);
      expect(outcomeOf(peer, "1")).toBe("ALREADY_EXISTS");
    });

    test("assignData and getData work on the connection's data in event and request handlers", async () => {
      interface Data {
        readonly clientId: string;
        readonly steps?: number;
      }
      const seen: (number | undefined)[] = [];
      const router = createRouter<Data>()
        .on(Note, (ctx) => {
          ctx.assignData({ steps: 1 });
          seen.push(ctx.getData("steps"));
        })
        .rpc(Ask, (ctx) => {
          seen.push(ctx.getData("steps"));
          ctx.assignData({ steps: 2 });
          ctx.reply(Ask.response, { n: ctx.data.steps ?? 0 });
        });
      const peer = await createTestServer(router).connect();
      await peer.send(Note, { text: "hi" });
      expect(await peer.request(Ask, { n: 0 })).toEqual({ n: 2 });
      expect(seen).toEqual([1, 1]);
    });

    test("subscribe and unsubscribe take effect immediately in event and request handlers", async () => {
      const { router, peer, event, call } = await contexts();
      expect(event.subscribe("a")).toBeUndefined();
      expect(call.subscribe("b")).toBeUndefined();
      await router.publish("a", Note, { text: "to a" });
      await router.publish("b", Note, { text: "to b" });
      expect(call.unsubscribe("a")).toBeUndefined();
      expect(event.unsubscribe("b")).toBeUndefined();
      await router.publish("a", Note, { text: "without subscribers" });
      await router.publish("b", Note, { text: "without subscribers" });
      expect(peer.received(Note).map(({ text }) => text)).toEqual(["to a", "to b"]);
    });

    test("topics.subscribe and topics.unsubscribe do the same and return promises", async () => {
      const { router, event, call } = await contexts();
      expect(await event.topics.subscribe("a")).toBeUndefined();
      expect(await router.publish("a", Note, { text: "hi" })).toMatchObject({ matchedLocal: 1 });
      const leaving = call.topics.unsubscribe("a");
      expect(leaving).toBeInstanceOf(Promise);
      expect(await leaving).toBeUndefined();
      expect(await router.publish("a", Note, { text: "hi" })).toMatchObject({ matchedLocal: 0 });
    });

    test("publish resolves to the result and reaches the router's subscribers", async () => {
      const { server, peer, event, call } = await contexts();
      const router = createRouter();
      const elsewhere = await createTestServer(router).connect();
      await call.subscribe("t");
      expect(await event.publish("t", Note, { text: "one" })).toEqual({ ok: true, matchedLocal: 1 });
      expect(await call.publish("t", Note, { text: "two" })).toEqual({ ok: true, matchedLocal: 1 });
      expect(peer.received(Note).map(({ text }) => text)).toEqual(["one", "two"]);
      expect(elsewhere.received(Note)).toEqual([]);
      await server.close();
    });

    test("reply sends the response with the request's correlationId and exists for requests only", async () => {
      const { peer, event, call } = await contexts();
      call.reply(Ask.response, { n: 2 });
      expect(answersTo(peer, "1")).toMatchObject([
        { type: "ANSWER", meta: { correlationId: "1" }, payload: { n: 2 } },
      ]);
      expect(event).not.toHaveProperty("reply");
    });

    test("progress reports on a running request, with or without data, and exists for requests only", async () => {
      const { peer, event, call } = await contexts();
      call.progress({ percent: 50 });
      call.progress();
      expect(peer.frames.slice(-2)).toMatchObject([
        { type: "$ws:rpc-progress", meta: { correlationId: "1" }, payload: { percent: 50 } },
        { type: "$ws:rpc-progress", meta: { correlationId: "1" } },
      ]);
      expect(answersTo(peer, "1")).toEqual([]);
      expect(event).not.toHaveProperty("progress");
    });

    test("onCancel runs its callback when the client aborts, returns an unregister function, and exists for requests only", async () => {
      const { peer, event, call } = await contexts();
      const log: string[] = [];
      call.onCancel(() => log.push("kept"));
      const unregister = call.onCancel(() => log.push("unregistered"));
      unregister();
      await sendFrame(peer, { type: "$ws:abort", meta: { correlationId: "1" } });
      expect(log).toEqual(["kept"]);
      expect(event).not.toHaveProperty("onCancel");
    });

    test("onCancel runs its callback when the connection closes", async () => {
      const { peer, call } = await contexts();
      const log: string[] = [];
      call.onCancel(() => log.push("cancelled"));
      await peer.disconnect();
      expect(log).toEqual(["cancelled"]);
    });

    test("abortSignal is a standard AbortSignal that fires on cancellation and exists for requests only", async () => {
      const { peer, event, call } = await contexts();
      expect(call.abortSignal).toBeInstanceOf(AbortSignal);
      expect(call.abortSignal).toBe(call.abortSignal);
      expect(call.abortSignal.aborted).toBe(false);
      await sendFrame(peer, { type: "$ws:abort", meta: { correlationId: "1" } });
      expect(call.abortSignal.aborted).toBe(true);
      expect(event).not.toHaveProperty("abortSignal");
    });

    test("abortSignal is already aborted when the handler first reads it after the cancellation", async () => {
      const { peer, call } = await contexts();
      await peer.disconnect();
      expect(call.abortSignal.aborted).toBe(true);
    });

    test("middleware receives the connection data, the type and error(), and no payload", async () => {
      interface Data {
        readonly clientId: string;
        readonly userId?: string;
      }
      const seen = gate<MiddlewareContext<Data>>();
      const router = createRouter<Data>()
        .use((ctx, next) => {
          seen.open(ctx);
          ctx.assignData({ userId: `${ctx.getData("userId")}!` });
          return next();
        })
        .rpc(Ask, (ctx) => ctx.reply(Ask.response, { n: ctx.data.userId?.length ?? 0 }));
      const peer = await createTestServer(router).connect({ data: { userId: "ada" } });
      expect(await peer.request(Ask, { n: 1 }, { correlationId: "1", timeoutMs: 9_000 })).toEqual({ n: 4 });
      const ctx = await seen.opened;
      expect(ctx.type).toBe("ASK");
      expect(ctx.isRpc).toBe(true);
      expect(ctx.clientId).toBe(ctx.data.clientId);
      expect(ctx.ws.data).toBe(ctx.data);
      expect(ctx.meta.correlationId).toBe("1");
      expect(ctx.receivedAt).toBe(ctx.meta.receivedAt);
      expect(ctx.timeRemaining()).toBe(9_000);
      expect(ctx.error).toBeTypeOf("function");
      for (const absent of ["payload", "reply", "progress", "send", "publish"]) {
        expect(ctx).not.toHaveProperty(absent);
      }
    });

    test("context is the server's context option in every context", async () => {
      const seen: unknown[] = [];
      const router = createRouter()
        .onOpen((ctx) => seen.push(ctx.context["db"]))
        .use((ctx, next) => {
          seen.push(ctx.context["db"]);
          return next();
        })
        .on(Bare, (ctx) => seen.push(ctx.context["db"]));
      const peer = await createTestServer(router, { context: { db: "main" } }).connect();
      await peer.send(Bare);
      expect(seen).toEqual(["main", "main", "main"]);
    });
  },
);
