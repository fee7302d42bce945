import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createNodeHandler, serve } from "../../src/adapters/node.ts";
import type { WsError } from "../../src/index.ts";
import { UUID_V7 } from "./frames.ts";
import { libraries } from "./libraries.ts";
import { RawPeer, SUBPROTOCOL, start } from "./network.ts";

interface Data {
  readonly clientId: string;
  readonly user?: string | null;
  readonly from?: string | null;
}

const logged: string[] = [];

beforeEach(() => {
  vi.spyOn(console, "info").mockImplementation((text) => logged.push(String(text)));
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

describe.each(libraries)("guide/node: Options ($name)", ({ createRouter, message, rpc, string, unknown }) => {
  const Who = rpc("WHO", undefined, "YOU", { data: unknown(), context: unknown() });
  const Note = message("NOTE", { text: string() });
  const whoAmI = () =>
    createRouter<Data>().rpc(Who, (ctx) => ctx.reply(Who.response, { data: ctx.data, context: ctx.context }));

  test("serve resolves once it listens, to a handle with port, stop and drain", async () => {
    const { handle, connect } = await start(whoAmI());
    expect(handle.port).toBeGreaterThan(0);
    expect([typeof handle.stop, typeof handle.drain]).toEqual(["function", "function"]);
    expect(await (await connect()).ask("WHO")).toMatchObject({ type: "YOU" });
  });

  test("serve rejects when it cannot listen", async () => {
    const { handle } = await start(whoAmI());
    await expect(serve(whoAmI(), { port: handle.port, host: "127.0.0.1" })).rejects.toMatchObject({
      code: "EADDRINUSE",
    });
  });

  test("the default port is 3000", async () => {
    // The attempt names the port, whether or not another program listens on it.
    const attempt = serve(whoAmI(), { handleSignals: false }).then(
      async (handle) => {
        await handle.stop();
        return handle.port;
      },
      (error: { port?: number }) => error.port,
    );
    expect(await attempt).toBe(3000);
  });

  test("authenticate(req) returns the connection's data, as an object or a promise of one", async () => {
    for (const asynchronous of [false, true]) {
      const authenticate = (request: Request) => {
        const data = {
          user: request.headers.get("x-user"),
          from: new URL(request.url).searchParams.get("from"),
        };
        return asynchronous ? Promise.resolve(data) : data;
      };
      const { connect } = await start(whoAmI(), { authenticate });
      const peer = await connect({ path: "/chat?from=here", headers: { "x-user": "ada" } });
      expect((await peer.ask("WHO")).payload).toMatchObject({
        data: { user: "ada", from: "here", clientId: expect.stringMatching(UUID_V7) },
      });
    }
  });

  test("onError receives errors outside any message, such as those of authenticate", async () => {
    const adapter: WsError[] = [];
    const router = whoAmI();
    const ofRouter: WsError[] = [];
    router.onError((error) => void ofRouter.push(error));
    const { open } = await start(router, {
      authenticate: () => {
        throw new Error("database down");
      },
      onError: (error) => adapter.push(error),
    });
    expect((await open().closed).code).toBe(4401);
    expect(adapter).toMatchObject([{ name: "WsError", message: "database down" }]);
    expect(ofRouter).toEqual([]);
  });

  test("errors of messages go to the router's onError and not to the adapter's", async () => {
    const adapter: unknown[] = [];
    const ofRouter: string[] = [];
    const router = createRouter()
      .onError((error) => void ofRouter.push(error.code))
      .on(Note, () => {
        throw new Error("boom");
      });
    const { connect } = await start(router, { onError: (error) => adapter.push(error) });
    const peer = await connect();
    peer.send({ type: "NOTE", payload: { text: "x" } });
    await peer.frame("$ws:error");
    expect([ofRouter, adapter]).toEqual([["INTERNAL"], []]);
  });

  test("onBroadcast(message, topic) is called once per local publish, for any number of subscribers", async () => {
    const seen: unknown[] = [];
    const router = createRouter().onOpen((ctx) => ctx.subscribe("news"));
    const { connect } = await start(router, {
      onBroadcast: (broadcast, topic) => seen.push([topic, broadcast]),
    });
    const [one, two] = [await connect(), await connect()];
    await router.publish("news", Note, { text: "hi" });
    await Promise.all([one.frame("NOTE"), two.frame("NOTE")]);
    expect(seen).toEqual([
      ["news", { type: "NOTE", meta: { timestamp: expect.any(Number) }, payload: { text: "hi" } }],
    ]);
  });

  test("onUpgrade(req, ws), onOpen(ws) and onClose(ws, code, reason) run in this order with the same ws", async () => {
    const log: [string, unknown, ...unknown[]][] = [];
    const router = createRouter().onOpen((ctx) => log.push(["router onOpen", ctx.ws]));
    const { connect } = await start(router, {
      onUpgrade: (request, ws) => log.push(["onUpgrade", ws, request.constructor, request.url.slice(-5)]),
      onOpen: (ws) => log.push(["onOpen", ws]),
      onClose: (ws, code, reason) => log.push(["onClose", ws, code, reason]),
    });
    const peer = await connect({ path: "/room" });
    peer.socket.close(4002, "done");
    await vi.waitFor(() => expect(log).toHaveLength(4), 10_000);
    const ws = log[0]?.[1];
    expect(log[0]).toEqual(["onUpgrade", ws, Request, "/room"]);
    expect(
      log
        .slice(1, 3)
        .map(([name]) => name)
        .sort(),
    ).toEqual(["onOpen", "router onOpen"]);
    expect(log[3]).toEqual(["onClose", ws, 4002, "done"]);
    expect(new Set(log.map((entry) => entry[1])).size).toBe(1);
  });

  test("context is available as ctx.context", async () => {
    const { connect } = await start(whoAmI(), { context: { region: "eu" } });
    expect((await (await connect()).ask("WHO")).payload).toMatchObject({ context: { region: "eu" } });
  });

  test("clientIdHeader names the response header with the connection's id, by default x-client-id", async () => {
    const byDefault = await (await start(whoAmI())).connect();
    const { data } = (await byDefault.ask("WHO")).payload as { data: { clientId: string } };
    expect(byDefault.headers["x-client-id"]).toBe(data.clientId);
    const named = await (await start(whoAmI(), { clientIdHeader: "x-connection" })).connect();
    expect(named.headers["x-connection"]).toMatch(UUID_V7);
    expect(named.headers).not.toHaveProperty("x-client-id");
  });

  test("the server listens on all interfaces unless host is given", async () => {
    const { handle } = await start(whoAmI(), { host: "127.0.0.1" });
    await expect(fetch(`http://127.0.0.1:${handle.port}`)).resolves.toMatchObject({ status: 426 });
    await expect(fetch(`http://127.0.0.2:${handle.port}`)).rejects.toThrow();
    const everywhere = await serve(whoAmI(), { port: 0, handleSignals: false });
    onTestFinished(() => everywhere.stop());
    await expect(fetch(`http://127.0.0.2:${everywhere.port}`)).resolves.toMatchObject({ status: 426 });
  });

  test("the server accepts upgrades on every path unless path is given", async () => {
    const anywhere = await start(whoAmI());
    await anywhere.connect({ path: "/a/b?c=d" });
    const { open, connect } = await start(whoAmI(), { path: "/ws" });
    await connect({ path: "/ws?x=1" });
    for (const path of ["/", "/ws/", "/wsx", "/WS"]) {
      expect([path, await open({ path }).outcome]).toEqual([path, 404]);
      expect([path, await open({ path, protocols: [] }).outcome]).toEqual([path, 404]);
    }
  });

  test("upgrades beyond maxPendingUpgrades that wait for authenticate receive 503 with Retry-After", async () => {
    const admitted: (() => void)[] = [];
    const { open } = await start(whoAmI(), {
      maxPendingUpgrades: 2,
      authenticate: () => new Promise<object>((resolve) => admitted.push(() => resolve({}))),
    });
    const waiting = [open(), open()];
    await vi.waitFor(() => expect(admitted).toHaveLength(2), 10_000);
    const refused = open();
    expect(await refused.outcome).toBe(503);
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
    for (const admit of admitted) admit();
    expect(await Promise.all(waiting.map((peer) => peer.outcome))).toEqual(["open", "open"]);
    const later = open();
    await vi.waitFor(() => expect(admitted).toHaveLength(3), 10_000);
    admitted[2]?.();
    expect(await later.outcome).toBe("open");
  });

  test("createNodeHandler serves on the application's own http server", async () => {
    const handler = createNodeHandler(whoAmI(), { clientIdHeader: "x-own" });
    const http = createServer((_request, response) => response.end("own"));
    http.on("upgrade", (request, socket, head) => handler.upgrade(request, socket, head));
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    const { port } = http.address() as AddressInfo;
    onTestFinished(async () => {
      await handler.stop();
      http.close();
    });
    const peer = new RawPeer(port);
    await peer.frame("$ws:hello");
    expect(peer.headers["x-own"]).toMatch(UUID_V7);
    expect(await (await fetch(`http://127.0.0.1:${port}`)).text()).toBe("own");
    await handler.stop();
    expect((await peer.closed).code).toBe(1012);
  });

  test("the server does not negotiate compression", async () => {
    const { connect } = await start(whoAmI());
    const peer = await connect({ headers: { "sec-websocket-extensions": "permessage-deflate" } });
    expect(peer.socket.extensions).toBe("");
    expect(peer.socket.protocol).toBe(SUBPROTOCOL);
  });
});

describe("guide/node: Options", () => {
  test("serve logs once per process that the heartbeat is off, and only in production", async () => {
    const [library] = libraries;
    if (library === undefined) throw new Error("The list of libraries is empty");
    const notices = () => logged.filter((line) => line.includes("heartbeat is off"));
    await start(library.createRouter());
    expect(notices()).toEqual([]);
    vi.stubEnv("NODE_ENV", "production");
    await start(library.createRouter({ heartbeat: {} }));
    expect(notices()).toEqual([]);
    await start(library.createRouter());
    await start(library.createRouter());
    expect(notices()).toHaveLength(1);
  });
});
