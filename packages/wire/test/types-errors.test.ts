/** The types of declared errors: what `ctx.fail()` takes, and what the caller gets. */
import { describe, expectTypeOf, test } from "vitest";
import { z as plainZod } from "zod";
import { attachCall, type RequestError, type WsError, wsClient } from "../src/client/index.ts";
import { useCall, useRequest } from "../src/client/react.ts";
import * as standard from "../src/index.ts";
import * as valibot from "../src/valibot.ts";
import { v } from "../src/valibot.ts";
import { createRouter, message, rpc, z } from "../src/zod.ts";

const Buy = message("BUY", {
  payload: { sku: z.string() },
  response: { id: z.string() },
  errors: {
    OUT_OF_STOCK: { code: "FAILED_PRECONDITION", data: { left: z.number() } },
    CLOSED: { code: "UNAVAILABLE" },
    LATER: {
      code: "UNAVAILABLE",
      data: z.object({ at: z.string().transform(Number), n: z.number().default(1) }),
    },
  },
});
const OfValibot = valibot.message("BUY", {
  payload: { sku: v.string() },
  response: { id: v.string() },
  errors: {
    OUT_OF_STOCK: { code: "FAILED_PRECONDITION", data: { left: v.number() } },
    CLOSED: { code: "UNAVAILABLE" },
  },
});
const OfStandard = standard.message("BUY", {
  response: plainZod.strictObject({ id: plainZod.string() }),
  errors: {
    OUT_OF_STOCK: { code: "FAILED_PRECONDITION", data: plainZod.strictObject({ left: plainZod.number() }) },
    CLOSED: { code: "UNAVAILABLE" },
  },
});
const Plain = rpc("PLAIN", undefined, "PLAIN_OK", {});
const errors = { CUT: { code: "ABORTED", data: { at: z.number() } } } as const;
const Alone = rpc("ALONE", { n: z.number() }, "ALONE_OK", {}, { errors });
const Rows = rpc("ROWS", undefined, "ROWS_END", {}, { progress: z.string(), errors });
const Ask = rpc(
  "ASK",
  undefined,
  "ASK_END",
  {},
  { progress: z.string(), durable: { keepMs: 1_000 }, errors },
);
const client = wsClient({ url: "ws://localhost" });

/** Code that is only compiled. */
function neverRun(_code: () => unknown): void {}

