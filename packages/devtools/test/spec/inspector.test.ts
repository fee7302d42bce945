import { request as httpRequest } from "node:http";
import { createTestServer } from "@halyard/wire/testing";
import { createRouter, message, rpc, z } from "@halyard/wire/zod";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createInspector, type InspectorOptions } from "../../src/inspector/index.ts";
import type { InspectorState } from "../../src/inspector/state.ts";

const Greet = rpc("GREET", { name: z.string(), tags: z.record(z.string(), z.string()) }, "GREETING", {
  text: z.string(),
});
const News = message("NEWS", { text: z.string(), password: z.string().optional() });
const everybody = { authorize: () => true };

function createApp(options: InspectorOptions = everybody) {
  const router = createRouter()
    .onOpen((ctx) => ctx.subscribe("news"))
    .rpc(Greet, (ctx) => ({ text: `Hello, ${ctx.payload.name}!` }))
    .on(News, () => {});
  const inspector = createInspector(router, options);
  const server = createTestServer(router);
  onTestFinished(() => server.close());
  const get = (path: string, init?: RequestInit) =>
    inspector.fetch(new Request(`http://localhost${path}`, init));
  const state = async (after = 0): Promise<InspectorState> => (await get(`/state?after=${after}`)).json();
  return { router, inspector, server, get, state };
}

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("guide/inspector: How it works", () => {
  test("frames are listed in order with direction, type, connection, correlation id and size", async () => {
    const { server, state } = createApp();
    const peer = await server.connect();
    await peer.request(Greet, { name: "Ada", tags: {} });
    await peer.disconnect(1000, "bye");
    const { frames, last } = await state();
    expect(frames.map(({ direction, type }) => [direction, type])).toEqual([
      ["open", "open"],
      ["out", "$ws:hello"],
      ["in", "GREET"],
      ["out", "GREETING"],
      ["close", "1000"],
    ]);
    const [, , asked, answered] = frames;
    expect(asked).toMatchObject({ clientId: answered?.clientId, correlationId: answered?.correlationId });
    expect(answered?.durationMs).toBeGreaterThanOrEqual(0);
    expect(asked?.size).toBeGreaterThan(50);
    expect(last).toBe(5);
    expect((await state(4)).frames).toHaveLength(1);
  });

  test("a published message is one line with its topic and its subscribers", async () => {
    const { server, state, router } = createApp();
    const peers = [await server.connect(), await server.connect()];
    await router.publish("news", News, { text: "hi" });
    expect(peers.map((peer) => peer.received(News))).toEqual([[{ text: "hi" }], [{ text: "hi" }]]);
    const { frames, topics, connections, types } = await state();
    const published = frames.filter(({ type }) => type === "NEWS");
    expect(published).toMatchObject([{ direction: "topic", topic: "news", subscribers: 2 }]);
    expect(topics).toEqual({ total: 1, rows: [{ topic: "news", subscribers: 2 }] });
    expect(connections.total).toBe(2);
    expect(connections.rows[0]).toMatchObject({ received: 0, sent: 1, topics: 1 });
    expect(types).toContainEqual({ type: "NEWS", received: 0, sent: 2 });
  });

  test("connections and topics leave the lists when they end", async () => {
    const { server, state } = createApp();
    const peer = await server.connect();
    await peer.disconnect();
    expect(await state()).toMatchObject({ connections: { total: 0 }, topics: { total: 0 } });
  });

  test("a router without an inspector runs the methods of its classes", async () => {
    const seen = { send: true, receive: true };
    for (const isInspected of [false, true]) {
      const router = createRouter();
      if (isInspected) createInspector(router);
      const socket = { bufferedBytes: 0, close: () => {} };
      const send = () => "sent" as const;
      const connection = router.accept(Object.assign(socket, { send }), { clientId: "a" });
      const isOriginal =
        (socket as { send?: unknown }).send === send && !Object.hasOwn(connection, "receive");
      seen[isInspected ? "receive" : "send"] = isOriginal;
    }
    expect(seen).toEqual({ send: true, receive: false });
  });

  test("hooks of the server still run", async () => {
    const router = createRouter().onOpen((ctx) => ctx.subscribe("news"));
    createInspector(router, everybody);
    const onClose = vi.fn();
    const onBroadcast = vi.fn();
    const server = createTestServer(router, { onClose, onBroadcast });
    const peer = await server.connect();
    await router.publish("news", News, { text: "hi" });
    await peer.disconnect(1000, "bye");
    expect(onBroadcast).toHaveBeenCalledWith(expect.objectContaining({ type: "NEWS" }), "news");
    expect(onClose).toHaveBeenCalledWith(expect.anything(), 1000, "bye");
  });

  test("memory is bounded: the oldest frames, types and texts are dropped, and a page learns how many", async () => {
    // The server warns about types without a handler.
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    onTestFinished(() => warn.mockRestore());
    const { server, state } = createApp({ ...everybody, maxFrames: 10, showPayloads: true });
    const peer = await server.connect();
    for (let at = 0; at < 300; at++)
      await peer.sendRaw(JSON.stringify({ type: `TYPE_${at}`, payload: "x".repeat(5_000) }));
    const { frames, missed, last, types } = await state(1);
    expect(frames).toHaveLength(10);
    expect(missed).toBe(last - 1 - 10);
    expect(types.length).toBeLessThanOrEqual(201);
    expect(types).toContainEqual(expect.objectContaining({ type: "(other)" }));
    expect(Math.max(...frames.map(({ payload }) => payload.length))).toBeLessThan(2_100);
  });

  test("frames that are not readable are listed with their size only", async () => {
    const { server, state } = createApp({ ...everybody, showPayloads: true });
    const peer = await server.connect();
    await peer.sendRaw("secret text");
    await peer.sendRaw(new Uint8Array([1, 2, 3]));
    await peer.sendRaw(JSON.stringify({ type: "LARGE", payload: "x".repeat(300_000) }));
    const lines = (await state()).frames.filter(({ direction }) => direction === "in");
    expect(lines.map(({ type, payload }) => [type, payload])).toEqual([
      ["(not readable)", ""],
      ["(not readable)", ""],
      ["(large frame)", ""],
    ]);
  });
});

