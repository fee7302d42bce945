/** The types of typed progress, requests of the server, durable calls and bytes. */
import { describe, expectTypeOf, test } from "vitest";
import { attachCall, type DurableCall, handle, startCall, wsClient } from "../src/client/index.ts";
import { useCall } from "../src/client/react.ts";
import { bytes, createRouter, message, rpc, z } from "../src/zod.ts";

const Rows = rpc(
  "ROWS",
  { n: z.number() },
  "ROWS_END",
  { sent: z.number() },
  { progress: z.object({ i: z.number() }) },
);
const Words = rpc("WORDS", undefined, "WORDS_END", undefined, { progress: z.string() });
const Ask = rpc(
  "ASK",
  { n: z.number() },
  "ASK_END",
  { sent: z.number() },
  { progress: z.object({ i: z.number() }), durable: { keepMs: 60_000 } },
);
const Confirm = rpc("CONFIRM", { text: z.string() }, "CONFIRMED", { yes: z.boolean() });
const Plain = rpc("PLAIN", undefined, "PLAIN_END", undefined);
const Noted = message("NOTED", { text: z.string() });
const Up = rpc("UP", { data: bytes() }, "UP_OK", { size: z.number() });

const router = () => createRouter<{ clientId: string; userId: string }>();
const client = wsClient({ url: "ws://localhost" });

/** Code that is only compiled. */
function neverRun(_code: () => unknown): void {}

describe("the types of progress", () => {
  test("check what the handler passes, and give the caller the same item", () => {
    neverRun(() => {
      router().rpc(Rows, async (ctx) => {
        expectTypeOf(ctx.progress({ i: 1 })).toEqualTypeOf<Promise<void>>();
        // @ts-expect-error i is a number
        await ctx.progress({ i: "one" });
        // @ts-expect-error an item is required
        await ctx.progress();
      });
      const call = client.request(Rows, { n: 1 }, { deadlineMs: 1_000 });
      call.onProgress((item) => expectTypeOf(item).toEqualTypeOf<{ i: number }>());
      expectTypeOf<Awaited<typeof call>["payload"]>().toEqualTypeOf<{ sent: number }>();
      void (async () => {
        for await (const item of call) expectTypeOf(item).toEqualTypeOf<{ i: number }>();
        for await (const word of client.request(Words)) expectTypeOf(word).toEqualTypeOf<string>();
      })();
    });
  });

  test("stay unknown, with a boolean result, without a schema", () => {
    neverRun(() => {
      router().rpc(Plain, (ctx) => {
        expectTypeOf(ctx.progress("anything")).toEqualTypeOf<boolean>();
        ctx.progress();
      });
      client.request(Plain).onProgress((item) => expectTypeOf(item).toEqualTypeOf<unknown>());
    });
  });

  test("refuse items without a JSON form", () => {
    neverRun(() => {
      // @ts-expect-error a date has no JSON form
      rpc("AT", undefined, "AT_END", undefined, { progress: z.object({ at: z.date() }) });
    });
  });
});

describe("the types of requests to a client", () => {
  test("check payload, response and handler", () => {
    neverRun(() => {
      router().rpc(Plain, async (ctx) => {
        const answer = await ctx.ws.request(Confirm, { text: "?" }, { timeoutMs: 100 });
        expectTypeOf(answer.payload).toEqualTypeOf<{ yes: boolean }>();
        // @ts-expect-error there is no such field
        await ctx.ws.request(Confirm, { txt: "?" });
        // @ts-expect-error an event has no response
        await ctx.ws.request(Noted, { text: "?" });
      });
      handle(client, Confirm, async ({ text }, { signal }) => ({ yes: text === "?" && !signal.aborted }));
      // @ts-expect-error yes is a boolean
      handle(client, Confirm, async () => ({ yes: 5 }));
      // @ts-expect-error an event has no response
      handle(client, Noted, async () => ({}));
    });
  });
});

