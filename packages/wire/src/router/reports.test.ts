import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { RpcSchema } from "../schema/message.ts";
import { createTestServer } from "../testing/index.ts";
import { createRouter, message, rpc, z } from "../zod.ts";

const GetUser = rpc("GET_USER", undefined, "USER", { profile: z.object({ email: z.email() }) });
const Changed = message("CHANGED", { email: z.email() });
const Go = message("GO");
const invalid = { profile: { email: "not-an-email" } };

const print = vi.fn();
const warn = vi.fn();
beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(print);
  vi.spyOn(console, "warn").mockImplementation(warn);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  print.mockClear();
  warn.mockClear();
});

describe("a message of the server that does not match its own schema", () => {
  test("reaches onError with its type and field, and the peer learns no field", async () => {
    const seen: unknown[] = [];
    const router = createRouter()
      .onError((error, ctx) => void seen.push([ctx.type, error.code, error.message, error.details]))
      .rpc(GetUser, (ctx) => ctx.reply(GetUser.response, invalid));
    const peer = await createTestServer(router).connect();
    await expect(peer.request(GetUser)).rejects.toMatchObject({ code: "INTERNAL", details: undefined });
    const issues = [{ path: "profile.email", message: "Invalid email address" }];
    expect(seen).toEqual([
      ["GET_USER", "INTERNAL", "The payload of USER does not match its schema.", { issues }],
    ]);
    expect(print).not.toHaveBeenCalled();
  });

  test("is printed with its type and field when there is no onError", async () => {
    const router = createRouter().rpc(GetUser, (ctx) => ctx.reply(GetUser.response, invalid));
    const peer = await createTestServer(router).connect();
    await expect(peer.request(GetUser)).rejects.toMatchObject({ code: "INTERNAL" });
    expect(print.mock.calls).toEqual([
      [
        '[halyard] "GET_USER" failed (profile.email: Invalid email address):',
        expect.objectContaining({ message: "The payload of USER does not match its schema." }),
      ],
    ]);
  });

  test("reaches onError when it is published, by the router or in a handler", async () => {
    const seen: unknown[] = [];
    const router = createRouter()
      .onError((error, ctx) => void seen.push([ctx.type, ctx.clientId === "", error.details]))
      .on(Go, async (ctx) => void (await ctx.publish("t", Changed, { email: "nope" })));
    const peer = await createTestServer(router).connect();
    expect(await router.publish("t", Changed, { email: "nope" })).toMatchObject({ error: "VALIDATION" });
    await peer.send(Go);
    const details = { issues: [{ path: "email", message: "Invalid email address" }] };
    expect(seen).toEqual([
      ["CHANGED", true, details],
      ["CHANGED", false, details],
    ]);
    expect(peer.frames).toHaveLength(1);
  });

  test("is printed when it is published and there is no onError", async () => {
    await createRouter().publish("t", Changed, { email: "nope" });
    expect(print.mock.calls[0]?.[0]).toBe('[halyard] "CHANGED" failed (email: Invalid email address):');
  });

  test("is printed when it has no JSON form", async () => {
    const Any = message("ANY", { value: z.unknown() });
    expect(await createRouter().publish("t", Any, { value: 1n })).toMatchObject({ error: "VALIDATION" });
    expect(print.mock.calls[0]?.[0]).toBe('[halyard] "ANY" failed:');
  });
});

describe("a mistake of a peer", () => {
  test("is not printed, except for an unknown type, once and only in development", async () => {
    const peer = await createTestServer(createRouter().on(Changed, () => undefined)).connect();
    await peer.send(Changed, { email: "nope" });
    await peer.sendRaw("not JSON");
    expect(warn).not.toHaveBeenCalled();
    const type = `UNKNOWN_${Math.random()}`;
    for (let i = 0; i < 3; i++) await peer.sendRaw(JSON.stringify({ type, meta: {} }));
    expect(warn.mock.calls).toEqual([
      [
        `[halyard] No handler is registered for message type "${type}". Register one with router.on() or router.rpc().`,
      ],
    ]);
    vi.stubEnv("NODE_ENV", "production");
    await peer.sendRaw(JSON.stringify({ type: `${type}_2`, meta: {} }));
    vi.unstubAllEnvs();
    expect(warn).toHaveBeenCalledOnce();
    expect(print).not.toHaveBeenCalled();
  });

  test("is named in the message that the peer gets: the field, and how many more there are", async () => {
    const Pair = rpc("PAIR", { a: z.number(), b: z.number() }, "PAIRED", {});
    const peer = await createTestServer(createRouter().rpc(Pair, () => ({}))).connect();
    const refusal = (payload: object) =>
      peer.request(Pair, payload as never).catch((error: Error) => error.message);
    expect(await refusal({ a: "1", b: 2 })).toBe(
      "The payload of PAIR does not match its schema: a: Invalid input: expected number, received string.",
    );
    expect(await refusal({ a: "1", b: "2" })).toMatch(/ \(and 1 more\)\.$/);
    expect(await refusal({ a: 1, b: 2, c: 3 })).toBe(
      'The payload of PAIR does not match its schema: Unrecognized key: "c".',
    );
    expect((await refusal({ a: 1, b: 2, [`c${"c".repeat(10_000)}`]: 3 })).length).toBeLessThan(300);
    await peer.sendRaw(JSON.stringify({ type: "PAIR", meta: { tag: 1 }, payload: { a: 1, b: 2 } }));
    expect(peer.frames.at(-1)?.payload).toMatchObject({
      message: 'The message PAIR declares no meta "tag". Leave it out, or declare it.',
    });
  });
});

