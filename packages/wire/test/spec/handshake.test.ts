import { describe, expect, onTestFinished, test, vi } from "vitest";
import { UUID_V7 } from "./frames.ts";
import { libraries } from "./libraries.ts";
import { SUBPROTOCOL, start } from "./network.ts";

describe.each(libraries)("protocol: Handshake ($name)", ({ createRouter, rpc }) => {
  const Ping = rpc("PING", undefined, "PONG", undefined);
  const pinging = () => createRouter().rpc(Ping, (ctx) => ctx.reply(Ping.response));

  test("the server selects halyard.v1.json for a peer that offers it and sends $ws:hello first", async () => {
    const { connect } = await start(pinging().onOpen((ctx) => ctx.send(Ping.response)));
    const peer = await connect();
    await peer.frame("PONG");
    expect(peer.socket.protocol).toBe(SUBPROTOCOL);
    expect(peer.frames[0]).toEqual({
      type: "$ws:hello",
      meta: { timestamp: expect.any(Number) },
      payload: {
        v: 1,
        clientId: expect.stringMatching(UUID_V7),
        heartbeatMs: 0,
        timeoutMs: 5_000,
        maxPayloadBytes: 1_000_000,
      },
    });
  });

  test("the server selects the first configured application protocol, otherwise halyard.v1.json, and sends hello in both cases", async () => {
    const { connect } = await start(pinging(), { protocols: ["chat.v2", "chat.v1"] });
    const selected = async (...protocols: string[]) => {
      const peer = await connect({ protocols });
      expect(peer.frames[0]?.type).toBe("$ws:hello");
      return peer.socket.protocol;
    };
    expect(await selected("chat.v9", "chat.v1", SUBPROTOCOL)).toBe("chat.v1");
    expect(await selected("chat.v9", SUBPROTOCOL)).toBe(SUBPROTOCOL);
  });

  test("the server takes the token from a bearer entry and never returns it", async () => {
    const { connect } = await start(pinging(), { protocols: ["bearer.abc"] });
    for (const protocols of [
      ["bearer.abc", SUBPROTOCOL],
      [SUBPROTOCOL, "bearer.abc"],
    ]) {
      const peer = await connect({ protocols });
      expect(peer.socket.protocol).toBe(SUBPROTOCOL);
      expect(JSON.stringify(peer.headers)).not.toContain("bearer.abc");
    }
  });

  test("a plain WebSocket client receives the same frames without control messages that it did not request", async () => {
    const { connect } = await start(pinging());
    const peer = await connect({ protocols: [] });
    expect(await peer.ask("PING")).toMatchObject({ type: "PONG" });
    expect(peer.socket.protocol).toBe("");
    expect(peer.frames.map((frame) => frame.type)).toEqual(["PONG"]);
  });

  test("a peer that offers only unknown halyard.* names is closed with 1008", async () => {
    const { open } = await start(pinging());
    const peer = open({ protocols: ["halyard.v9.json"] });
    expect((await peer.closed).code).toBe(1008);
    expect(peer.frames).toEqual([]);
  });

  test("halyard.v1.msgpack is reserved and not supported", async () => {
    const { open, connect } = await start(pinging());
    expect((await open({ protocols: ["halyard.v1.msgpack"] }).closed).code).toBe(1008);
    const peer = await connect({ protocols: ["halyard.v1.msgpack", SUBPROTOCOL] });
    expect(peer.socket.protocol).toBe(SUBPROTOCOL);
  });
});

describe.each(libraries)("guide/connection-checks: Origin check ($name)", ({ createRouter, rpc }) => {
  const Ping = rpc("PING", undefined, "PONG", undefined);
  const pinging = () => createRouter().rpc(Ping, (ctx) => ctx.reply(Ping.response));
  const FOREIGN = "https://evil.example";

  test("in production, the server allows an Origin whose host and port equal the Host header", async () => {
    vi.stubEnv("NODE_ENV", "production");
    onTestFinished(() => void vi.unstubAllEnvs());
    const { connect, open, handle } = await start(pinging());
    await connect({ origin: `http://127.0.0.1:${handle.port}` });
    await connect({ origin: `https://127.0.0.1:${handle.port}` });
    for (const origin of [
      "http://127.0.0.1",
      "http://127.0.0.1:1",
      `http://localhost:${handle.port}`,
      "null",
    ]) {
      expect([origin, (await open({ origin }).closed).code]).toEqual([origin, 4403]);
    }
  });

  test("in development, a page of a loopback host may connect from any port, unless a proxy forwarded the request", async () => {
    const { connect, open, handle } = await start(pinging(), { allowedOrigins: ["https://app.example"] });
    for (const origin of ["http://localhost:5173", "http://127.0.0.1:5173", "http://[::1]:5173"]) {
      await connect({ origin });
      const headers = { "x-forwarded-for": "203.0.113.9" };
      expect((await open({ origin, headers }).closed).code).toBe(4403);
    }
    const host = `192.168.0.5:${handle.port}`;
    expect((await open({ origin: "http://localhost:5173", headers: { host } }).closed).code).toBe(4403);
  });

  test("a refused Origin closes halyard peers with 4403 and others receive 403, before authenticate runs", async () => {
    const authenticated: string[] = [];
    const { open } = await start(pinging(), { authenticate: () => authenticated.push("called") && {} });
    const peer = open({ origin: FOREIGN });
    expect((await peer.closed).code).toBe(4403);
    expect(peer.frames).toEqual([]);
    expect(await open({ origin: FOREIGN, protocols: [] }).outcome).toBe(403);
    expect(authenticated).toEqual([]);
  });

  test("allowedOrigins allows exact origins", async () => {
    const { connect, open } = await start(pinging(), { allowedOrigins: ["https://app.example"] });
    await connect({ origin: "https://app.example" });
    for (const origin of [
      "https://app.example.evil.example",
      "http://app.example",
      "https://app.example:8443",
    ]) {
      expect([origin, (await open({ origin }).closed).code]).toEqual([origin, 4403]);
    }
  });

  test("allowedOrigins may be a function of origin and request", async () => {
    const { connect, open } = await start(pinging(), {
      allowedOrigins: (origin, request) => origin.endsWith(".example") && request.url.endsWith("/ws"),
    });
    await connect({ origin: "https://a.example", path: "/ws" });
    expect((await open({ origin: "https://a.example", path: "/other" }).closed).code).toBe(4403);
  });

  test('allowedOrigins "*" allows all origins', async () => {
    const { connect } = await start(pinging(), { allowedOrigins: "*" });
    await connect({ origin: FOREIGN });
    await connect({ headers: { cookie: "session=1" } });
  });

  test("a request without Origin is allowed unless it carries cookies", async () => {
    const { connect, open, handle } = await start(pinging());
    await connect();
    expect((await open({ headers: { cookie: "session=1" } }).closed).code).toBe(4403);
    await connect({ headers: { cookie: "session=1" }, origin: `http://127.0.0.1:${handle.port}` });
  });
});
