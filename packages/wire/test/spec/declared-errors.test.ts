import { describe, expect, onTestFinished, test, vi } from "vitest";
import { z as plainZod } from "zod";
import { serve } from "../../src/adapters/node.ts";
import {
  attachCall,
  type ClientOptions,
  startCall,
  type WsClient,
  wsClient,
} from "../../src/client/index.ts";
import * as standard from "../../src/index.ts";
import { type AnyMessageSchema, type Router, WsError } from "../../src/index.ts";
import { memoryPubSub } from "../../src/memory.ts";
import { createTestServer } from "../../src/testing/index.ts";
import * as valibot from "../../src/valibot.ts";
import { v } from "../../src/valibot.ts";
import { createRouter, message, rpc, z } from "../../src/zod.ts";

const OUT_OF_STOCK = { code: "FAILED_PRECONDITION", data: { left: z.number() } } as const;
const CLOSED = { code: "UNAVAILABLE" } as const;
const Buy = message("BUY", {
  payload: { sku: z.string() },
  response: { id: z.string() },
  errors: { OUT_OF_STOCK, CLOSED },
});

async function connected(router: Router, options: Partial<ClientOptions> = {}): Promise<WsClient> {
  const server = await serve(router, { port: 0, host: "127.0.0.1", handleSignals: false });
  const client = wsClient({ url: `ws://127.0.0.1:${server.port}`, ...options });
  onTestFinished(async () => {
    await client.close();
    await server.stop();
  });
  await client.connect();
  return client;
}

/** The error that the promise rejects with, as plain fields. */
async function rejection(promise: Promise<unknown>): Promise<WsError & Record<string, unknown>> {
  return promise.then(
    () => expect.fail("The promise did not reject."),
    (error) => error,
  );
}

/** What goes over the wire for one request. */
async function framesFor(router: Router, schema: AnyMessageSchema, payload: unknown): Promise<unknown[]> {
  const peer = await createTestServer(router).connect();
  await peer.send(schema, payload as never, { correlationId: "1" });
  return peer.frames.filter(({ meta }) => meta["correlationId"] === "1").map((frame) => frame.payload);
}

const declarations = {
  Zod: Buy,
  Valibot: valibot.message("BUY", {
    payload: { sku: v.string() },
    response: { id: v.string() },
    errors: { OUT_OF_STOCK: { code: "FAILED_PRECONDITION", data: { left: v.number() } }, CLOSED },
  }),
  "a Standard Schema": standard.message("BUY", {
    payload: plainZod.strictObject({ sku: plainZod.string() }),
    response: plainZod.strictObject({ id: plainZod.string() }),
    errors: {
      OUT_OF_STOCK: { code: "FAILED_PRECONDITION", data: plainZod.strictObject({ left: plainZod.number() }) },
      CLOSED,
    },
  }),
};

describe.each(Object.entries(declarations))("guide/errors: Declared errors (%s)", (_, declared) => {
  // The three have the same types of payload and data.
  const schema = declared as typeof Buy;

  test("ctx.fail stops the handler, and the caller gets code, reason and data", async () => {
    const after = vi.fn();
    const client = await connected(
      createRouter().rpc(schema, (ctx) => {
        ctx.fail("OUT_OF_STOCK", { left: 2 });
        after();
        return { id: "1" };
      }),
    );
    const error = await rejection(client.request(schema, { sku: "a" }));
    expect(error).toMatchObject({
      code: "FAILED_PRECONDITION",
      message: "BUY failed: OUT_OF_STOCK.",
      reason: "OUT_OF_STOCK",
      data: { left: 2 },
      retryable: false,
    });
    expect(schema.isError(error)).toBe(true);
    expect(after).not.toHaveBeenCalled();
  });

  test("an error without declared data has none", async () => {
    const client = await connected(createRouter().rpc(schema, (ctx) => ctx.fail("CLOSED")));
    const error = await rejection(client.request(schema, { sku: "a" }));
    expect(error).toMatchObject({ code: "UNAVAILABLE", reason: "CLOSED", retryable: true });
    expect(error["data"]).toBeUndefined();
  });

  test("data that does not match its schema is a fault of the server, and is not sent", async () => {
    const faults: WsError[] = [];
    const router = createRouter()
      .onError((error) => void faults.push(error))
      .rpc(schema, (ctx) => ctx.fail("OUT_OF_STOCK", { left: "hunter2" } as never));
    const [payload] = await framesFor(router, schema, { sku: "a" });
    const message = "The data of the error OUT_OF_STOCK of BUY does not match its schema.";
    expect(payload).toEqual({ code: "INTERNAL", message });
    expect(faults).toMatchObject([{ code: "INTERNAL", details: { issues: [{ path: "left" }] } }]);
  });
});

