/** A malicious server can end the connection, but it can neither crash the client nor make its memory grow. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createClient, wsClient } from "../../src/client/client.ts";
import type { WsClient } from "../../src/client/ws-client.ts";
import { message, rpc, z } from "../../src/zod.ts";
import { FakeWorld } from "./fake-world.ts";
import { ScriptedServer } from "./scripted-server.ts";

const Note = message("NOTE", { text: z.string() });
const Echo = rpc("ECHO", { text: z.string() }, "ECHO_OK", { text: z.string() });

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

function heapBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

let world: FakeWorld;
let client: WsClient;

beforeEach(() => {
  world = new FakeWorld();
  client = createClient({ url: "ws://server/", auth: { getToken: () => "token" } }, world);
});

async function open(): Promise<void> {
  const connected = client.connect();
  await vi.waitFor(() => expect(world.sockets).toHaveLength(1));
  world.socket.greet();
  await connected;
}

/** Checks that the client still works. */
async function expectUnharmed(): Promise<void> {
  expect(client.state).toBe("open");
  const answer = client.request(Echo, { text: "still there?" }, { correlationId: "unharmed" });
  world.socket.deliver("ECHO_OK", { text: "yes" }, { correlationId: "unharmed" });
  expect((await answer).payload).toEqual({ text: "yes" });
}

const ODD_VALUES: readonly unknown[] = [
  null,
  true,
  -1,
  1e308,
  "",
  "x".repeat(10_000),
  [],
  [[]],
  {},
  { toString: 1, valueOf: 1 },
  { length: 1e9 },
];

describe("a client of a malicious server", () => {
  test.each([
    ["an empty frame", ""],
    ["an incomplete frame", '{"type":"NOTE","pay'],
    ["a frame that is a JSON array", "[1,2,3]"],
    ["a frame with an unknown key", '{"type":"NOTE","payload":{"text":"x"},"extra":1}'],
    [
      "a frame that sets prototypes",
      '{"__proto__":{"type":"NOTE"},"type":"NOTE","meta":{"__proto__":{"x":1}},"payload":{"__proto__":{}}}',
    ],
    ["a frame with a hundred thousand levels of nesting", `${'{"payload":'.repeat(1e5)}1${"}".repeat(1e5)}`],
    [
      "a payload with a hundred thousand levels of nesting",
      `{"type":"NOTE","meta":{},"payload":${"[".repeat(1e5)}${"]".repeat(1e5)}}`,
    ],
  ])("refuses %s and keeps working", async (_what, frame) => {
    await open();
    const errors: string[] = [];
    client.onError((error, { type }) => errors.push(`${type} ${error.code}`));
    client.on(Note, () => errors.push("handled"));
    world.socket.raw(frame);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatch(/^(parse|validation) /);
    expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
    await expectUnharmed();
  });

  test("does not parse a frame of more than 16 Mi characters", async () => {
    await open();
    const errors: string[] = [];
    client.onError((_error, { type }) => errors.push(type));
    const parse = vi.spyOn(JSON, "parse");
    world.socket.raw(`{"type":"NOTE","payload":{"text":"${"x".repeat(2 ** 24)}"}}`);
    expect(parse).not.toHaveBeenCalled();
    parse.mockRestore();
    expect(errors).toEqual(["parse"]);
    await expectUnharmed();
  });

  test("reads 16 MB in one JSON string without extra cost", async () => {
    await open();
    const errors: string[] = [];
    client.onError((_error, { type }) => errors.push(type));
    const frame = JSON.stringify("x".repeat(2 ** 24 - 2));
    const before = process.cpuUsage();
    world.socket.raw(frame);
    const { user } = process.cpuUsage(before);
    expect(errors).toEqual(["parse"]);
    // A copy per character took a minute.
    expect(user / 1_000).toBeLessThan(2_000);
    await expectUnharmed();
  });

  test("survives any value in any control frame", async () => {
    await open();
    const types = [
      "hello",
      "error",
      "rpc-progress",
      "gap",
      "sync",
      "auth",
      "pong",
      "subscribed",
      "resume",
      "",
      "x",
    ];
    const fields = [
      "heartbeatMs",
      "timeoutMs",
      "maxPayloadBytes",
      "expiresAt",
      "id",
      "code",
      "message",
      "details",
    ];
    for (const type of types) {
      for (const value of ODD_VALUES) {
        world.socket.deliver(`$ws:${type}`, value);
        for (const field of [...fields, "retryable", "retryAfterMs", "reason", "topic"])
          world.socket.deliver(`$ws:${type}`, { [field]: value }, { timestamp: 1 });
        world.socket.raw(JSON.stringify({ type: `$ws:${type}`, meta: { correlationId: value } }));
      }
    }
    world.socket.greet({ maxPayloadBytes: 1_000_000 });
    await expectUnharmed();
  });

  test("throws no exception for any frames in any order", async () => {
    await open();
    fc.assert(
      fc.property(
        fc.constantFrom(
          "NOTE",
          "ECHO_OK",
          "$ws:hello",
          "$ws:error",
          "$ws:sync",
          "$ws:auth",
          "$ws:gap",
          "$ws:rpc-progress",
        ),
        fc.object({ maxDepth: 3 }),
        fc.oneof(fc.object({ maxDepth: 1 }), fc.anything({ maxDepth: 2 })),
        (type, meta, payload) => {
          world.socket.raw(JSON.stringify({ type, meta, payload }));
        },
      ),
      { numRuns: 5_000 },
    );
    world.socket.greet({ maxPayloadBytes: 1_000_000 });
    await expectUnharmed();
  });

  test("reconnects as usual after $ws:drain with an invalid delay", async () => {
    for (const value of ODD_VALUES) {
      const one = new FakeWorld();
      const peer = createClient({ url: "ws://server/" }, one);
      void peer.connect();
      one.socket.greet();
      one.socket.deliver("$ws:drain", { retryAfterMs: value });
      expect([peer.state, one.timers.length]).toEqual(["reconnecting", 1]);
      expect(one.timers[0]).toBeLessThanOrEqual(3_600_300);
    }
  });
});

