import { sized } from "@halyard/services";
import { describe, expect, test } from "vitest";
import type { WebSocket } from "ws";
import { serve } from "../src/adapters/node.ts";
import type { Peer } from "../src/index.ts";
import { createRouter } from "../src/zod.ts";
import { Random, seedOf } from "./fixtures/random.ts";
import { askOnce, checkAsks, connectAnswerer, KINDS, type Settled } from "./fixtures/settlement/asks.ts";

const REQUESTS = sized(50_000, 4_000);
const CONNECTIONS = 20;
const IN_FLIGHT = 8;

describe("settlement of requests to clients", () => {
  test(`gives each of ${REQUESTS} requests of every kind over ${CONNECTIONS} connections exactly one outcome`, {
    timeout: 120_000,
  }, async () => {
    const random = new Random(seedOf("settlement-asks"));
    const peers = new Map<string, Peer>();
    const history: Settled[] = [];
    const asked = new Map<number, number>();
    const router = createRouter()
      .onOpen(({ clientId, ws }) => void peers.set(clientId, ws))
      .onClose(({ clientId }) => void peers.delete(clientId));
    const server = await serve(router, { port: 0, host: "127.0.0.1", handleSignals: false });
    const url = `ws://127.0.0.1:${server.port}`;
    const sockets = new Set<WebSocket>();
    let nonce = 0;

    /** The server's side of a new connection. */
    const connect = async (): Promise<Peer> => {
      const before = new Set(peers.keys());
      sockets.add(await connectAnswerer(url, asked));
      await expect.poll(() => [...peers.keys()].some((id) => !before.has(id)), { interval: 1 }).toBe(true);
      const [, peer] = [...peers].find(([id]) => !before.has(id)) ?? [];
      if (peer === undefined) throw new Error("The connection is not open.");
      return peer;
    };
    const run = async (part: Random, first: Peer): Promise<void> => {
      let peer = first;
      while (nonce < REQUESTS) {
        const batch = Array.from({ length: IN_FLIGHT }, () => askOnce(peer, nonce++, part, history));
        if ((await Promise.all(batch)).includes("connection closed")) peer = await lock(connect);
      }
    };
    /** One connection after the other, so that each worker finds its own. */
    let last: Promise<unknown> = Promise.resolve();
    const lock = <T>(act: () => Promise<T>): Promise<T> => {
      const result = last.then(act);
      last = result.catch(() => undefined);
      return result;
    };
    const firsts: Peer[] = [];
    for (let i = 0; i < CONNECTIONS; i++) firsts.push(await lock(connect));
    await Promise.all(firsts.map((peer, i) => run(random.fork(i), peer)));
    for (const socket of sockets) socket.terminate();
    await server.stop();

    const violations = checkAsks(history, asked);
    expect(violations.slice(0, 20), `${violations.length} violations`).toEqual([]);
    expect(history.length).toBeGreaterThanOrEqual(REQUESTS);
    expect(new Set(history.map(({ kind }) => kind)).size).toBe(Object.keys(KINDS).length);
  });
});

describe("the checker of requests to clients", () => {
  const good: Settled = { kind: "answered", nonce: 1, outcomes: ["answer"] };

  test("accepts a correct history", () => {
    expect(checkAsks([good, { ...good, outcomes: ["UNAVAILABLE"] }], new Map([[1, 1]]))).toEqual([]);
  });

  test.each<[string, Settled, number]>([
    ["a request without an outcome", { ...good, outcomes: [] }, 1],
    ["two outcomes", { ...good, outcomes: ["answer", "answer"] }, 1],
    ["the answer to another request", { ...good, outcomes: ["the answer to another request"] }, 1],
    ["the wrong code", { ...good, outcomes: ["DEADLINE_EXCEEDED"] }, 1],
    ["an answer to a request that failed", { ...good, kind: "failed", outcomes: ["answer"] }, 1],
    ["a request that was sent twice", good, 2],
  ])("finds %s", (_, entry, times) => {
    expect(checkAsks([entry], new Map([[1, times]]))).not.toEqual([]);
  });
});
