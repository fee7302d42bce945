/** Node writes the frames of one turn together. This must not change which peer receives which frames, or their order. */
import { createConnection } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { type ServerHandle, serve } from "../src/adapters/node.ts";
import type { OpenContext } from "../src/index.ts";
import { createRouter, message, z } from "../src/zod.ts";
import { disconnectAll, greeted, type Peer } from "./contract/adapter/peer.ts";
import { Random } from "./fixtures/random.ts";

const PEERS = 6;
const TURNS = 30;
const MAX_CALLS_PER_TURN = 25;
const TOPICS = ["a", "b", "c"] as const;
const Note = message("NOTE", { id: z.number(), padding: z.string() });
const End = message("END");
/** As live flags send. */
const shared: object = { [Symbol.for("@halyard/wire: shared")]: true };

let server: ServerHandle | undefined;
afterEach(async () => {
  disconnectAll();
  await server?.stop();
});

/** Peers and their server-side contexts, in the same order. */
async function start() {
  const contexts: OpenContext[] = [];
  const router = createRouter({ heartbeat: {} }).onOpen((ctx) => void contexts.push(ctx));
  server = await serve(router, { port: 0, host: "127.0.0.1" });
  const peers: Peer[] = [];
  for (let i = 0; i < PEERS; i++) peers.push(await greeted(`ws://127.0.0.1:${server.port}`));
  return { router, contexts, peers };
}

const idsOf = ({ frames }: Peer) =>
  frames.flatMap(({ type, payload }) => (type === "NOTE" ? [(payload as { id: number }).id] : []));

describe("everything published, sent and changed in one turn", () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8])("reaches the right peers in order (seed %i)", async (seed) => {
    const random = new Random(seed);
    const { router, contexts, peers } = await start();
    const expected = contexts.map((): number[] => []);
    const topics = contexts.map(() => new Set<string>());
    const publishes: { result: Promise<unknown>; matched: number }[] = [];
    let id = 0;
    let note: { id: number; padding: string } | undefined;

    const call = () => {
      const at = random.int(0, PEERS - 1);
      const ctx = contexts[at];
      const topic = random.pick(TOPICS);
      const kind = random.next();
      if (ctx === undefined) throw new Error("There is no such peer.");
      if (kind < 0.05) {
        void ctx.subscribe(topic);
        topics[at]?.add(topic);
      } else if (kind < 0.08) {
        void ctx.unsubscribe(topic);
        topics[at]?.delete(topic);
      } else if (kind < 0.15) {
        ctx.send(Note, { id: ++id, padding: "" });
        expected[at]?.push(id);
      } else if (kind < 0.25) {
        // A message that many peers get without a topic: a new one, or the last one again.
        if (note === undefined || random.next() < 0.3) note = { id: ++id, padding: "" };
        ctx.send(Note, note, shared);
        expected[at]?.push(note.id);
      } else {
        // Sometimes large enough to fill a batch before the turn is over.
        const payload = { id: ++id, padding: "x".repeat(random.next() < 0.1 ? 30_000 : random.int(0, 200)) };
        const excludeSelf = random.next() < 0.2;
        const isMeant = (peer: number) => topics[peer]?.has(topic) && !(excludeSelf && peer === at);
        const meant = contexts.flatMap((_, peer) => (isMeant(peer) ? [peer] : []));
        for (const peer of meant) expected[peer]?.push(id);
        const result = excludeSelf
          ? ctx.publish(topic, Note, payload, { excludeSelf })
          : router.publish(topic, Note, payload);
        publishes.push({ result, matched: meant.length });
      }
    };

    for (const [at, ctx] of contexts.entries()) {
      for (const topic of TOPICS) {
        void ctx.subscribe(topic);
        topics[at]?.add(topic);
      }
    }
    for (let turn = 0; turn < TURNS; turn++) {
      for (let left = random.int(1, MAX_CALLS_PER_TURN); left > 0; left--) call();
      await new Promise(setImmediate);
    }
    for (const ctx of contexts) ctx.send(End);
    for (const peer of peers) await peer.next("END");

    expect(peers.map(idsOf)).toEqual(expected);
    for (const { result, matched } of publishes)
      expect(await result).toEqual({ ok: true, matchedLocal: matched });
  });
});