describe("a request that its client cancels", () => {
  /** Cancels two requests while their handlers run; returns what was logged. */
  async function linesOf(Save: RpcSchema & { readonly durable?: undefined }): Promise<unknown[][]> {
    const info = vi.spyOn(console, "info").mockImplementation(() => undefined);
    const router = createRouter().rpc(Save, () => new Promise<never>(() => undefined));
    const peer = await createTestServer(router).connect();
    for (const correlationId of ["1", "2"]) {
      await peer.send(Save, {}, { correlationId });
      await peer.sendRaw(JSON.stringify({ type: "$ws:abort", meta: { correlationId } }));
    }
    await peer.sendRaw(JSON.stringify({ type: "$ws:abort", meta: { correlationId: "1" } }));
    const { calls } = info.mock;
    info.mockRestore();
    return calls;
  }

  test("is logged once per type in development, with what the handler does", async () => {
    vi.stubEnv("NODE_ENV", "development");
    expect(await linesOf(rpc("SAVE_1", {}, "SAVED", {}))).toEqual([
      [expect.stringContaining("A client cancelled its request SAVE_1 before the response.")],
    ]);
    expect(await linesOf(rpc("SAVE_2", {}, "SAVED", {}))).toHaveLength(1);
  });

  test("is not logged in production, nor when its progress is typed, so that a reader may stop", async () => {
    vi.stubEnv("NODE_ENV", "production");
    expect(await linesOf(rpc("SAVE_3", {}, "SAVED", {}))).toEqual([]);
    vi.stubEnv("NODE_ENV", "development");
    expect(await linesOf(rpc("SAVE_4", {}, "SAVED", {}, { progress: z.object({}) }))).toEqual([]);
  });
});

describe("a router used from JavaScript", () => {
  const expected = (type: string): string =>
    `Declare the message with message("${type}", …) or rpc("${type}", …), and pass what it returns.`;

  test.each([
    ["TYPING", `needs a message schema, but got the string "TYPING". ${expected("TYPING")}`],
    [undefined, `needs a message schema, but got undefined. ${expected("MY_MESSAGE")}`],
  ])("refuses %j in place of a schema, with the remedy", async (schema, text) => {
    const router = createRouter();
    const given = schema as unknown as typeof Changed;
    const givenRpc = schema as unknown as typeof GetUser;
    expect(() => router.on(given, () => undefined)).toThrow(new TypeError(`router.on() ${text}`));
    expect(() => router.rpc(givenRpc, () => undefined)).toThrow(new TypeError(`router.rpc() ${text}`));
    expect(() => router.route(given).on(() => undefined)).toThrow(new TypeError(`router.on() ${text}`));
    router.on(Go, (ctx) => ctx.send(given, { email: "" }));
    const peer = await createTestServer(router).connect();
    await peer.send(Go);
    const message = `Sending a message ${text}`;
    expect(peer.frames.at(-1)?.payload).toMatchObject({ code: "INTERNAL", message });
    expect(await router.publish("t", given, { email: "" })).toMatchObject({
      details: { message: `Publishing a message ${text}` },
    });
  });

  test("warns when a message is registered twice", () => {
    createRouter()
      .on(Go, () => undefined)
      .on(Go, () => undefined);
    expect(warn.mock.calls).toEqual([
      [
        "[halyard] GO is registered twice on one router; the later handler replaces the earlier one. Remove one of them, or call router.off() first.",
      ],
    ]);
  });
});
