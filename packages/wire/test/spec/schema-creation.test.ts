import { describe, expect, test } from "vitest";
import * as core from "../../src/index.ts";
import { createTestServer, type TestConnection } from "../../src/testing/index.ts";
import * as valibotModule from "../../src/valibot.ts";
import * as zodModule from "../../src/zod.ts";
import { errorsOf, framesOf, outcomeOf, sendFrame } from "./frames.ts";
import { libraries } from "./libraries.ts";

describe("guide/schemas: Valibot", () => {
  test("each schema module exports message, rpc, createRouter and its validation library", () => {
    for (const module of [zodModule, valibotModule]) {
      expect([module.message, module.rpc, module.createRouter].map((member) => typeof member)).toEqual([
        "function",
        "function",
        "function",
      ]);
    }
    expect([typeof zodModule.z.object, typeof valibotModule.v.object]).toEqual(["function", "function"]);
  });
});

describe.each(libraries)(
  "guide/schemas: Forms ($name)",
  ({
    name,
    createRouter,
    message,
    rpc,
    string,
    number,
    unknown,
    optional,
    withDefault,
    numeric,
    checkedLater,
    object,
    strictObject,
    looseObject,
    transformed,
  }) => {
    /** The payloads, of those given, that the handler of an event with this schema receives. */
    async function handled(schema: core.AnyMessageSchema, ...payloads: unknown[]): Promise<unknown[]> {
      const seen: unknown[] = [];
      const peer = await createTestServer(
        createRouter().on(schema, (ctx) => seen.push(ctx.payload)),
      ).connect();
      for (const payload of payloads) await sendFrame(peer, { type: schema.type, meta: {}, payload });
      const refused = errorsOf(peer);
      expect(refused.every(({ code }) => code === "INVALID_ARGUMENT")).toBe(true);
      expect(seen.length + refused.length).toBe(payloads.length);
      return seen;
    }

    test("message(type) declares a message without payload", async () => {
      expect(await handled(message("M"), undefined, {}, { a: 1 })).toEqual([undefined]);
    });

    test.each([
      ["a raw shape", () => message("M", { text: string() })],
      ["an object schema", () => message("M", object({ text: string() }))],
      ["a strict object schema", () => message("M", strictObject({ text: string() }))],
      ["a loose object schema", () => message("M", looseObject({ text: string() }))],
      ["config with a raw shape", () => message("M", { payload: { text: string() } })],
      ["config with an object schema", () => message("M", { payload: object({ text: string() }) })],
      ["rpc with a raw shape", () => rpc("M", { text: string() }, "N", undefined)],
      ["rpc with an object schema", () => rpc("M", object({ text: string() }), "N", undefined)],
    ])("a payload declared as %s refuses unknown keys", async (_how, make) => {
      const payloads = [{ text: "x" }, { text: "x", extra: 1 }, { text: 1 }, {}, null, "x", undefined];
      expect(await handled(make(), ...payloads)).toEqual([{ text: "x" }]);
    });

    test("message(type, payload, meta) declares custom meta fields, as a raw shape or an object schema", async () => {
      for (const meta of [{ room: string() }, object({ room: string() })]) {
        const Said = message("SAID", { text: string() }, meta);
        const rooms: unknown[] = [];
        const router = createRouter().on(Said, (ctx) => rooms.push((ctx.meta as { room?: unknown }).room));
        const peer = await createTestServer(router).connect();
        await sendFrame(peer, { type: "SAID", meta: { room: "a" }, payload: { text: "x" } });
        await sendFrame(peer, { type: "SAID", meta: { room: "a", extra: 1 }, payload: { text: "x" } });
        await sendFrame(peer, { type: "SAID", meta: {}, payload: { text: "x" } });
        expect(rooms).toEqual(["a"]);
        expect(errorsOf(peer)).toHaveLength(2);
      }
    });

    test("message(type, config) accepts payload, response and meta, each optional", async () => {
      const Add = message("ADD", {
        payload: { a: number() },
        response: { sum: number() },
        meta: { room: optional(string()) },
      });
      const router = createRouter().rpc(Add, (ctx) => ctx.reply(Add.response, { sum: ctx.payload.a + 1 }));
      const peer = await createTestServer(router).connect();
      expect(await peer.request(Add, { a: 1 }, { room: "r" })).toEqual({ sum: 2 });
      expect(message("A", { payload: { a: number() } })).toMatchObject({
        response: undefined,
        meta: undefined,
      });
      expect(message("A", { response: { a: number() } })).toMatchObject({
        payload: undefined,
        meta: undefined,
      });
      expect(message("A", { meta: { a: number() } })).toMatchObject({
        payload: undefined,
        response: undefined,
      });
    });

    test("the response of a config is a shape or object schema named <type>_RESPONSE, or a message schema", async () => {
      const Sum = message("SUM", { sum: number() });
      const byShape = message("A", { response: { sum: number() } });
      const bySchema = message("B", { response: object({ sum: number() }) });
      const byMessage = message("C", { response: Sum });
      expect([byShape, bySchema, byMessage].map(({ response }) => response.type)).toEqual([
        "A_RESPONSE",
        "B_RESPONSE",
        "SUM",
      ]);
      const router = createRouter()
        .rpc(byShape, (ctx) => ctx.reply(byShape.response, { sum: 1 }))
        .rpc(bySchema, (ctx) => ctx.reply(bySchema.response, { sum: 2 }))
        .rpc(byMessage, (ctx) => ctx.reply(Sum, { sum: 3 }));
      const peer = await createTestServer(router).connect();
      for (const request of [byShape, bySchema, byMessage]) await peer.send(request);
      expect(peer.frames.slice(1).map((frame) => [frame.type, frame.payload])).toEqual([
        ["A_RESPONSE", { sum: 1 }],
        ["B_RESPONSE", { sum: 2 }],
        ["SUM", { sum: 3 }],
      ]);
    });

    test("rpc() and the config form behave identically at run time", async () => {
      const legacy = rpc("ADD", { a: number() }, "SUM", { sum: number() });
      const config = message("ADD", {
        payload: { a: number() },
        response: message("SUM", { sum: number() }),
      });
      const transcripts = [legacy, config].map(async (Add) => {
        const router = createRouter().rpc(Add, (ctx) => ctx.reply(Add.response, { sum: ctx.payload.a + 1 }));
        const peer = await createTestServer(router, { epoch: 0 }).connect();
        await sendFrame(peer, { type: "ADD", meta: { correlationId: "1" }, payload: { a: 1 } });
        await sendFrame(peer, { type: "ADD", meta: { correlationId: "2" }, payload: { a: 1, b: 2 } });
        await sendFrame(peer, { type: "ADD", meta: { correlationId: "3", extra: 1 }, payload: { a: 1 } });
        return peer.frames.slice(1);
      });
      const [one, two] = await Promise.all(transcripts);
      expect(one).toHaveLength(3);
      expect(one).toEqual(two);
    });

    test("undefined declares no payload in rpc()", async () => {
      const Ask = rpc("ASK", undefined, "ANSWER", { n: number() });
      const Tell = rpc("TELL", { n: number() }, "TOLD", undefined);
      const router = createRouter()
        .rpc(Ask, (ctx) => ctx.reply(Ask.response, { n: 1 }))
        .rpc(Tell, (ctx) => ctx.reply(Tell.response));
      const peer = await createTestServer(router).connect();
      expect(await peer.request(Ask)).toEqual({ n: 1 });
      expect(await peer.request(Tell, { n: 1 })).toBeUndefined();
      await sendFrame(peer, { type: "ASK", meta: { correlationId: "x" }, payload: {} });
      expect(outcomeOf(peer, "x")).toBe("INVALID_ARGUMENT");
    });

    test("a type that starts with $ws: throws when the schema is created, in every form", () => {
      for (const make of [
        () => message("$ws:mine"),
        () => message("$ws:rpc-progress"),
        () => message("$ws:abort", { a: string() }),
        () => message("$ws:mine", { a: string() }, { b: string() }),
        () => message("$ws:mine", { payload: { a: string() } }),
        () => rpc("$ws:mine", undefined, "OK", undefined),
        () => rpc("MINE", undefined, "$ws:ok", undefined),
      ]) {
        expect(make).toThrow(/reserved/);
      }
    });

    test("control types cannot be registered and never reach handlers or middleware", async () => {
      const handledTypes: string[] = [];
      const forged = (type: string) => ({ ...message("FORGED"), type });
      const router = createRouter().use((ctx, next) => {
        handledTypes.push(ctx.type);
        return next();
      });
      for (const type of ["$ws:rpc-progress", "$ws:abort"]) {
        expect(() => router.on(forged(type), (ctx) => handledTypes.push(ctx.type))).toThrow(/reserved/);
      }
      const peer = await createTestServer(router).connect();
      await sendFrame(peer, { type: "$ws:rpc-progress", meta: { correlationId: "1" }, payload: {} });
      await sendFrame(peer, { type: "$ws:abort", meta: { correlationId: "1" } });
      expect(handledTypes).toEqual([]);
      expect(errorsOf(peer)).toMatchObject([{ code: "INVALID_ARGUMENT" }]);
    });

    test("a meta key that starts with $ throws when the schema is created, in every form", () => {
      expect(() => message("M", { a: string() }, { $mine: string() })).toThrow(/reserved/);
      expect(() => message("M", { meta: { $t: string() } })).toThrow(/reserved/);
      expect(() => message("M", { meta: object({ $t: string() }) })).toThrow(/reserved/);
    });

    test("a second argument with no keys but payload, response and meta is a config, and any other is a shape", async () => {
      expect(
        await handled(message("M", { payload: string(), text: string() }), { payload: "a", text: "b" }),
      ).toEqual([{ payload: "a", text: "b" }]);
      expect(message("M", { payload: { text: string() }, response: {} }).response.type).toBe("M_RESPONSE");
    });

    test("{} is a raw shape that declares an empty strict payload", async () => {
      expect(await handled(message("M", {}), {}, { a: 1 }, undefined)).toEqual([{}]);
    });

    test("only the outermost object is made strict, and nested objects stay as declared", async () => {
      const Nested = message("M", { user: object({ name: string() }), extra: optional(unknown()) });
      expect(await handled(Nested, { user: { name: "Ada", age: 1 } })).toEqual([{ user: { name: "Ada" } }]);
    });

    test("an object schema that cannot be made strict throws when the message is created", () => {
      expect(() => message("M", transformed({ a: string() }))).toThrow(/payload of M is not a plain object/);
      expect(() => message("M", { payload: transformed({ a: string() }) })).toThrow(/payload of M/);
      expect(() => message("M", { meta: transformed({ a: string() }) })).toThrow(/meta of M/);
      expect(() => message("M", { response: transformed({ a: string() }) })).toThrow(/M_RESPONSE/);
    });

    test.each([
      ["a string schema", () => string()],
      ["null", () => null],
      ["a string", () => "text"],
      ["an array of schemas", () => [string()]],
      ["a shape whose fields are not schemas", () => ({ text: "string" })],
      ["a config with a misspelt key", () => ({ payload: { a: string() }, respone: { b: string() } })],
    ])("a payload that is %s throws when the schema is created", (_what, make) => {
      expect(() => message("M", make() as never)).toThrow(TypeError);
      expect(() => rpc("M", make() as never, "N", undefined)).toThrow(TypeError);
    });

    test("meta fields beside a config throw when the schema is created", () => {
      const config = { payload: object({ a: string() }) };
      expect(() => message("M", config, { room: string() })).toThrow(/config/);
    });

    test("a message whose schema validates asynchronously fails with INTERNAL, and the error names the schema", async () => {
      const Later = message("LATER", { code: checkedLater() });
      const handledLater: unknown[] = [];
      const peer = await createTestServer(
        createRouter().on(Later, (ctx) => handledLater.push(ctx.payload)),
      ).connect();
      await sendFrame(peer, { type: "LATER", meta: { correlationId: "1" }, payload: { code: "x" } });
      expect(errorsOf(peer)).toMatchObject([{ code: "INTERNAL", message: expect.stringContaining("LATER") }]);
      expect(outcomeOf(peer, "1")).toBe("INTERNAL");
      expect(handledLater).toEqual([]);
    });

    describe("a payload with defaults and transforms", () => {
      const Move = message("MOVE", { x: numeric(), speed: withDefault(number(), 1) });

      async function moved(): Promise<{ peer: TestConnection; seen: unknown[] }> {
        const seen: unknown[] = [];
        const router = createRouter().on(Move, (ctx) => {
          seen.push(ctx.payload);
          ctx.send(Move, { x: "7" });
        });
        return { peer: await createTestServer(router).connect(), seen };
      }

      test("reaches the handler as the schema's output", async () => {
        const { peer, seen } = await moved();
        await peer.send(Move, { x: "42" });
        expect(seen).toEqual([{ x: 42, speed: 1 }]);
      });

      test("is checked when it is sent, and the frame carries the value as given", async () => {
        const { peer } = await moved();
        await peer.send(Move, { x: "42" });
        expect(framesOf(peer, "MOVE").map((frame) => frame.payload)).toEqual([{ x: "7" }]);
      });
    });

    test("a router merges routers of the other library, and each route keeps its validation", async () => {
      const other = libraries.find((library) => library.name !== name);
      if (other === undefined) throw new Error("there are two libraries");
      const Own = message("OWN", { n: number() });
      const Theirs = other.message("THEIRS", { n: other.number() });
      const seen: number[] = [];
      const router = createRouter()
        .on(Own, (ctx) => seen.push(ctx.payload.n))
        .merge(other.createRouter().on(Theirs, (ctx) => seen.push(ctx.payload.n)));
      const peer = await createTestServer(router).connect();
      await peer.send(Own, { n: 1 });
      await peer.send(Theirs, { n: 2 });
      for (const type of ["OWN", "THEIRS"]) await sendFrame(peer, { type, meta: {}, payload: { n: "3" } });
      expect(seen).toEqual([1, 2]);
      expect(errorsOf(peer).map(({ code }) => code)).toEqual(["INVALID_ARGUMENT", "INVALID_ARGUMENT"]);
    });
  },
);

