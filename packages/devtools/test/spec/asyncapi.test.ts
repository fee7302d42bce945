import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import * as core from "@halyard/wire";
import * as valibot from "@halyard/wire/valibot";
import { bytes, channel, createRouter, message, rpc, z } from "@halyard/wire/zod";
import { Ajv } from "ajv";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type AsyncApiDocument, type AsyncApiOptions, asyncApi } from "../../src/asyncapi/index.ts";
import { runCommand } from "../../src/asyncapi/run-command.ts";

const INFO = { title: "Chat", version: "1.0.0" };
/** Without ids, because Ajv has the schema of JSON Schema already. */
const schema = createRequire(import.meta.url)("@asyncapi/specs/schemas/3.0.0-without-$id.json");
const isAsyncApi = new Ajv({ strict: false, logger: false, validateFormats: false }).compile(schema);

/** Resolves the references of a schema in the document, and compiles it. */
function compile(document: AsyncApiDocument, part: object): (value: unknown) => boolean {
  const ajv = new Ajv({ strict: false, logger: false, validateFormats: false });
  const { components } = JSON.parse(JSON.stringify(document));
  return ajv.compile({ ...part, components });
}

function valid(document: AsyncApiDocument): AsyncApiDocument {
  const copy = JSON.parse(JSON.stringify(document));
  expect(isAsyncApi(copy), JSON.stringify(isAsyncApi.errors?.slice(0, 3))).toBe(true);
  for (const $ref of JSON.stringify(copy).matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    const target = $ref[1]?.split("/").reduce((at, key) => at?.[key], copy);
    expect(target, $ref[0]).toBeDefined();
  }
  return copy;
}

const payloadOf = (document: AsyncApiDocument, key: string): object =>
  document.components.messages[key]?.payload ?? {};

const Said = message("SAID", { text: z.string() }, { lang: z.string() });
const Say = rpc("SAY", { text: z.string().max(5) }, "SAY_OK", { id: z.number() });
const Export = rpc(
  "EXPORT",
  undefined,
  "EXPORTED",
  {},
  { progress: z.object({ row: z.string() }), durable: { keepMs: 60_000 } },
);
const Room = channel("room:{kind}:{id}", {
  params: { kind: z.enum(["open", "closed"]), id: z.string().describe("The id of the room") },
  events: [message("MOVED", { x: z.number() })],
  presence: { name: z.string() },
  history: { size: 10, ttlMs: 1_000 },
});
const router = createRouter()
  .on(Said, () => {})
  .rpc(Say, () => ({ id: 1 }))
  .rpc(Export, { owner: () => "ada" }, () => ({}))
  .channel(Room, { authorize: () => true, presence: () => ({ name: "Ada" }) });