describe("guide/inspector: Payloads", () => {
  test("by default values and undeclared keys are not kept, only declared fields with type and size", async () => {
    const { server, get, router } = createApp();
    const peer = await server.connect();
    await peer.request(Greet, { name: "Ada", tags: { "ada@example.com": "admin" } });
    await peer.sendRaw(
      JSON.stringify({ type: "GREET", meta: {}, payload: { name: "Bob", "sesame-key": 1 } }),
    );
    await router.publish("news", News, { text: "headline" });
    const text = await (await get("/state")).text();
    for (const value of ["Ada", "Hello", "ada@example.com", "admin", "sesame", "headline", "Bob"])
      expect(text).not.toContain(value);
    expect(text).toContain("{ name: string(3), tags: object(1) }");
    expect(text).toContain("{ name: string(3), 1 more }");
    expect(text).toContain("{ text: string(8) }");
  });

  test("showPayloads shows values of the chosen types, without secrets and tokens", async () => {
    const { server, state } = createApp({ ...everybody, showPayloads: (type) => type !== "GREET" });
    const peer = await server.connect();
    await peer.send(News, { text: "shown", password: "hunter2" });
    await peer.request(Greet, { name: "hidden", tags: {} });
    await peer.sendRaw(JSON.stringify({ type: "$ws:auth", payload: { token: "bearer-1" } }));
    await peer.sendRaw(JSON.stringify({ type: "$ws:auth", payload: "bearer-2" }));
    const text = JSON.stringify(await state());
    expect(text).toContain("shown");
    expect(text).toContain("Hello, hidden!");
    for (const value of ["hunter2", "bearer-", '"hidden"']) expect(text).not.toContain(value);
  });
});