describe("guide/errors: Declared errors", () => {
  test("are sent as the code with { reason, data } as details, so that every client can read them", async () => {
    const router = createRouter().rpc(Buy, (ctx) => ctx.fail("OUT_OF_STOCK", { left: 2 }));
    expect(await framesFor(router, Buy, { sku: "a" })).toEqual([
      {
        code: "FAILED_PRECONDITION",
        message: "BUY failed: OUT_OF_STOCK.",
        details: { reason: "OUT_OF_STOCK", data: { left: 2 } },
      },
    ]);
  });

  test("are sent as declared: sensitive names, size and exposeErrorDetails do not matter, unlike for other details", async () => {
    const data = { token: "t", resetSecret: { password: "p" }, text: "x".repeat(10_000) };
    const Reset = rpc("RESET", { how: z.enum(["fail", "throw", "error"]) }, "RESET_OK", undefined, {
      errors: {
        LOCKED: {
          code: "PERMISSION_DENIED",
          data: { token: z.string(), resetSecret: z.object({ password: z.string() }), text: z.string() },
        },
      },
    });
    const router = createRouter().rpc(Reset, (ctx) => {
      if (ctx.payload.how === "fail") return ctx.fail("LOCKED", data);
      if (ctx.payload.how === "throw") throw new WsError("ABORTED", "no", { reason: "LOCKED", data });
      return ctx.error("ABORTED", "no", { reason: "LOCKED", data: { token: "t", kept: 1 } });
    });
    const sent = async (how: string) => (await framesFor(router, Reset, { how }))[0];
    expect(await sent("fail")).toMatchObject({ details: { reason: "LOCKED", data } });
    expect(await sent("throw")).toEqual({ code: "ABORTED", message: "no" });
    expect(await sent("error")).toMatchObject({ details: { reason: "LOCKED", data: { kept: 1 } } });
  });

  test("give the caller the data after transforms and defaults", async () => {
    const Busy = rpc("BUSY", undefined, "BUSY_OK", undefined, {
      errors: {
        LATER: { code: "UNAVAILABLE", data: { at: z.string().transform(Number), n: z.number().default(1) } },
      },
    });
    const client = await connected(createRouter().rpc(Busy, (ctx) => ctx.fail("LATER", { at: "5" })));
    const error = await rejection(client.request(Busy));
    expect(error["data"]).toEqual({ at: 5, n: 1 });
    expect(error.details).toEqual({ reason: "LATER", data: { at: "5" } });
  });

  test("carry retryAfterMs, except with a terminal code, whose caller still gets the declared error", async () => {
    const router = createRouter().rpc(Buy, (ctx) =>
      ctx.payload.sku === "a"
        ? ctx.fail("CLOSED", undefined, { retryAfterMs: 5_000 })
        : ctx.fail("OUT_OF_STOCK", { left: 1 }, { retryAfterMs: 5_000 } as never),
    );
    const client = await connected(router);
    expect(await rejection(client.request(Buy, { sku: "a" }))).toMatchObject({
      reason: "CLOSED",
      retryAfterMs: 5_000,
    });
    const terminal = await rejection(client.request(Buy, { sku: "b" }));
    expect([terminal["reason"], terminal["data"], terminal.retryAfterMs]).toEqual([
      "OUT_OF_STOCK",
      { left: 1 },
      undefined,
    ]);
  });

  test("reach onError, which may suppress them, and do not need autoSendErrorOnThrow", async () => {
    const seen: string[] = [];
    const router = createRouter({ autoSendErrorOnThrow: false })
      .onError((error, ctx) => {
        seen.push(`${ctx.type} ${error.code} ${error.details?.["reason"]}`);
        return error.details?.["reason"] !== "CLOSED";
      })
      .rpc(Buy, (ctx) =>
        ctx.payload.sku === "a" ? ctx.fail("OUT_OF_STOCK", { left: 0 }) : ctx.fail("CLOSED"),
      );
    expect(await framesFor(router, Buy, { sku: "a" })).toHaveLength(1);
    expect(await framesFor(router, Buy, { sku: "b" })).toEqual([]);
    expect(seen).toEqual(["BUY FAILED_PRECONDITION OUT_OF_STOCK", "BUY UNAVAILABLE CLOSED"]);
  });

  test("are expected, so a server without onError prints nothing, whatever their code", async () => {
    const Odd = rpc("ODD", undefined, "ODD_OK", undefined, { errors: { ODD: { code: "INTERNAL" } } });
    const printed = vi.spyOn(console, "error").mockReturnValue();
    onTestFinished(() => printed.mockRestore());
    const router = createRouter()
      .rpc(Buy, (ctx) => ctx.fail("CLOSED"))
      .rpc(Odd, (ctx) => ctx.fail("ODD"));
    await framesFor(router, Buy, { sku: "a" });
    expect(await framesFor(router, Odd, undefined)).toMatchObject([
      { code: "INTERNAL", details: { reason: "ODD" } },
    ]);
    expect(printed).not.toHaveBeenCalled();
  });

  test.each([
    ["an undeclared name", "SOLD_OUT", undefined, 'BUY declares no error "SOLD_OUT". Add it to errors.'],
    [
      "a name of Object.prototype",
      "toString",
      undefined,
      'BUY declares no error "toString". Add it to errors.',
    ],
    [
      "data that is not declared",
      "CLOSED",
      { a: 1 },
      "The error CLOSED of BUY declares no data. Leave it out, or declare it.",
    ],
  ])("%s is a fault of the server", async (_, name, data, message) => {
    const router = createRouter()
      .onError(() => undefined)
      .rpc(Buy, (ctx) => (ctx.fail as (name: string, data: unknown) => never)(name, data));
    expect(await framesFor(router, Buy, { sku: "a" })).toEqual([{ code: "INTERNAL", message }]);
  });

  test("with data above maxOutboundFrameBytes fail with RESOURCE_EXHAUSTED", async () => {
    const Big = rpc("BIG", undefined, "BIG_OK", undefined, {
      errors: { FULL: { code: "ABORTED", data: { text: z.string() } } },
    });
    const router = createRouter({ maxOutboundFrameBytes: 1_000 })
      .onError(() => undefined)
      .rpc(Big, (ctx) => ctx.fail("FULL", { text: "x".repeat(1_000) }));
    expect(await framesFor(router, Big, undefined)).toMatchObject([
      { code: "RESOURCE_EXHAUSTED", message: expect.stringMatching(/^The message BIG\.FULL has \d+ bytes/) },
    ]);
  });

  test("end a request with typed progress after the items that were sent", async () => {
    const Rows = rpc("ROWS", undefined, "ROWS_END", undefined, {
      progress: z.number(),
      errors: { CUT: { code: "ABORTED", data: { at: z.number() } } },
    });
    const client = await connected(
      createRouter().rpc(Rows, async (ctx) => {
        for (let i = 0; i < 100; i++) await ctx.progress(i);
        return ctx.fail("CUT", { at: 100 });
      }),
    );
    const items: number[] = [];
    const reading = (async () => {
      for await (const item of client.request(Rows)) items.push(item);
    })();
    const error = await rejection(reading);
    expect(items).toHaveLength(100);
    expect([Rows.isError(error), error["reason"], error["data"]]).toEqual([true, "CUT", { at: 100 }]);
  });

  test("of a durable call reach every reader, also after its end", async () => {
    const Ask = rpc("ASK", undefined, "ASK_END", undefined, {
      progress: z.number(),
      durable: { keepMs: 60_000 },
      errors: { STUCK: { code: "ABORTED", data: { token: z.string() } } },
    });
    const router = createRouter({ pubsub: memoryPubSub() }).rpc(Ask, { owner: () => "ann" }, async (ctx) => {
      await ctx.progress(1);
      return ctx.fail("STUCK", { token: "t" });
    });
    const client = await connected(router);
    const call = startCall(client, Ask);
    const first = await rejection(call.result);
    const later = await rejection(attachCall(client, Ask, call.id).result);
    for (const error of [first, later])
      expect([error.code, Ask.isError(error), error["reason"], error["data"]]).toEqual([
        "ABORTED",
        true,
        "STUCK",
        { token: "t" },
      ]);
  });

  test("are recognized by a test server's connection too", async () => {
    const server = createTestServer(createRouter().rpc(Buy, (ctx) => ctx.fail("OUT_OF_STOCK", { left: 2 })));
    const peer = await server.connect();
    const error = await rejection(peer.request(Buy, { sku: "a" }));
    expect(Buy.isError(error) && error.reason === "OUT_OF_STOCK" && error.data.left).toBe(2);
  });
});

