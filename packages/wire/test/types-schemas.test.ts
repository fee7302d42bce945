/** What the compiler knows of a schema, in every form it may be declared. */
import { describe, expectTypeOf, test } from "vitest";
import * as core from "../src/index.ts";
import * as valibot from "../src/valibot.ts";
import { v } from "../src/valibot.ts";
import { message, rpc, z } from "../src/zod.ts";

const Say = message("SAY", { text: z.string(), times: z.number().default(1) });
const Add = rpc("ADD", { a: z.number(), b: z.number() }, "SUM", { sum: z.number() });

/** Code for the compiler's eyes only. */
function neverRun(_code: () => unknown): void {}

describe("forms of schemas", () => {
  test("Zod: shape, object schema, meta, config and rpc", () => {
    const text = { text: z.string() };
    expectTypeOf(message("M").payload).toEqualTypeOf<undefined>();
    expectTypeOf<core.PayloadOutput<typeof Say>>().toEqualTypeOf<{ text: string; times: number }>();
    const byObject = message("M", z.object(text));
    expectTypeOf<core.PayloadInput<typeof byObject>>().toEqualTypeOf<{ text: string }>();
    const byConfig = message("M", { payload: text, meta: { room: z.string() }, response: { n: z.number() } });
    expectTypeOf<core.PayloadInput<typeof byConfig>>().toEqualTypeOf<{ text: string }>();
    expectTypeOf<core.MetaOutput<typeof byConfig>>().toEqualTypeOf<{ room: string }>();
    expectTypeOf(byConfig.response.type).toEqualTypeOf<"M_RESPONSE">();
    expectTypeOf<core.PayloadInput<typeof byConfig.response>>().toEqualTypeOf<{ n: number }>();
    const byMessage = message("M", { response: Say });
    expectTypeOf(byMessage.response).toEqualTypeOf(Say);
    expectTypeOf(byMessage.payload).toEqualTypeOf<undefined>();
    expectTypeOf(Add.response.type).toEqualTypeOf<"SUM">();
    neverRun(() => {
      // @ts-expect-error a payload is an object schema or a shape
      message("M", z.string());
      // @ts-expect-error a shape's fields are schemas
      message("M", { text: "string" });
      // @ts-expect-error a transformed object cannot be made strict
      message("M", z.object(text).transform(String));
    });
  });

  test("Valibot: shape, object schema, meta, config and rpc", () => {
    const fields = { text: v.string(), times: v.optional(v.number(), 1) };
    const byShape = valibot.message("M", fields);
    expectTypeOf<core.PayloadInput<typeof byShape>>().toEqualTypeOf<{
      text: string;
      times?: number | undefined;
    }>();
    expectTypeOf<core.PayloadOutput<typeof byShape>>().toEqualTypeOf<{ text: string; times: number }>();
    const byObject = valibot.message("M", v.object(fields));
    expectTypeOf<core.PayloadOutput<typeof byObject>>().toEqualTypeOf<{ text: string; times: number }>();
    const withMeta = valibot.message("M", fields, { room: v.string() });
    expectTypeOf<core.MetaOutput<typeof withMeta>>().toEqualTypeOf<{ room: string }>();
    const byConfig = valibot.message("M", { payload: fields, response: { n: v.number() } });
    expectTypeOf(byConfig.response.type).toEqualTypeOf<"M_RESPONSE">();
    expectTypeOf<core.PayloadInput<typeof byConfig.response>>().toEqualTypeOf<{ n: number }>();
    const Sum = valibot.rpc("SUM", { a: v.number() }, "SUMMED", undefined);
    valibot.createRouter().rpc(Sum, (ctx) => {
      expectTypeOf(ctx.payload).toEqualTypeOf<{ a: number }>();
      ctx.reply(Sum.response);
      // @ts-expect-error SUMMED takes no payload
      void ctx.reply(Sum.response, { a: 1 });
    });
    neverRun(() => {
      // @ts-expect-error a payload is an object schema or a shape
      valibot.message("M", v.string());
      // @ts-expect-error a shape's fields are schemas
      valibot.message("M", { text: "string" });
    });
  });

  test("core: any Standard Schema, with its own input and output", () => {
    const schema: core.StandardSchema<{ n: string }, { n: number }> = {
      "~standard": { version: 1, vendor: "types", validate: () => ({ value: { n: 1 } }) },
    };
    const byPayload = core.message("M", schema);
    expectTypeOf<core.PayloadInput<typeof byPayload>>().toEqualTypeOf<{ n: string }>();
    expectTypeOf<core.PayloadOutput<typeof byPayload>>().toEqualTypeOf<{ n: number }>();
    const byConfig = core.message("M", { payload: schema, response: schema });
    expectTypeOf(byConfig.response.type).toEqualTypeOf<"M_RESPONSE">();
    const Double = core.rpc("DOUBLE", schema, "DOUBLED", schema);
    core.createRouter().rpc(Double, (ctx) => {
      expectTypeOf(ctx.payload).toEqualTypeOf<{ n: number }>();
      ctx.reply(Double.response, { n: "2" });
      // @ts-expect-error the response is given as input, a string
      void ctx.reply(Double.response, { n: 2 });
    });
    neverRun(() => {
      // @ts-expect-error raw shapes need a library
      core.message("M", { text: schema });
    });
  });

  test("any Standard Schema library fits the core, Zod's and Valibot's own schemas too", () => {
    const ofZod = core.message("M", z.object({ n: z.number() }));
    const ofValibot = core.message("M", v.object({ n: v.number() }));
    expectTypeOf<core.PayloadInput<typeof ofZod>>().toEqualTypeOf<{ n: number }>();
    expectTypeOf<core.PayloadInput<typeof ofValibot>>().toEqualTypeOf<{ n: number }>();
  });
});
