import { describe, expect, test } from "vitest";
import { createTestServer } from "../../src/testing/index.ts";
import { errorsOf, outcomeOf, sendFrame } from "./frames.ts";
import { libraries } from "./libraries.ts";

describe.each(libraries)("guide/schemas: Forms ($name)", ({ createRouter, message, rpc, string, number }) => {
  test("a message schema has a type, and payload, meta and response where they were declared", () => {
    const bare = message("BARE");
    expect(bare).toEqual({ type: "BARE", payload: undefined, meta: undefined, response: undefined });
    const full = message("FULL", {
      payload: { a: number() },
      meta: { room: string() },
      response: { b: number() },
    });
    expect(full.type).toBe("FULL");
    for (const part of [full.payload, full.meta, full.response.payload])
      expect(part).toHaveProperty("~standard");
  });

  test("a type that starts with $ws: is refused, and other types with a dollar sign are accepted", () => {
    expect(() => message("$ws:mine")).toThrow(/"\$ws:mine" is reserved/);
    expect(message("$other").type).toBe("$other");
    expect(message("ws:mine").type).toBe("ws:mine");
  });

  test("an RPC schema has a request type and payload, and .response with a type and payload", async () => {
    const Add = rpc("ADD", { a: number() }, "SUM", { sum: number() });
    expect([Add.type, Add.response.type]).toEqual(["ADD", "SUM"]);
    const router = createRouter().rpc(Add, (ctx) => ctx.reply(Add.response, { sum: ctx.payload.a + 1 }));
    const peer = await createTestServer(router).connect();
    expect(await peer.request(Add, { a: 1 })).toEqual({ sum: 2 });
    await sendFrame(peer, { type: "ADD", meta: { correlationId: "bad" }, payload: { a: "1" } });
    expect(outcomeOf(peer, "bad")).toBe("INVALID_ARGUMENT");
  });

  test("an RPC schema may have neither a request payload nor a response payload", async () => {
    const Ping = rpc("PING", undefined, "PONG", undefined);
    expect([Ping.payload, Ping.response.payload]).toEqual([undefined, undefined]);
    const peer = await createTestServer(
      createRouter().rpc(Ping, (ctx) => ctx.reply(Ping.response)),
    ).connect();
    expect(await peer.request(Ping)).toBeUndefined();
    expect(peer.frames.at(-1)).not.toHaveProperty("payload");
  });

  test("a message declared without payload is refused when it carries one, even null", async () => {
    const peer = await createTestServer(createRouter().on(message("BARE"), () => undefined)).connect();
    await sendFrame(peer, { type: "BARE", meta: {}, payload: { a: 1 } });
    await sendFrame(peer, { type: "BARE", meta: {}, payload: null });
    expect(errorsOf(peer).map(({ code }) => code)).toEqual(["INVALID_ARGUMENT", "INVALID_ARGUMENT"]);
  });
});