describe("guide/errors: Declared errors (a client with another version of the schema)", () => {
  /** A server that declares the data differently. */
  const Older = message("BUY", {
    payload: { sku: z.string() },
    response: { id: z.string() },
    errors: {
      OUT_OF_STOCK: { code: "FAILED_PRECONDITION", data: { left: z.number(), shop: z.string().optional() } },
      CLOSED,
    },
  });
  const Other = message("BUY", {
    payload: { sku: z.string() },
    response: { id: z.string() },
    errors: { OUT_OF_STOCK: { code: "FAILED_PRECONDITION", data: { left: z.string() } } },
  });

  test("data that does not match is reported once, and the page gets the plain error", async () => {
    const client = await connected(
      createRouter().rpc(Other, (ctx) => ctx.fail("OUT_OF_STOCK", { left: "two" })),
    );
    const reports: string[] = [];
    client.onError(
      (error, { type, details }) => void reports.push(`${type} ${details?.["type"]}: ${error.message}`),
    );
    const error = await rejection(client.request(Buy, { sku: "a" }));
    expect([error.code, error["reason"], error["data"]]).toEqual([
      "FAILED_PRECONDITION",
      undefined,
      undefined,
    ]);
    expect(Buy.isError(error)).toBe(false);
    expect(reports).toEqual([
      "validation BUY: The data of the error OUT_OF_STOCK of BUY does not match its schema.",
    ]);
  });

  test('a new key is refused, and with unknownKeys: "strip" it is removed', async () => {
    const router = createRouter().rpc(Older, (ctx) => ctx.fail("OUT_OF_STOCK", { left: 2, shop: "a" }));
    const [strict, tolerant] = [await connected(router), await connected(router, { unknownKeys: "strip" })];
    strict.onError(() => undefined);
    expect((await rejection(strict.request(Buy, { sku: "a" })))["reason"]).toBeUndefined();
    expect((await rejection(tolerant.request(Buy, { sku: "a" })))["data"]).toEqual({ left: 2 });
  });

  test("a reason that is not declared, or comes with another code, is a plain error", async () => {
    const Wider = message("BUY", {
      payload: { sku: z.string() },
      response: { id: z.string() },
      errors: { SOLD_OUT: { code: "FAILED_PRECONDITION" }, CLOSED: { code: "ABORTED" } },
    });
    const client = await connected(
      createRouter().rpc(Wider, (ctx) =>
        ctx.payload.sku === "a" ? ctx.fail("SOLD_OUT") : ctx.fail("CLOSED"),
      ),
    );
    for (const sku of ["a", "b"]) {
      const error = await rejection(client.request(Buy, { sku }));
      expect([Buy.isError(error), error["reason"]]).toEqual([false, undefined]);
    }
  });

  test("isError accepts no error of another schema, and no other value", async () => {
    const Sell = message("SELL", { payload: { sku: z.string() }, response: {}, errors: { OUT_OF_STOCK } });
    const client = await connected(createRouter().rpc(Sell, (ctx) => ctx.fail("OUT_OF_STOCK", { left: 1 })));
    const error = await rejection(client.request(Sell, { sku: "a" }));
    expect([Sell.isError(error), Buy.isError(error)]).toEqual([true, false]);
    for (const other of [
      undefined,
      null,
      "OUT_OF_STOCK",
      { reason: "OUT_OF_STOCK" },
      new WsError("FAILED_PRECONDITION"),
    ])
      expect(Buy.isError(other)).toBe(false);
  });
});