describe("guide/asyncapi: How it works", () => {
  test("the document is valid AsyncAPI 3.0, and its references lead somewhere", async () => {
    const document = valid(
      await asyncApi(router, {
        ...INFO,
        description: "A chat",
        servers: { local: { host: "localhost:3000", protocol: "ws", pathname: "/ws" } },
      }),
    );
    expect(document.info).toEqual({ ...INFO, description: "A chat" });
    expect(document.servers).toEqual({ local: { host: "localhost:3000", protocol: "ws", pathname: "/ws" } });
    expect(Object.keys(document.operations)).toEqual([
      "receive.SAID",
      "receive.SAY",
      "receive.EXPORT",
      "send.room__kind___id_",
    ]);
  });

  test("a request with declared errors has an error message of its own, which describes each of them", async () => {
    const errors = {
      OUT_OF_STOCK: { code: "FAILED_PRECONDITION", data: { left: z.number() } },
      CLOSED: { code: "UNAVAILABLE" },
    } as const;
    const Buy = rpc("BUY", undefined, "BOUGHT", undefined, { errors });
    const document = valid(
      await asyncApi(
        createRouter()
          .rpc(Say, () => ({ id: 1 }))
          .rpc(Buy, () => {}),
        INFO,
      ),
    );
    const replies = (key: string) =>
      document.operations[key]?.reply?.messages.map(({ $ref }) => $ref.split("/").at(-1));
    expect(replies("receive.SAY")).toContain("_ws_error");
    expect(replies("receive.BUY")).toEqual(["BOUGHT", "BUY.progress", "BUY.error"]);
    const accepts = compile(document, payloadOf(document, "BUY.error"));
    const frame = (payload: object) => ({ type: "$ws:error", meta: { correlationId: "1" }, payload });
    const [declared] = (payloadOf(document, "BUY.error") as never)["properties"]["payload"][
      "anyOf"
    ] as object[];
    const acceptsDeclared = compile(document, declared ?? {});
    const sent = { code: "FAILED_PRECONDITION", details: { reason: "OUT_OF_STOCK", data: { left: 2 } } };
    expect([
      accepts(frame(sent)),
      accepts(frame({ code: "INTERNAL", message: "no" })),
      accepts(frame({})),
    ]).toEqual([true, true, false]);
    expect(
      [sent, { ...sent, code: "ABORTED" }, { ...sent, details: { reason: "OUT_OF_STOCK" } }].map(
        acceptsDeclared,
      ),
    ).toEqual([true, false, false]);
  });

  test("a request has its response, its progress and the error as reply, with the place of the correlation id", async () => {
    const document = await asyncApi(router, INFO);
    const reply = document.operations["receive.SAY"]?.reply?.messages.map(({ $ref }) => $ref);
    expect(reply).toEqual(
      ["SAY_OK", "SAY.progress", "_ws_error"].map((key) => `#/channels/connection/messages/${key}`),
    );
    for (const key of ["SAY", "SAY_OK", "SAY.progress", "_ws_error"])
      expect(document.components.messages[key]?.correlationId).toEqual({
        location: "$message.payload#/meta/correlationId",
      });
    expect(document.operations["receive.SAID"]?.reply).toBeUndefined();
    expect(document.operations["receive.EXPORT"]?.["x-halyard-durable"]).toEqual({ keepMs: 60_000 });
  });

  test("the schema of a message accepts its frames and refuses others", async () => {
    const document = await asyncApi(router, INFO);
    const said = compile(document, payloadOf(document, "SAID"));
    const meta = { timestamp: 1, lang: "en" };
    expect(said({ type: "SAID", meta, payload: { text: "hi" } })).toBe(true);
    expect(said({ type: "SAID", meta: { ...meta, $t: "room" }, payload: { text: "hi" } })).toBe(true);
    expect(said({ type: "SAID", meta: {}, payload: { text: "hi" } })).toBe(false);
    expect(said({ type: "SAID", meta, payload: { text: "hi", more: 1 } })).toBe(false);
    expect(said({ type: "OTHER", meta, payload: { text: "hi" } })).toBe(false);
    expect(said({ type: "SAID", meta })).toBe(false);
    const say = compile(document, payloadOf(document, "SAY"));
    expect(say({ type: "SAY", meta: { correlationId: "1" }, payload: { text: "hello" } })).toBe(true);
    expect(say({ type: "SAY", meta: {}, payload: { text: "hello" } })).toBe(false);
    expect(say({ type: "SAY", meta: { correlationId: "1" }, payload: { text: "too long" } })).toBe(false);
    const progress = compile(document, payloadOf(document, "EXPORT.progress"));
    const item = (payload: object) => ({ type: "$ws:rpc-progress", meta: { correlationId: "1" }, payload });
    expect(progress(item({ row: "a" }))).toBe(true);
    expect(progress(item({ row: 1 }))).toBe(false);
    const error = compile(document, payloadOf(document, "_ws_error"));
    expect(error({ type: "$ws:error", meta: { correlationId: "1" }, payload: { code: "NOT_FOUND" } })).toBe(
      true,
    );
    expect(JSON.stringify(payloadOf(document, "_ws_error"))).toContain("DEADLINE_EXCEEDED");
  });

  test("a channel has its address, its parameters, its events, its presence and its history", async () => {
    const document = await asyncApi(router, INFO);
    const room = document.channels["room__kind___id_"];
    expect(room).toMatchObject({
      address: "room:{kind}:{id}",
      parameters: { kind: { enum: ["open", "closed"] }, id: { description: "The id of the room" } },
      messages: { MOVED: { $ref: "#/components/messages/MOVED" } },
      "x-halyard-history": { size: 10, ttlMs: 1_000 },
      "x-halyard-presence": { properties: { name: { type: "string" } } },
      "x-halyard-params": { required: ["kind", "id"] },
    });
  });

  test("message types keep their names where AsyncAPI does not allow them as keys", async () => {
    const document = valid(
      await asyncApi(
        createRouter()
          .on(message("chat/said"), () => {})
          .on(message("chat:said"), () => {}),
        INFO,
      ),
    );
    const names = Object.entries(document.components.messages).map(([key, { name }]) => [key, name]);
    expect(names).toEqual([
      ["chat_said", "chat/said"],
      ["chat_said_2", "chat:said"],
    ]);
  });
});