describe("a client's memory", () => {
  test("does not grow with a hundred thousand responses without a request", async () => {
    await open();
    const flood = (): void => {
      for (let i = 0; i < 100_000; i++) {
        world.socket.deliver(
          i % 2 === 0 ? "ECHO_OK" : "$ws:error",
          { text: "x" },
          { correlationId: `unknown-${i}` },
        );
      }
    };
    flood();
    const before = heapBytes();
    flood();
    expect(heapBytes() - before).toBeLessThan(2_000_000);
    await expectUnharmed();
  });

  test("does not grow with endless progress: without a reader none is kept, for a slow reader the last thousand", async () => {
    await open();
    const unread = client.request(Echo, { text: "x" }, { correlationId: "unread" });
    const slow = client.request(Echo, { text: "x" }, { correlationId: "slow" });
    const iterator = slow[Symbol.asyncIterator]();
    const before = heapBytes();
    for (let i = 0; i < 50_000; i++) {
      world.socket.deliver("$ws:rpc-progress", { i, text: "x".repeat(100) }, { correlationId: "unread" });
      world.socket.deliver("$ws:rpc-progress", { i, text: "x".repeat(100) }, { correlationId: "slow" });
    }
    expect(heapBytes() - before).toBeLessThan(3_000_000);
    for (const id of ["unread", "slow"])
      world.socket.deliver("ECHO_OK", { text: "done" }, { correlationId: id });
    let count = 0;
    let first: unknown;
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
      if (count++ === 0) first = next.value;
    }
    expect([count, first]).toEqual([1_000, { i: 49_000, text: "x".repeat(100) }]);
    expect((await unread).payload.text).toBe("done");
  });

  test("is freed at a request's timeout even if progress never ends", async () => {
    await open();
    const request = client.request(Echo, { text: "x" }, { correlationId: "1", timeoutMs: 1_000 });
    const outcome = request.catch((error: { code: string }) => error.code);
    for (let i = 0; i < 100; i++) {
      world.socket.deliver("$ws:rpc-progress", i, { correlationId: "1" });
      world.advance(10);
    }
    expect(await outcome).toBe("DEADLINE_EXCEEDED");
  });

  test("holds cancelled requests up to pendingRequestsLimit", async () => {
    client = createClient({ url: "ws://server/", pendingRequestsLimit: 10 }, world);
    await open();
    const unhandled: string[] = [];
    client.onUnhandled(({ meta }) => unhandled.push(String(meta.correlationId)));
    for (let i = 0; i < 20; i++) {
      client.request(Echo, { text: "x" }, { correlationId: `${i}`, timeoutMs: 1 }).catch(() => undefined);
      world.advance(1);
    }
    for (let i = 0; i < 20; i++) world.socket.deliver("ECHO_OK", { text: "late" }, { correlationId: `${i}` });
    expect(unhandled).toEqual(Array.from({ length: 10 }, (_, i) => `${i}`));
  });

  test("holds one socket and one timer when a server repeatedly says hello, drains and closes", async () => {
    client = createClient({ url: "ws://server/", reconnect: { initialDelayMs: 1, maxDelayMs: 1 } }, world);
    client.connect().catch(() => undefined);
    for (let i = 0; i < 2_000; i++) {
      world.socket.greet({ heartbeatMs: 1 });
      world.socket.deliver("$ws:drain", { retryAfterMs: 0 });
      world.advance(1);
    }
    expect(world.sockets.filter(({ readyState }) => readyState < 2)).toHaveLength(1);
    expect(world.timers).toHaveLength(1);
  });
});

describe("a client over the network", () => {
  let server: ScriptedServer;
  let peer: WsClient;

  afterEach(async () => {
    await peer.close();
    await server.stop();
  });

  test("survives huge, malformed and binary frames, and the next message arrives", async () => {
    server = await ScriptedServer.start({});
    peer = wsClient({ url: `ws://127.0.0.1:${server.port}/` });
    const contexts: string[] = [];
    const got: string[] = [];
    peer.onError((_error, { type }) => contexts.push(type));
    peer.on(Note, ({ text }) => got.push(text));
    await peer.connect();
    server.raw(0, `{"type":"NOTE","meta":{},"payload":{"text":"${"x".repeat(20_000_000)}"}}`);
    server.raw(0, "\u0000".repeat(1_000));
    server.binary(0);
    server.deliver(0, "NOTE", { text: "fine" });
    await vi.waitFor(() => expect(got).toEqual(["fine"]), 10_000);
    expect(contexts).toEqual(["parse", "parse", "parse"]);
    expect(peer.state).toBe("open");
  });

  test.each([
    [1001, "retryAfterMs=999999999999"],
    [1013, "retryAfterMs=1e9"],
    [4999, "é".repeat(60)],
    [1000, "\u0000"],
  ])("reconnects after close code %i with the reason %j", async (code, reason) => {
    server = await ScriptedServer.start({});
    peer = wsClient({
      url: `ws://127.0.0.1:${server.port}/`,
      reconnect: { initialDelayMs: 1, maxDelayMs: 5 },
    });
    await peer.connect();
    server.close(0, code, reason);
    await vi.waitFor(() => expect(server.received.connections).toHaveLength(2), 10_000);
    await peer.onceOpen();
  });
});