describe("guide/errors: Declared errors (their declaration)", () => {
  const declare = (errors: unknown) => () =>
    message("BUY", { response: { id: z.string() }, errors } as never);

  test.each([
    [
      "no name",
      {},
      'The errors of BUY declare nothing. Pass { NAME: { code: "FAILED_PRECONDITION" } }, or leave them out.',
    ],
    ["a list", [], "The errors of BUY declare nothing."],
    ["a name with a space", { "SOLD OUT": CLOSED }, 'The error "SOLD OUT" of BUY has no valid name.'],
    [
      "a code of its own",
      { SOLD: { code: "SOLD" } },
      'The error "SOLD" of BUY has the code "SOLD". Use one of UNAUTHENTICATED, ',
    ],
    ["no code", { SOLD: { data: { left: z.number() } } }, 'The error "SOLD" of BUY has the code undefined.'],
    ["only a code", { SOLD: "ABORTED" }, 'The error "SOLD" of BUY has the code undefined.'],
    [
      "an unknown option",
      { SOLD: { code: "ABORTED", date: {} } },
      'The error "SOLD" of BUY has the unknown option "date". The options are code and data.',
    ],
    [
      "data without a schema",
      { SOLD: { code: "ABORTED", data: { left: 5 } } },
      "The data of the error SOLD of BUY is neither an object schema nor an object of schemas.",
    ],
    [
      "data without a JSON form",
      { SOLD: { code: "ABORTED", data: { at: z.date() } } },
      'The data of the error SOLD of BUY has the field "at" of type date, which has no JSON form.',
    ],
  ])("%s throws", (_, errors, text) => {
    expect(declare(errors)).toThrow(text);
  });

  test("an object with errors is a config only with a response, and errors that are a schema are a field", async () => {
    const Report = message("REPORT", { payload: z.string(), errors: z.array(z.string()) });
    const Both = message("BOTH", { response: z.string(), errors: z.array(z.string()) });
    expect([Report.response, Both.response]).toEqual([undefined, undefined]);
    const got: unknown[] = [];
    const peer = await createTestServer(
      createRouter()
        .on(Report, (ctx) => got.push(ctx.payload))
        .on(Both, (ctx) => got.push(ctx.payload)),
    ).connect();
    await peer.send(Report, { payload: "p", errors: ["e"] });
    await peer.send(Both, { response: "r", errors: [] });
    expect(got).toEqual([
      { payload: "p", errors: ["e"] },
      { response: "r", errors: [] },
    ]);
  });

  test("rpc() takes errors alone, with progress, and with a durable call", () => {
    const errors = { CLOSED };
    const ofRpc = (options: object) =>
      rpc("A", undefined, "B", undefined, options as never) as AnyMessageSchema;
    expect(ofRpc({ errors }).progress).toBeUndefined();
    expect(ofRpc({ errors, progress: z.string() })).toMatchObject({ errors, progress: {} });
    expect(ofRpc({ errors, progress: z.string(), durable: { keepMs: 1_000 } }).durable).toEqual({
      keepMs: 1_000,
    });
    expect(() => ofRpc({ errors, durable: { keepMs: 1_000 } })).toThrow("The progress of A is not a schema.");
  });
});