describe("guide/inspector: Who can open it", () => {
  test.each(["development", "test"])("with NODE_ENV %s it can be created, unless enabled is false", (env) => {
    vi.stubEnv("NODE_ENV", env);
    createInspector(createRouter());
    expect(() => createInspector(createRouter(), { enabled: false })).toThrow(
      "The inspector is for development",
    );
  });

  test.each([undefined, "", "production", "Production", "staging"])(
    "with NODE_ENV %s it throws and says what to set, unless enabled is true",
    (env) => {
      vi.stubEnv("NODE_ENV", env);
      expect(() => createInspector(createRouter())).toThrow(
        "Start the program with NODE_ENV=development, or set enabled: true, or its option authorize",
      );
      createInspector(createRouter(), { enabled: true });
    },
  );

  test("in production the function authorize decides", async () => {
    vi.stubEnv("NODE_ENV", "production");
    const authorize = (request: Request) =>
      Promise.resolve(request.headers.get("authorization") === "Bearer key");
    const { get } = createApp({ authorize });
    expect((await get("/")).status).toBe(401);
    expect((await get("/state")).status).toBe(401);
    expect((await get("/", { headers: { authorization: "Bearer key" } })).status).toBe(200);
  });

  test("fetch and other hosts than this machine need authorize", async () => {
    const { inspector, get } = createApp({});
    await expect(get("/")).rejects.toThrow("needs the option authorize");
    await expect(inspector.listen({ port: 0, host: "0.0.0.0" })).rejects.toThrow(
      "reachable from other machines",
    );
  });

  test("pages of other origins may link to it, and load nothing from it", async () => {
    const { get } = createApp();
    const as = (site: string, mode: string, dest: string) => ({
      headers: { "sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": dest },
    });
    expect((await get("/state", as("cross-site", "cors", "empty"))).status).toBe(403);
    expect((await get("/page.js", as("same-site", "no-cors", "script"))).status).toBe(403);
    expect((await get("/", as("cross-site", "navigate", "iframe"))).status).toBe(403);
    expect((await get("/", as("cross-site", "navigate", "document"))).status).toBe(200);
    expect((await get("/state", as("same-origin", "cors", "empty"))).status).toBe(200);
    expect((await get("/state", { method: "POST" })).status).toBe(405);
  });

  test("the page has no inline script or style, and its policy allows only its own origin", async () => {
    const { get } = createApp();
    const page = await get("/");
    const policy = page.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain("unsafe");
    expect(policy).not.toContain("http");
    expect(page.headers.get("access-control-allow-origin")).toBeNull();
    const html = await page.text();
    expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=/);
  });

  test("on its own port it answers only requests by a name of this machine", async () => {
    const { inspector } = createApp({});
    const address = await inspector.listen({ port: 0 });
    onTestFinished(() => inspector.stop());
    const statusFor = (host: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        httpRequest(address, { headers: { host } }, (response) => resolve(response.resume().statusCode))
          .on("error", reject)
          .end();
      });
    const { port } = new URL(address);
    expect(await statusFor(`localhost:${port}`)).toBe(200);
    expect(await statusFor(`127.0.0.1:${port}`)).toBe(200);
    expect(await statusFor(`attacker.example:${port}`)).toBe(403);
    expect(await statusFor("not a host")).toBe(400);
    await inspector.stop();
    await expect(fetch(address)).rejects.toThrow();
  });
});

describe("guide/inspector: In your own server", () => {
  test("basePath is where the page is, and the path without its slash leads there", async () => {
    const { get } = createApp({ ...everybody, basePath: "/inspector" });
    const redirect = await get("/inspector");
    expect([redirect.status, redirect.headers.get("location")]).toEqual([308, "/inspector/"]);
    expect((await get("/inspector/")).headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect((await get("/inspector/page.js")).headers.get("content-type")).toBe(
      "text/javascript; charset=utf-8",
    );
    expect((await get("/inspector/page.css")).status).toBe(200);
    expect((await get("/inspector/state")).status).toBe(200);
    expect((await get("/other")).status).toBe(404);
    expect((await get("/inspector/none")).status).toBe(404);
  });
});

describe("guide/inspector: Errors and troubleshooting", () => {
  test("an inspector that comes too late, comes twice or has wrong options is refused", async () => {
    const { router } = createApp();
    expect(() => createInspector(router)).toThrow("The router cannot be observed");
    const served = createRouter();
    const server = createTestServer(served);
    onTestFinished(() => server.close());
    expect(() => createInspector(served)).toThrow("before serve()");
    expect(() => createInspector(createRouter(), { maxFrames: 0 })).toThrow("maxFrames");
    expect(() => createInspector(createRouter(), { maxFrames: 1e9 })).toThrow("whole number up to 100000");
    expect(() => createInspector(createRouter(), { basePath: "inspector" })).toThrow("basePath");
  });

  test("a port in use is named", async () => {
    const first = createInspector(createRouter());
    const address = await first.listen({ port: 0 });
    onTestFinished(() => first.stop());
    const port = Number(new URL(address).port);
    await expect(createInspector(createRouter()).listen({ port })).rejects.toThrow(
      `cannot listen on port ${port}`,
    );
    await expect(first.listen({ port: 0 })).rejects.toThrow("listens already");
  });
});