describe("guide/schemas: Other validation libraries", () => {
  const standard = <T>(validate: (value: unknown) => core.StandardResult<T>): core.StandardSchema<T> => ({
    "~standard": { version: 1, vendor: "spec", validate },
  });
  const even = standard<{ n: number }>((value) => {
    const { n } = value as { n: number };
    return n % 2 === 0 ? { value: { n } } : { issues: [{ message: "odd", path: ["n"] }] };
  });

  test("message, rpc and createRouter accept any Standard Schema", async () => {
    const Double = core.rpc("DOUBLE", even, "DOUBLED", even);
    const router = core
      .createRouter()
      .rpc(Double, (ctx) => ctx.reply(Double.response, { n: ctx.payload.n * 2 }));
    const peer = await createTestServer(router).connect();
    expect(await peer.request(Double, { n: 2 })).toEqual({ n: 4 });
    await peer.send(Double, { n: 3 }, { correlationId: "odd" });
    expect(errorsOf(peer)).toMatchObject([
      { code: "INVALID_ARGUMENT", details: { issues: [{ path: "n", message: "odd" }] } },
    ]);
  });

  test("the library decides on unknown payload keys, and the server still refuses unknown keys in the frame and in meta", async () => {
    const Even = core.message("EVEN", even);
    const seen: unknown[] = [];
    const peer = await createTestServer(
      core.createRouter().on(Even, (ctx) => seen.push(ctx.payload)),
    ).connect();
    await sendFrame(peer, { type: "EVEN", meta: {}, payload: { n: 2, extra: 1 } });
    await sendFrame(peer, { type: "EVEN", meta: {}, payload: { n: 2 }, extra: 1 });
    await sendFrame(peer, { type: "EVEN", meta: { extra: 1 }, payload: { n: 2 } });
    expect(seen).toEqual([{ n: 2 }]);
    expect(errorsOf(peer)).toHaveLength(2);
  });

  test("a Standard Schema may be a function", async () => {
    const callable = Object.assign(() => undefined, even) as unknown as core.StandardSchema<{ n: number }>;
    const Even = core.message("EVEN", { payload: callable, response: callable });
    const router = core.createRouter().rpc(Even, (ctx) => ctx.reply(Even.response, ctx.payload));
    const peer = await createTestServer(router).connect();
    expect(await peer.request(Even, { n: 2 })).toEqual({ n: 2 });
    expect(core.message("EVEN", callable).payload).toBe(callable);
  });

  test("a raw shape throws, and the error names the modules that accept raw shapes", () => {
    expect(() => core.message("M", { n: even } as never)).toThrow(/@halyard\/wire\/zod/);
  });
});