describe("guide/asyncapi: Topics and messages that a router does not know", () => {
  test("topics and sent messages come from the options, and a sent request has the client's answer as reply", async () => {
    const Price = message("PRICE", { price: z.number() });
    const Confirm = rpc("CONFIRM", { question: z.string() }, "CONFIRMED", { ok: z.boolean() });
    const document = valid(
      await asyncApi(createRouter(), {
        ...INFO,
        topics: [{ address: "prices:{symbol}", messages: [Price], description: "Live prices" }],
        sends: [Said, Confirm],
      }),
    );
    expect(document.channels["prices__symbol_"]).toMatchObject({
      address: "prices:{symbol}",
      description: "Live prices",
      parameters: { symbol: {} },
    });
    expect(Object.keys(document.operations)).toEqual([
      "send.SAID",
      "send.CONFIRM.ask",
      "send.prices__symbol_",
    ]);
    const ask = compile(document, payloadOf(document, "CONFIRM.ask"));
    const inner = { type: "CONFIRM", payload: { question: "?" } };
    expect(ask({ type: "$ws:ask", meta: { correlationId: "1" }, payload: inner })).toBe(true);
    const answer = compile(document, payloadOf(document, "CONFIRMED.answer"));
    const meta = { correlationId: "1" };
    expect(answer({ type: "$ws:answer", meta, payload: { type: "CONFIRMED", payload: { ok: true } } })).toBe(
      true,
    );
    expect(answer({ type: "$ws:answer", meta, payload: { code: "UNIMPLEMENTED" } })).toBe(true);
    expect(answer({ type: "$ws:answer", meta, payload: { type: "CONFIRMED", payload: {} } })).toBe(false);
  });

  test("missing options and foreign schemas are refused with what to change", async () => {
    const describeRouter = (options: unknown) => asyncApi(createRouter(), options as AsyncApiOptions);
    await expect(describeRouter({ title: "Chat" })).rejects.toThrow("asyncApi() needs the option version");
    await expect(describeRouter({ ...INFO, sends: [{}] })).rejects.toThrow("asyncApi()");
    const topic = { address: "a", messages: [Said] };
    await expect(describeRouter({ ...INFO, topics: [topic, topic] })).rejects.toThrow("Rename one of them");
  });
});

describe("guide/asyncapi: Schemas", () => {
  interface Tree {
    readonly name: string;
    readonly children: readonly Tree[];
  }
  const tree: z.ZodType<Tree> = z.object({
    name: z.string(),
    get children() {
      return z.array(tree);
    },
  });

  test("recursive schemas become components, and accept nested values", async () => {
    const Grow = message("GROW", { tree });
    const document = valid(
      await asyncApi(
        createRouter().on(Grow, () => {}),
        INFO,
      ),
    );
    expect(Object.keys(document.components.schemas)).toHaveLength(1);
    const grow = compile(document, payloadOf(document, "GROW"));
    const frame = (value: unknown) => ({ type: "GROW", payload: { tree: value } });
    expect(grow(frame({ name: "a", children: [{ name: "b", children: [] }] }))).toBe(true);
    expect(grow(frame({ name: "a", children: [{ name: 1, children: [] }] }))).toBe(false);
  });

  test("a progress item that contains itself becomes a component", async () => {
    type Nested = readonly Nested[];
    const nested: z.ZodType<Nested> = z.array(z.lazy(() => nested));
    const Walk = rpc("WALK", undefined, "WALKED", {}, { progress: nested });
    const document = valid(
      await asyncApi(
        createRouter().rpc(Walk, () => ({})),
        INFO,
      ),
    );
    const walk = compile(document, payloadOf(document, "WALK.progress"));
    const frame = (payload: unknown) => ({ type: "$ws:rpc-progress", meta: { correlationId: "1" }, payload });
    expect(walk(frame([[], [[]]]))).toBe(true);
    expect(walk(frame([[], [["no"]]]))).toBe(false);
  });

  test("bytes are base64, dates are text, defaults are optional, and custom types accept everything", async () => {
    const Mixed = message("MIXED", {
      data: bytes({ maxBytes: 3 }),
      at: z.coerce.date(),
      size: z.number().default(1),
      any: z.custom<string>(() => true),
    });
    const document = valid(
      await asyncApi(
        createRouter().on(Mixed, () => {}),
        INFO,
      ),
    );
    expect(payloadOf(document, "MIXED")).toMatchObject({
      properties: {
        payload: {
          properties: {
            data: { type: "string", contentEncoding: "base64", maxLength: 4 },
            at: { type: "string", format: "date-time" },
          },
          required: ["data", "at", "any"],
        },
      },
    });
    const whole = await asyncApi(
      createRouter().on(core.message("CHUNK", core.bytes()), () => {}),
      INFO,
    );
    expect(payloadOf(whole, "CHUNK")).toMatchObject({
      properties: { payload: { type: "string", contentEncoding: "base64" } },
    });
  });

  test("schemas of Valibot are described by its own package, also with bytes and pipes", async () => {
    const { v } = valibot;
    const Upload = valibot.rpc(
      "UPLOAD",
      {
        name: v.pipe(v.string(), v.maxLength(5)),
        data: valibot.bytes({ maxBytes: 3 }),
        note: v.optional(v.string()),
      },
      "UPLOADED",
      { size: v.pipe(v.string(), v.transform(Number), v.number()) },
      { progress: v.number() },
    );
    const document = valid(
      await asyncApi(
        valibot.createRouter().rpc(Upload, () => ({ size: "1" })),
        INFO,
      ),
    );
    expect(payloadOf(document, "UPLOAD")).toMatchObject({
      properties: {
        payload: {
          properties: {
            name: { type: "string", maxLength: 5 },
            data: { type: "string", contentEncoding: "base64", maxLength: 4 },
          },
          required: ["name", "data"],
          additionalProperties: false,
        },
      },
    });
    expect(payloadOf(document, "UPLOADED")).toMatchObject({
      properties: { payload: { properties: { size: { type: "string" } } } },
    });
    expect(payloadOf(document, "UPLOAD.progress")).toMatchObject({
      properties: { payload: { type: "number" } },
    });
  });

  test("a library that cannot describe its schemas is named, with what to do", async () => {
    const foreign = {
      "~standard": { version: 1, vendor: "acme", validate: (value: unknown) => ({ value }) },
    } as const;
    const acme = createRouter().on(core.message("ACME", foreign), () => {});
    await expect(asyncApi(acme, INFO)).rejects.toThrow(
      'The payload of ACME is of the library "acme", which does not implement Standard JSON Schema.',
    );
    const oldZod = { "~standard": { ...foreign["~standard"], vendor: "zod" } } as const;
    await expect(
      asyncApi(
        createRouter().on(core.message("OLD", oldZod), () => {}),
        INFO,
      ),
    ).rejects.toThrow("npm install zod@^4.2");
  });
});

