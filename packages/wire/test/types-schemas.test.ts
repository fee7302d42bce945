/** The types of a schema in every form of declaration. */
import { describe, expectTypeOf, test } from "vitest";
import * as core from "../src/index.ts";
import * as valibot from "../src/valibot.ts";
import { v } from "../src/valibot.ts";
import { channel, message, rpc, type ZodJson, z } from "../src/zod.ts";

const Say = message("SAY", { text: z.string(), times: z.number().default(1) });
const Add = rpc("ADD", { a: z.number(), b: z.number() }, "SUM", { sum: z.number() });

interface Visit {
  readonly page: string;
  readonly at: Date;
}

/** Code that is only compiled. */
function neverRun(_code: () => unknown): void {}

describe("a type without a JSON form", () => {
  test("does not compile in a field, nested, in meta or in a response", () => {
    const bytes = z.object({ bytes: z.instanceof(Uint8Array) });
    neverRun(() => {
      // @ts-expect-error a Date
      message("M", { at: z.date() });
      // @ts-expect-error a bigint
      message("M", { ok: z.string(), id: z.bigint().optional() });
      // @ts-expect-error a Map
      message("M", { by: z.map(z.string(), z.string()) });
      // @ts-expect-error a Set, nested
      message("M", { items: z.array(z.object({ tags: z.set(z.string()).nullable() })) });
      // Not an error of the compiler, which cannot tell it from bytes(): message() throws.
      message("M", bytes);
      // @ts-expect-error a Date, in a config
      message("M", { payload: { at: z.date() } });
      // @ts-expect-error a Date, in the response of a config
      message("M", { response: { at: z.date() } });
      // @ts-expect-error a Date, in meta
      message("M", {}, { at: z.date() });
      // @ts-expect-error a Date, in a request
      rpc("M", { at: z.date() }, "R", undefined);
      // @ts-expect-error a Date, in a response
      rpc("M", undefined, "R", { at: z.date() });
      // @ts-expect-error a Date
      valibot.message("M", { at: v.date() });
      // @ts-expect-error a Set, nested
      valibot.message("M", { items: v.array(v.object({ tags: v.optional(v.set(v.string())) })) });
      // @ts-expect-error a bigint, in a response
      valibot.rpc("M", undefined, "R", { id: v.bigint() });
      // @ts-expect-error a Date, in a config
      valibot.message("M", { payload: { at: v.date() }, response: { ok: v.boolean() } });
      // @ts-expect-error a Date, in the parameters of a channel
      channel("c:{at}", { params: { at: z.date() }, events: [] });
      // @ts-expect-error a Map in an object schema
      message("M", z.object({ by: z.map(z.string(), z.string()) }));
      // @ts-expect-error a Date in an interface, which no index signature describes
      message("M", { visit: z.custom<Visit>() });
      // @ts-expect-error a Date, of any library
      core.message("M", z.strictObject({ at: z.date() }));
      // @ts-expect-error a Date, of any library, in a config
      core.message("M", { response: z.strictObject({ at: z.date() }) });
    });
  });

  test("is named at the field that has it, with the type to send instead", () => {
    neverRun(() => {
      const refused: ZodJson<{ ok: z.ZodString; at: z.ZodDate }> = { at: "" as never };
      expectTypeOf(
        refused.at,
      ).toExtend<`This type has no JSON form. Send a date as an ISO string, ${string}`>();
      // @ts-expect-error only the Date is refused
      refused.ok;
      expectTypeOf<ZodJson<{ ok: z.ZodString }>>().toEqualTypeOf<unknown>();
    });
  });

  test("compiles as the result of a conversion, and where the type is not known", () => {
    interface Tree {
      readonly text: string;
      readonly children: readonly Tree[];
    }
    const tree: z.ZodType<Tree> = z.lazy(() => z.object({ text: z.string(), children: z.array(tree) }));
    const Kept = message("M", {
      at: z.coerce.date(),
      when: z.iso.datetime().transform((text) => new Date(text)),
      tree,
      json: z.json(),
      any: z.any(),
      branded: z.string().brand("Id"),
      literal: z.literal(["a", 1, null]),
    });
    expectTypeOf<core.PayloadOutput<typeof Kept>["at"]>().toEqualTypeOf<Date>();
    valibot.message("M", { when: v.pipe(v.string(), v.isoTimestamp(), v.toDate()), any: v.any() });
    core.message("M", z.strictObject({ at: z.coerce.date() }));
  });
});

describe("the types of schemas", () => {
  test("are inferred for Zod from shape, object schema, meta, config and rpc", () => {
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

  test("show a payload once when the receiver gets what the sender passes", () => {
    type Response = core.MessageSchema<"SUM", core.PlainSchema<{ sum: number }>, undefined, undefined>;
    type Request = core.MessageSchema<"ADD", core.PlainSchema<{ a: number; b: number }>, undefined, Response>;
    expectTypeOf<typeof Add>().toEqualTypeOf<Request>();
    type Defaulted = core.StandardSchema<
      { text: string; times?: number | undefined },
      { text: string; times: number }
    >;
    expectTypeOf<typeof Say.payload>().toEqualTypeOf<Defaulted>();
  });

  test("are inferred for recursive, readonly and extended Zod schemas", () => {
    const Node = z.object({
      name: z.string(),
      get children() {
        return z.array(Node);
      },
    });
    const Entry = z
      .object({ id: z.string() })
      .extend({ n: z.number().default(1) })
      .partial({ id: true });
    const Tree = message("TREE", {
      root: Node,
      entry: Entry.readonly(),
      get more() {
        return z.optional(z.array(Node));
      },
    });
    type TreeInput = core.PayloadInput<typeof Tree>;
    expectTypeOf<TreeInput["entry"]>().toEqualTypeOf<
      Readonly<{ id?: string | undefined; n?: number | undefined }>
    >();
    expectTypeOf<core.PayloadOutput<typeof Tree>["entry"]>().toEqualTypeOf<
      Readonly<{ id?: string | undefined; n: number }>
    >();
    expectTypeOf<TreeInput["root"]["children"][0]["children"][0]["name"]>().toEqualTypeOf<string>();
    expectTypeOf<NonNullable<TreeInput["more"]>[0]["name"]>().toEqualTypeOf<string>();
    const Whole = message("WHOLE", Node);
    expectTypeOf<core.PayloadOutput<typeof Whole>["children"][0]["name"]>().toEqualTypeOf<string>();
    const Loose = message("LOOSE", z.looseObject({ id: z.string() }));
    expectTypeOf<core.PayloadInput<typeof Loose>["anything"]>().toEqualTypeOf<unknown>();
  });

  test("are inferred for Valibot from shape, object schema, meta, config and rpc", () => {
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

  test("are inferred in the core from any Standard Schema, with its input and output", () => {
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

  test("accept any Standard Schema library in the core, including Zod's and Valibot's schemas", () => {
    const ofZod = core.message("M", z.object({ n: z.number() }));
    const ofValibot = core.message("M", v.object({ n: v.number() }));
    expectTypeOf<core.PayloadInput<typeof ofZod>>().toEqualTypeOf<{ n: number }>();
    expectTypeOf<core.PayloadInput<typeof ofValibot>>().toEqualTypeOf<{ n: number }>();
  });
});