describe("ctx.fail", () => {
  test("takes the declared names, each with its data", () => {
    neverRun(() =>
      createRouter().rpc(Buy, (ctx) => {
        if (ctx.payload.sku === "a") return { id: "1" };
        if (ctx.payload.sku === "b") return ctx.fail("OUT_OF_STOCK", { left: 2 });
        if (ctx.payload.sku === "c") return ctx.fail("CLOSED");
        if (ctx.payload.sku === "d") return ctx.fail("CLOSED", undefined, { retryAfterMs: 1_000 });
        expectTypeOf(ctx.fail("CLOSED")).toEqualTypeOf<never>();
        return ctx.fail("LATER", { at: "5" }, { retryAfterMs: 1_000 });
      }),
    );
  });

  test("takes no other name, no other data, and nothing without declared errors", () => {
    neverRun(() =>
      createRouter().rpc(Buy, (ctx) => {
        // @ts-expect-error no such error
        ctx.fail("SOLD_OUT");
        // @ts-expect-error left is a number
        ctx.fail("OUT_OF_STOCK", { left: "two" });
        // @ts-expect-error the data is declared, so it is required
        ctx.fail("OUT_OF_STOCK");
        // @ts-expect-error no data is declared
        ctx.fail("CLOSED", { left: 2 });
        // @ts-expect-error what is sent is not what arrives
        ctx.fail("LATER", { at: 5 });
        // @ts-expect-error waiting cannot help after a terminal code
        ctx.fail("OUT_OF_STOCK", { left: 2 }, { retryAfterMs: 1_000 });
        // @ts-expect-error the code says whether the error is retryable
        return ctx.fail("CLOSED", undefined, { retryable: false });
      }),
    );
    // @ts-expect-error no errors are declared
    neverRun(() => createRouter().rpc(Plain, (ctx) => ctx.fail("CLOSED")));
    // @ts-expect-error an event is not answered
    neverRun(() => createRouter().on(Buy, (ctx) => ctx.fail("CLOSED")));
  });

  test("works with Valibot, any Standard Schema, progress and durable calls", () => {
    neverRun(() =>
      createRouter()
        .rpc(OfValibot, (ctx) =>
          ctx.payload.sku ? ctx.fail("OUT_OF_STOCK", { left: 2 }) : ctx.fail("CLOSED"),
        )
        .rpc(OfStandard, (ctx) => (ctx.clientId ? ctx.fail("OUT_OF_STOCK", { left: 2 }) : ctx.fail("CLOSED")))
        .rpc(Alone, (ctx) => ctx.fail("CUT", { at: ctx.payload.n }))
        .rpc(Rows, async (ctx) => {
          await ctx.progress("x");
          return ctx.fail("CUT", { at: 1 });
        })
        .rpc(Ask, { owner: () => "ann" }, (ctx) => ctx.fail("CUT", { at: ctx.callId.length })),
    );
    // @ts-expect-error left is a number
    neverRun(() => createRouter().rpc(OfValibot, (ctx) => ctx.fail("OUT_OF_STOCK", { left: "two" })));
    // @ts-expect-error left is a number
    neverRun(() => createRouter().rpc(OfStandard, (ctx) => ctx.fail("OUT_OF_STOCK", { left: "two" })));
    // @ts-expect-error at is a number
    neverRun(() => createRouter().rpc(Ask, { owner: () => "ann" }, (ctx) => ctx.fail("CUT", { at: "1" })));
  });
});

describe("the caller", () => {
  test("narrows what it caught with isError, then by reason", () => {
    neverRun(() =>
      client.request(Buy, { sku: "a" }).catch((caught: unknown) => {
        if (!Buy.isError(caught)) throw caught;
        expectTypeOf(caught.reason).toEqualTypeOf<"OUT_OF_STOCK" | "CLOSED" | "LATER">();
        expectTypeOf(caught.retryAfterMs).toEqualTypeOf<number | undefined>();
        if (caught.reason === "OUT_OF_STOCK") {
          expectTypeOf(caught.data).toEqualTypeOf<{ left: number }>();
          expectTypeOf(caught.code).toEqualTypeOf<"FAILED_PRECONDITION">();
        } else if (caught.reason === "LATER")
          expectTypeOf(caught.data).toEqualTypeOf<{ at: number; n: number }>();
        else expectTypeOf(caught.data).toEqualTypeOf<undefined>();
        // @ts-expect-error no such error
        return caught.reason === "SOLD_OUT";
      }),
    );
    neverRun(() => {
      const caught: unknown = undefined;
      if (OfValibot.isError(caught) && caught.reason === "OUT_OF_STOCK")
        expectTypeOf(caught.data).toEqualTypeOf<{ left: number }>();
      if (OfStandard.isError(caught) && caught.reason === "OUT_OF_STOCK")
        expectTypeOf(caught.data).toEqualTypeOf<{ left: number }>();
      if (Ask.isError(caught)) expectTypeOf(caught.data).toEqualTypeOf<{ at: number }>();
      attachCall(client, Ask, "1");
      // @ts-expect-error no errors are declared
      Plain.isError(caught);
    });
  });

  test("narrows the error of useRequest and useCall by reason alone", () => {
    neverRun(() => {
      const { error } = useRequest(Buy);
      if (error?.reason === "OUT_OF_STOCK") expectTypeOf(error.data).toEqualTypeOf<{ left: number }>();
      else expectTypeOf(error?.message).toEqualTypeOf<string | undefined>();
      if (error?.reason === undefined) expectTypeOf(error?.data).toEqualTypeOf<undefined>();
      // @ts-expect-error no such error
      void (error?.reason === "SOLD_OUT");
      const call = useCall(Ask);
      if (call.error?.reason === "CUT") expectTypeOf(call.error.data).toEqualTypeOf<{ at: number }>();
      expectTypeOf(useRequest(Plain).error).toEqualTypeOf<WsError | undefined>();
      expectTypeOf<RequestError<typeof Plain>>().toEqualTypeOf<WsError>();
    });
  });
});

