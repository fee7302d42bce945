/** A wire handler on an HTTP server that others use too. Every endpoint works, whichever is registered first. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, createConnection } from "node:net";
import { Server as EngineOfSocketIo } from "socket.io";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createNodeHandler, type HandlerOptions, type NodeHandler } from "../src/adapters/node.ts";
import type { WsError } from "../src/index.ts";
import { HALYARD, handshake } from "./contract/adapter/peer.ts";
import { type AppData, createApp } from "./fixtures/app.ts";
import { askWire, NEIGHBOURS, type Neighbour } from "./fixtures/neighbours.ts";

const ORDERS = ["wire first", "wire last"] as const;
type Order = (typeof ORDERS)[number];

/** As slow as a login that asks another service. */
async function slowLogin(): Promise<{ userId: string }> {
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  return { userId: "ada" };
}

function createWire(options: HandlerOptions<AppData>): NodeHandler {
  const handler = createNodeHandler(createApp().router, options);
  onTestFinished(() => handler.stop());
  return handler;
}

async function listen(http: Server): Promise<number> {
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  return (http.address() as AddressInfo).port;
}

/** Sends an upgrade request, and resolves to the response until the server is silent for the given time. */
async function responseTo(port: number, path: string, silenceMs: number): Promise<string> {
  const socket = createConnection(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  const key = "dGhlIHNhbXBsZSBub25jZQ==";
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`,
  );
  let text = "";
  socket.on("data", (data) => {
    text += String(data);
  });
  await Promise.race([once(socket, "close"), new Promise((resolve) => setTimeout(resolve, silenceMs))]);
  return text;
}

describe.concurrent("a wire handler beside", () => {
  const cases = Object.keys(NEIGHBOURS).flatMap((name) => ORDERS.map((order) => [name, order] as const));

  test.for(cases)("%s, %s: both answer, also when authenticate takes 2 s", async ([name, order]) => {
    await expectAllAnswer([name], order);
  });

  test.for(ORDERS)("all of them, %s: every endpoint answers", async (order) => {
    await expectAllAnswer(
      ["Socket.IO", "graphql-ws", "ws", "Vite's hot reload", "a second wire handler", "Express"],
      order,
    );
  });

  async function expectAllAnswer(names: readonly string[], order: Order): Promise<void> {
    const http = createServer();
    const wire = createNodeHandler(createApp().router, { path: "/ws", authenticate: slowLogin });
    if (order === "wire first") http.on("upgrade", wire.upgrade);
    const neighbours: Neighbour[] = [];
    for (const name of names) neighbours.push(await attach(name, http));
    if (order === "wire last") http.on("upgrade", wire.upgrade);
    http.listen(0, "127.0.0.1");
    await once(http, "listening");
    const { port } = http.address() as AddressInfo;
    try {
      const answers = await Promise.all([
        askWire(port, "/ws", "Ada"),
        ...neighbours.map((neighbour) => neighbour.ask(port, "it")),
      ]);
      expect(answers).toEqual(["Hello, Ada!", ...names.map(() => "answer to it")]);
    } finally {
      await wire.stop();
      http.closeAllConnections();
      for (const neighbour of neighbours) await neighbour.close();
      http.close();
    }
  }

  async function attach(name: string, http: Server): Promise<Neighbour> {
    const neighbour = NEIGHBOURS[name];
    if (neighbour === undefined) throw new Error(`There is no neighbour "${name}".`);
    return await neighbour(http);
  }
});

describe("an upgrade for another path", () => {
  test("gets not a single byte when the server has another listener", async () => {
    const http = createServer();
    http.on("upgrade", createWire({ path: "/ws" }).upgrade);
    http.on("upgrade", () => undefined);
    expect(await responseTo(await listen(http), "/other", 300)).toBe("");
  });

  test("gets 404 and one line in the log when all listeners of the server are wire handlers for other paths", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    onTestFinished(() => warn.mockRestore());
    const http = createServer();
    for (const path of ["/a", "/b", "/c"]) http.on("upgrade", createWire({ path }).upgrade);
    const port = await listen(http);
    expect(await responseTo(port, "/d", 5_000)).toMatch(/^HTTP\/1\.1 404 /);
    expect(warn).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('its path is "/d"'));
    for (const path of ["/a", "/b", "/c"]) expect(await askWire(port, path, "Ada")).toBe("Hello, Ada!");
  });
});

describe("a handler without the option path", () => {
  test("serves every path while it is the only listener", async () => {
    const http = createServer();
    http.on("upgrade", createWire({}).upgrade);
    expect(await askWire(await listen(http), "/anywhere", "Ada")).toBe("Hello, Ada!");
  });

  test("says once what to change when the server has another listener, and leaves that one's upgrades alone", async () => {
    const onError = vi.fn<(error: WsError) => void>();
    const http = createServer();
    http.on("upgrade", createWire({ onError }).upgrade);
    const neighbour = await NEIGHBOURS["ws"]?.(http);
    const port = await listen(http);
    expect(await neighbour?.ask(port, "it")).toBe("answer to it");
    const refused = await handshake(`ws://127.0.0.1:${port}/ws`, { "sec-websocket-protocol": HALYARD });
    expect(refused.status).toBe(500);
    expect(onError).toHaveBeenCalledOnce();
    expect(onError.mock.calls[0]?.[0].message).toMatch(
      /^createNodeHandler\(\) has no option path, but its HTTP server has 2 listeners for upgrades/,
    );
  });
});

test("a socket that Socket.IO ends during a slow authenticate is reported with the option to set", async () => {
  const onError = vi.fn<(error: WsError) => void>();
  const http = createServer();
  http.on("upgrade", createWire({ path: "/ws", authenticate: slowLogin, onError }).upgrade);
  const io = new EngineOfSocketIo(http, { serveClient: false });
  onTestFinished(() => io.close());
  await expect(askWire(await listen(http), "/ws", "Ada")).rejects.toThrow();
  await vi.waitFor(() => expect(onError).toHaveBeenCalledOnce(), 5_000);
  expect(onError.mock.calls[0]?.[0].message).toContain("set their option destroyUpgrade to false");
});
