import { describe, expect, test } from "vitest";
import type { EventContext, MessageMeta } from "../../src/index.ts";
import { createTestServer } from "../../src/testing/index.ts";
import { errorsOf, framesOf, sendFrame, UUID_V7 } from "./frames.ts";
import { libraries } from "./libraries.ts";

describe.each(libraries)(
  "guide/schemas: Meta ($name)",
  ({ createRouter, message, rpc, string, number, optional, withDefault }) => {
    const Plain = message("PLAIN");

    /** A connected peer, and the contexts that the handler of PLAIN received. */
    async function listening() {
      const seen: EventContext[] = [];
      const server = createTestServer(createRouter().on(Plain, (ctx) => seen.push(ctx as never)));
      return { peer: await server.connect(), seen, clock: server.clock };
    }

    test("the server assigns each connection a UUID v7 as clientId, and meta, data and hello carry the same one", async () => {
      const { peer, seen } = await listening();
      await peer.send(Plain);
      const [ctx] = seen;
      expect(ctx?.meta.clientId).toMatch(UUID_V7);
      expect(ctx?.data.clientId).toBe(ctx?.meta.clientId);
      expect(peer.frames[0]).toMatchObject({ type: "$ws:hello", payload: { clientId: ctx?.meta.clientId } });
    });

    test("the server discards a clientId that the peer sends", async () => {
      const { peer, seen } = await listening();
      await sendFrame(peer, { type: "PLAIN", meta: { clientId: "another-client" } });
      expect(seen[0]?.meta.clientId).toMatch(UUID_V7);
    });

    test("receivedAt is the server's time when the frame arrived", async () => {
      const { peer, seen, clock } = await listening();
      await clock.advance(1_234);
      await peer.send(Plain);
      expect(seen[0]?.meta.receivedAt).toBe(clock.wall());
      expect(seen[0]?.receivedAt).toBe(clock.wall());
    });

    test("the server discards a receivedAt that the peer sends", async () => {
      const { peer, seen, clock } = await listening();
      await sendFrame(peer, { type: "PLAIN", meta: { receivedAt: 1 } });
      expect(seen[0]?.receivedAt).toBe(clock.wall());
    });

    test("the client's timestamp is optional, and the handler receives it unchanged", async () => {
      const { peer, seen } = await listening();
      await peer.send(Plain, undefined, { timestamp: 7 });
      await peer.send(Plain);
      expect(seen.map((ctx) => ctx.meta.timestamp)).toEqual([7, undefined]);
      expect(seen[0]?.receivedAt).not.toBe(7);
    });

    test("every outbound message carries the server's timestamp in ms since epoch", async () => {
      const Ask = rpc("ASK", undefined, "ANSWER", undefined);
      const Fail = rpc("FAIL", undefined, "FINE", undefined);
      const router = createRouter()
        .rpc(Ask, async (ctx) => {
          ctx.send(Plain);
          ctx.progress();
          await ctx.topics.subscribe("all");
          await ctx.publish("all", Plain);
          ctx.reply(Ask.response);
        })
        .rpc(Fail, (ctx) => ctx.error("NOT_FOUND"));
      const server = createTestServer(router);
      const peer = await server.connect();
      await server.clock.advance(500);
      await peer.send(Ask);
      await peer.send(Fail);
      const sent = peer.frames.slice(1);
      expect(sent.map((frame) => frame.type)).toEqual([
        "PLAIN",
        "$ws:rpc-progress",
        "PLAIN",
        "ANSWER",
        "$ws:error",
      ]);
      for (const frame of sent) expect(frame.meta["timestamp"]).toBe(server.clock.wall());
    });

    test("a correlationId is optional for events, and the handler receives it", async () => {
      const { peer, seen } = await listening();
      await peer.send(Plain, undefined, { correlationId: "c-1" });
      await peer.send(Plain);
      expect(seen.map((ctx) => ctx.meta.correlationId)).toEqual(["c-1", undefined]);
    });

    test("timeoutMs is optional, and the handler receives it", async () => {
      const { peer, seen } = await listening();
      await peer.send(Plain, undefined, { timeoutMs: 50 });
      await peer.send(Plain);
      expect(seen.map((ctx) => ctx.meta.timeoutMs)).toEqual([50, undefined]);
    });

    describe("declared meta fields", () => {
      const Said = message(
        "SAID",
        { text: string() },
        { room: string(), page: withDefault(number(), 1), tag: optional(string()) },
      );

      async function saying() {
        const seen: MessageMeta<typeof Said>[] = [];
        const router = createRouter().on(Said, (ctx) => seen.push(ctx.meta));
        return { peer: await createTestServer(router).connect(), seen };
      }

      test("are validated, and the handler receives the schema's output", async () => {
        const { peer, seen } = await saying();
        await peer.send(Said, { text: "hi" }, { room: "a", timestamp: 5 });
        expect(seen[0]).toMatchObject({ room: "a", page: 1, timestamp: 5 });
        await sendFrame(peer, { type: "SAID", meta: { room: 1 }, payload: { text: "hi" } });
        await sendFrame(peer, { type: "SAID", meta: {}, payload: { text: "hi" } });
        expect(errorsOf(peer).map(({ code }) => code)).toEqual(["INVALID_ARGUMENT", "INVALID_ARGUMENT"]);
        expect(seen).toHaveLength(1);
      });

      test("are the only ones accepted: the server refuses a message with an undeclared field", async () => {
        const { peer, seen } = await saying();
        await sendFrame(peer, { type: "SAID", meta: { room: "a", other: 1 }, payload: { text: "hi" } });
        expect(errorsOf(peer)).toMatchObject([{ code: "INVALID_ARGUMENT" }]);
        expect(seen).toEqual([]);
        const plain = await listening();
        await sendFrame(plain.peer, { type: "PLAIN", meta: { room: "a" } });
        expect(errorsOf(plain.peer)).toMatchObject([{ code: "INVALID_ARGUMENT" }]);
      });

      test.each(["clientId", "receivedAt"])("cannot be named %s: creating such a schema throws", (key) => {
        expect(() => message("M", { text: string() }, { [key]: string() })).toThrow(/reserved/);
        expect(() => message("M", { meta: { [key]: string() } })).toThrow(/reserved/);
      });
    });

    test("a message on the wire has type, meta and an optional payload, and no other key", async () => {
      const Note = message("NOTE", { text: string() });
      const router = createRouter().on(Plain, (ctx) => {
        ctx.send(Plain);
        ctx.send(Note, { text: "hi" });
      });
      const peer = await createTestServer(router).connect();
      await peer.send(Plain);
      expect(framesOf(peer, "PLAIN").map((frame) => Object.keys(frame))).toEqual([["type", "meta"]]);
      expect(framesOf(peer, "NOTE").map((frame) => Object.keys(frame))).toEqual([
        ["type", "meta", "payload"],
      ]);
    });
  },
);