test("bytes that wait for the end of the turn count as unsent, for every message", async () => {
  const { router, contexts } = await start();
  for (const ctx of contexts) void ctx.subscribe("a");
  const padding = "x".repeat(1_000);
  for (let id = 1; id <= 10; id++) {
    void router.publish("a", Note, { id, padding });
    for (const { ws } of contexts) {
      expect(ws.bufferedBytes).toBeGreaterThan(id * 1_000);
      expect(ws.bufferedBytes).toBeLessThan(id * 1_100);
    }
  }
  await new Promise(setImmediate);
  await expect.poll(() => contexts.map(({ ws }) => ws.bufferedBytes)).toEqual(contexts.map(() => 0));
});

test("a peer that subscribes between two messages receives the second, and one that unsubscribes receives the first", async () => {
  const { router, contexts, peers } = await start();
  for (const ctx of contexts.slice(1)) void ctx.subscribe("a");
  void router.publish("a", Note, { id: 1, padding: "" });
  void contexts[0]?.subscribe("a");
  void contexts[1]?.unsubscribe("a");
  void router.publish("a", Note, { id: 2, padding: "" });
  for (const ctx of contexts) ctx.send(End);
  for (const peer of peers) await peer.next("END");
  expect(peers.map(idsOf)).toEqual([[2], [1], [1, 2], [1, 2], [1, 2], [1, 2]]);
});

test("a peer that disconnects in between receives nothing more, and the others receive everything", async () => {
  const { router, contexts, peers } = await start();
  for (const ctx of contexts) void ctx.subscribe("a");
  const matched = [];
  for (let id = 1; id <= 9; id++) {
    if (id === 4) contexts[0]?.ws.close(4000, "enough");
    matched.push(router.publish("a", Note, { id, padding: "" }));
  }
  for (const ctx of contexts.slice(1)) ctx.send(End);
  for (const peer of peers.slice(1)) await peer.next("END");
  expect(await peers[0]?.closed).toEqual({ code: 4000, reason: "enough" });
  expect(peers.map((peer) => idsOf(peer).length)).toEqual([3, 9, 9, 9, 9, 9]);
  expect((await Promise.all(matched)).map((result) => result.ok && result.matchedLocal)).toEqual([
    6, 6, 6, 5, 5, 5, 5, 5, 5,
  ]);
});

/** All bytes that a raw peer receives when it sends a close frame after the first frame. */
async function readUntilClosed(port: number): Promise<Buffer> {
  const socket = createConnection(port, "127.0.0.1");
  const headers = ["Host: a", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"];
  const lines = ["GET / HTTP/1.1", ...headers, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  const chunks: Buffer[] = [];
  let hasClosed = false;
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    if (hasClosed || !chunk.includes("NOTE")) continue;
    hasClosed = true;
    // A close frame with code 1000, masked with zeros.
    socket.write(Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8]));
  }
  const bytes = Buffer.concat(chunks);
  return bytes.subarray(bytes.indexOf("\r\n\r\n") + 4);
}

/** The opcodes of unmasked frames of less than 65,536 bytes. */
function opcodesOf(bytes: Buffer): number[] {
  const opcodes: number[] = [];
  for (let at = 0; at < bytes.length; ) {
    opcodes.push(bytes.readUInt8(at) & 0x0f);
    const length = bytes.readUInt8(at + 1);
    at += length < 126 ? 2 + length : 4 + bytes.readUInt16BE(at + 2);
  }
  return opcodes;
}

test("a peer that closes while frames wait for it receives nothing after the close frame", async () => {
  const router = createRouter({ heartbeat: {} }).onOpen((ctx) => ctx.subscribe("a"));
  server = await serve(router, { port: 0, host: "127.0.0.1" });
  const { port } = server;
  let isOver = false;
  // In every turn, so that close frames are read while messages wait.
  const publishing = (async () => {
    for (let id = 1; !isOver; id++) {
      void router.publish("a", Note, { id, padding: "" });
      await new Promise(setImmediate);
      void router.publish("a", Note, { id, padding: "" });
    }
  })();
  for (let round = 0; round < 30; round++) {
    const opcodes = opcodesOf(await readUntilClosed(port));
    expect(opcodes.indexOf(8)).toBe(opcodes.length - 1);
  }
  isOver = true;
  await publishing;
});