describe("the types of durable calls", () => {
  test("require the owner at the router", () => {
    neverRun(() => {
      router().rpc(Ask, { owner: (ctx) => ctx.data.userId }, async (ctx) => {
        await ctx.progress({ i: ctx.payload.n });
        expectTypeOf(ctx.callId).toEqualTypeOf<string>();
        return { sent: 1 };
      });
      router()
        .route(Ask)
        .rpc({ owner: (ctx) => ctx.data.userId }, async () => ({ sent: 1 }));
      // @ts-expect-error the owner is missing
      router().rpc(Ask, async () => ({ sent: 1 }));
      const route = router().route(Ask);
      // @ts-expect-error the owner is missing
      route.rpc(async () => ({ sent: 1 }));
      // @ts-expect-error the owner is a string
      router().rpc(Ask, { owner: () => 5 }, async () => ({ sent: 1 }));
      // @ts-expect-error a request that ends with its connection has no owner
      router().rpc(Rows, { owner: () => "ann" }, async () => ({ sent: 1 }));
    });
  });

  test("give items and the response at the client, and accept only durable requests", () => {
    neverRun(async () => {
      const call = startCall(client, Ask, { n: 1 });
      expectTypeOf(call).toEqualTypeOf<DurableCall<typeof Ask>>();
      expectTypeOf(call.id).toEqualTypeOf<string>();
      for await (const item of call) expectTypeOf(item).toEqualTypeOf<{ i: number }>();
      expectTypeOf((await attachCall(client, Ask, call.id).result).payload).toEqualTypeOf<{ sent: number }>();
      const { start, items, result } = useCall(Ask);
      start({ n: 1 });
      expectTypeOf(items).toEqualTypeOf<readonly { i: number }[]>();
      expectTypeOf(result?.payload).toEqualTypeOf<{ sent: number } | undefined>();
      // @ts-expect-error n is a number
      startCall(client, Ask, { n: "one" });
      // @ts-expect-error it ends with its connection
      startCall(client, Rows, { n: 1 });
      // @ts-expect-error durable needs progress
      rpc("X", undefined, "Y", undefined, { durable: { keepMs: 1 } });
    });
  });
});

describe("the types of bytes()", () => {
  test("are Uint8Array at both ends", () => {
    neverRun(() => {
      router().rpc(Up, (ctx) => {
        expectTypeOf(ctx.payload.data).toEqualTypeOf<Uint8Array>();
        return { size: ctx.payload.data.length };
      });
      void client.request(Up, { data: new Uint8Array() });
      // @ts-expect-error text is not bytes
      void client.request(Up, { data: "text" });
    });
  });
});

describe("client.send of a request", () => {
  const options = { meta: { room: "general" } };
  const Tagged = message("TAGGED", { payload: { n: z.number() }, meta: { room: z.string() }, response: {} });

  test("compiles only with a correlationId", () => {
    neverRun(() => {
      client.send(Confirm, { text: "Delete?" }, { correlationId: "c1" });
      client.send(Plain, undefined, { correlationId: "c2" });
      client.send(Ask, { n: 1 }, { correlationId: "c3" });
      client.send(Tagged, { n: 1 }, { ...options, correlationId: "c4" });
      // @ts-expect-error the options are missing
      client.send(Confirm, { text: "Delete?" });
      // @ts-expect-error the correlationId is missing
      client.send(Confirm, { text: "Delete?" }, {});
      // @ts-expect-error the correlationId is missing
      client.send(Confirm, { text: "Delete?" }, { queue: false });
      // @ts-expect-error the correlationId may be undefined
      client.send(Confirm, { text: "Delete?" }, { correlationId: undefined });
      // @ts-expect-error the correlationId is missing
      client.send(Tagged, { n: 1 }, options);
      // @ts-expect-error meta is missing
      client.send(Tagged, { n: 1 }, { correlationId: "c5" });
      // @ts-expect-error there is no such option
      client.send(Confirm, { text: "Delete?" }, { correlationId: "c6", signal: undefined });
    });
  });

  test("needs no options for an event", () => {
    neverRun(() => {
      client.send(Noted, { text: "x" });
      client.send(Noted, { text: "x" }, { correlationId: "c1" });
      client.send(Noted, { text: "x" }, { queue: false });
      // @ts-expect-error there is no such option
      client.send(Noted, { text: "x" }, { que: false });
    });
  });
});