describe("a declaration", () => {
  test("has a standard code", () => {
    const wrong = { SOLD: { code: "SOLD" } } as const;
    // @ts-expect-error not a standard code
    neverRun(() => message("X", { response: {}, errors: wrong }));
    // @ts-expect-error not a standard code
    neverRun(() => rpc("X", {}, "Y", {}, { errors: wrong }));
    // @ts-expect-error not a standard code
    neverRun(() => rpc("X", {}, "Y", {}, { progress: z.string(), errors: wrong }));
    // @ts-expect-error not a standard code
    neverRun(() => valibot.message("X", { response: {}, errors: wrong }));
    // @ts-expect-error not a standard code
    neverRun(() => standard.message("X", { response: plainZod.object({}), errors: wrong }));
    // @ts-expect-error only a call with progress is durable
    neverRun(() => rpc("X", {}, "Y", {}, { errors, durable: { keepMs: 1_000 } }));
  });

  test("has data with a JSON form", () => {
    const dated = { SOLD: { code: "ABORTED", data: { at: z.date() } } } as const;
    // @ts-expect-error a date has no JSON form
    neverRun(() => message("X", { response: {}, errors: dated }));
    // @ts-expect-error a date has no JSON form
    neverRun(() => rpc("X", {}, "Y", {}, { errors: dated }));
    // @ts-expect-error a date has no JSON form
    neverRun(() => rpc("X", {}, "Y", {}, { progress: z.string(), errors: dated }));
    const ofValibot = { SOLD: { code: "ABORTED", data: { at: v.date() } } } as const;
    // @ts-expect-error a date has no JSON form
    neverRun(() => valibot.rpc("X", {}, "Y", {}, { errors: ofValibot }));
    const At = plainZod.object({ at: plainZod.date() });
    const Empty = plainZod.object({});
    // @ts-expect-error a date has no JSON form
    neverRun(() => standard.rpc("X", Empty, "Y", Empty, { errors: { SOLD: { code: "ABORTED", data: At } } }));
  });

  test("of a payload or of errors that is only one field called like a key of the config has a JSON form too", () => {
    // @ts-expect-error a date has no JSON form
    neverRun(() => message("X", { errors: z.array(z.date()) }));
    // @ts-expect-error a date has no JSON form
    neverRun(() => rpc("X", { meta: z.date() }, "Y", {}));
    // @ts-expect-error a date has no JSON form
    neverRun(() => valibot.message("X", { errors: v.array(v.date()) }));
    // @ts-expect-error a date has no JSON form
    neverRun(() => valibot.rpc("X", { meta: v.date() }, "Y", {}));
    neverRun(() => message("X", { errors: z.array(z.string()), meta: z.string() }));
    neverRun(() => valibot.rpc("X", { meta: v.string() }, "Y", {}));
  });

  test("does not take a field called errors for declared errors", () => {
    const Report = message("REPORT", { payload: z.string(), errors: z.array(z.string()) });
    const Both = message("BOTH", { response: z.string(), errors: z.array(z.string()) });
    expectTypeOf<standard.PayloadOutput<typeof Report>>().toEqualTypeOf<{
      payload: string;
      errors: string[];
    }>();
    expectTypeOf<standard.PayloadOutput<typeof Both>>().toEqualTypeOf<{
      response: string;
      errors: string[];
    }>();
    expectTypeOf(Both.response).toEqualTypeOf<undefined>();
  });
});