describe("guide/asyncapi: Options", () => {
  const COMMAND = join(import.meta.dirname, "../../src/asyncapi/command.ts");
  const MODULE = join(import.meta.dirname, "../fixtures/described-router.ts");

  test("the command writes the document of an exported router, and ends although the module keeps running", async () => {
    const folder = await mkdtemp(join(tmpdir(), "halyard-asyncapi-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const file = join(folder, "asyncapi.json");
    const args = ["--router", "chat", "--options", "more", "--url", "wss://example.com/ws", "--out", file];
    await promisify(execFile)(process.execPath, ["--conditions=@halyard/source", COMMAND, MODULE, ...args], {
      env: { ...process.env, KEEP_RUNNING: "1" },
    });
    const document = valid(JSON.parse(await readFile(file, "utf8")));
    expect(document.info).toEqual({ title: "Chat", version: "2.0.0" });
    expect(document.servers).toEqual({ default: { host: "example.com", protocol: "wss", pathname: "/ws" } });
    expect(Object.keys(document.operations)).toEqual(["receive.SAID", "send.PRICE"]);
  });

  const INFO_OPTIONS = ["--title", "T", "--version", "1"];

  test("without --out it prints the document", async () => {
    const write = vi.spyOn(process.stdout, "write").mockImplementation((...args: unknown[]) => {
      (args.at(-1) as () => void)();
      return true;
    });
    onTestFinished(() => write.mockRestore());
    expect(await runCommand([MODULE, "--router", "chat", ...INFO_OPTIONS])).toBe(0);
    expect(JSON.parse(String(write.mock.calls[0]?.[0])).info).toEqual({ title: "T", version: "1" });
  });

  test.each([
    [[], "The module with the router is missing."],
    [[MODULE, ...INFO_OPTIONS], 'has no export "router". Its exports are: Price, chat, more.'],
    [[MODULE, "--router", "Price"], 'The export "Price" of'],
    [[MODULE, "--router", "chat"], "asyncApi() needs the option title"],
    [[MODULE, "--router", "chat", "--url", "http://x", ...INFO_OPTIONS], "does not begin with ws://"],
    [["--unknown"], "Usage: halyard-asyncapi"],
  ])("a mistake on the command line is explained: %j", async (args, text) => {
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    onTestFinished(() => error.mockRestore());
    expect(await runCommand(args)).toBe(1);
    expect(error.mock.calls.join()).toContain(text);
  });
});
