import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, createConnection } from "node:net";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { createNodeHandler, type NodeHandler } from "../src/adapters/node.ts";
import { disconnectAll, greeted, handshake } from "./contract/adapter/peer.ts";
import { createApp } from "./fixtures/app.ts";

describe("createNodeHandler on an http.Server of the application", () => {
  let http: Server;
  let handler: NodeHandler;
  let url: string;

  beforeEach(async () => {
    handler = createNodeHandler(createApp().router, { path: "/live" });
    http = createServer((request, response) => {
      response.setHeader("content-type", "text/plain");
      response.end(`${request.method} ${request.url}`);
    });
    http.on("upgrade", (request, socket, head) => handler.upgrade(request, socket, head));
    http.listen(0, "127.0.0.1");
    await once(http, "listening");
    url = `127.0.0.1:${(http.address() as AddressInfo).port}`;
  });
  afterEach(async () => {
    disconnectAll();
    await handler.stop();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });

  test("serves connections beside the application's own routes", async () => {
    const peer = await greeted(`ws://${url}/live`);
    const [greeting, page] = await Promise.all([
      peer.request("GREET", { name: "Ada" }),
      fetch(`http://${url}/page`).then((response) => response.text()),
    ]);
    expect(greeting).toMatchObject({ payload: { text: "Hello, Ada!" } });
    expect(page).toBe("GET /page");
  });

  test("answers upgrades on other paths with 404 and leaves plain requests there to the application", async () => {
    expect((await handshake(`ws://${url}/page`)).status).toBe(404);
    expect(await (await fetch(`http://${url}/live`)).text()).toBe("GET /live");
  });

  test("upgrades on other paths leave the budget of maxUpgradesPerSecond to those on its own path", async () => {
    const limited = createNodeHandler(createApp().router, { path: "/live", maxUpgradesPerSecond: 1 });
    const stray = createServer().on("upgrade", limited.upgrade).listen(0, "127.0.0.1");
    await once(stray, "listening");
    const address = `ws://127.0.0.1:${(stray.address() as AddressInfo).port}`;
    for (let i = 0; i < 5; i++) expect((await handshake(`${address}/wrong`)).status).toBe(404);
    const peer = await greeted(`${address}/live`);
    expect(await peer.request("GREET", { name: "Ada" })).toMatchObject({ payload: { text: "Hello, Ada!" } });
    await limited.stop();
    stray.close();
  });

  test("receives a frame that arrives together with the upgrade request", async () => {
    const { hostname, port } = new URL(`ws://${url}`);
    const socket = createConnection(Number(port), hostname);
    socket.write(
      [
        "GET /live HTTP/1.1",
        `Host: ${url}`,
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "\r\n",
      ].join("\r\n"),
    );
    // Masked with zeros, so that the bytes stay readable.
    const text = JSON.stringify({ type: "GREET", payload: { name: "early" } });
    socket.write(Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)]));
    let received = "";
    for await (const chunk of socket) {
      received += String(chunk);
      if (received.includes("Hello, early!")) break;
    }
    expect(received).toMatch(/^HTTP\/1\.1 101 /);
  });

  test("closes connections with 1012 on stop and leaves the http server running", async () => {
    const peer = await greeted(`ws://${url}/live`);
    await handler.stop();
    expect(await peer.closed).toMatchObject({ code: 1012 });
    expect(await (await fetch(`http://${url}/still`)).text()).toBe("GET /still");
    expect((await handshake(`ws://${url}/live`)).status).toBe(503);
  });

  test("answers pending requests on drain and leaves the http server running", async () => {
    const peer = await greeted(`ws://${url}/live`);
    const answer = peer.request("PAUSE", { ms: 100 });
    await peer.request("GREET", { name: "Ada" });
    const drained = handler.drain();
    expect(await answer).toMatchObject({ type: "PAUSED" });
    expect(await drained).toEqual({ forced: 0 });
    expect(await peer.closed).toMatchObject({ code: 1012 });
    expect(await (await fetch(`http://${url}/still`)).text()).toBe("GET /still");
  });

  test("closes a peer that does not finish its message within 30 s with 1013, so that an honest one reconnects", async () => {
    const slow = new WebSocket(`ws://${url}/live`);
    await once(slow, "open");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    try {
      slow.send("{", { fin: false });
      slow.ping();
      // The pong shows that the server has read the fragment.
      await once(slow, "pong");
      const closed = once(slow, "close");
      await vi.advanceTimersByTimeAsync(29_000);
      expect(slow.readyState).toBe(WebSocket.OPEN);
      await vi.advanceTimersByTimeAsync(3_000);
      const [code, reason] = await closed;
      expect([code, String(reason)]).toEqual([1013, "the message was not finished in time"]);
    } finally {
      vi.useRealTimers();
    }
  });

  test("answers an upgrade with an invalid target URL with 400", async () => {
    const answer = await handshake(`ws://${url}/live`, { host: "a b" }).catch((error: Error) => error);
    expect(answer).toMatchObject({ status: 400 });
  });
});
