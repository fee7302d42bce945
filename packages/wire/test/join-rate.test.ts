/** The rate of joins, with real sockets: what a client that changes its channels quickly sends. */
import { expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { serve } from "../src/adapters/node.ts";
import { joinChannel, wsClient } from "../src/client/zod.ts";
import { channel, createRouter, z } from "../src/zod.ts";

const Room = channel("room:{id}", { params: { id: z.string() }, events: [] });
const CHANNELS = 40;
const POLL = { timeout: 10_000, interval: 10 };

async function start(joinsPerSecond: number) {
  let limited = 0;
  const router = createRouter({ heartbeat: {}, maxTopicsPerConnection: CHANNELS, joinsPerSecond })
    .channel(Room, { authorize: () => true })
    .onLimitExceeded(() => limited++);
  const server = await serve(router, { port: 0, handleSignals: false });
  onTestFinished(() => server.stop());
  let joins = 0;
  let socket: WebSocket | undefined;
  const client = wsClient({
    url: `ws://127.0.0.1:${server.port}`,
    reconnect: { initialDelayMs: 5, maxDelayMs: 20 },
    wsFactory: (url, protocols) => {
      socket = new WebSocket(url, protocols);
      const own = socket;
      const send = own.send.bind(own) as (data: string) => void;
      own.send = (data: unknown) => {
        if (String(data).includes('"$ws:join"')) joins++;
        send(String(data));
      };
      return socket as never;
    },
  });
  onTestFinished(() => client.close());
  const errors: string[] = [];
  client.onError((error) => errors.push(error.code));
  await client.connect();
  const rooms = (name: string) =>
    Array.from({ length: CHANNELS }, (_, n) => joinChannel(client, Room, { id: `${name}${n}` }));
  return {
    errors,
    rooms,
    cut: () => socket?.terminate(),
    counts: () => ({ joins, limited }),
  };
}

test("N joins above the rate need at most 2 N frames, and onError of the client gets none of them", async () => {
  const { counts, errors, rooms } = await start(50);
  const first = rooms("a");
  await Promise.all(first.map(({ joined }) => joined));
  for (const room of first) room.leave();
  await Promise.all(rooms("b").map(({ joined }) => joined));
  const { joins, limited } = counts();
  expect(limited).toBeGreaterThan(CHANNELS / 2);
  expect(joins).toBe(2 * CHANNELS + limited);
  expect(joins).toBeLessThanOrEqual(3 * CHANNELS);
  expect(errors).toEqual([]);
});

test("several rooms of each channel need no more frames than 2 for each room", async () => {
  const { counts, errors, rooms } = await start(50);
  const first = rooms("a");
  await Promise.all(first.map(({ joined }) => joined));
  for (const room of first) room.leave();
  const all = [rooms("b"), rooms("b"), rooms("b")].flat();
  await Promise.all(all.map(({ joined }) => joined));
  expect(counts().limited).toBeGreaterThan(CHANNELS);
  expect(counts().joins - CHANNELS).toBeLessThanOrEqual(2 * all.length);
  expect(errors).toEqual([]);
});

test("rooms that were left while they waited for their turn make no other room wait", async () => {
  const { counts, rooms } = await start(2);
  const first = rooms("a");
  await Promise.all(first.map(({ joined }) => joined));
  for (const room of first) room.leave();
  const left = rooms("b");
  await expect.poll(() => counts().limited, POLL).toBe(CHANNELS);
  await expect.poll(() => left.every(({ error }) => error), POLL).toBe(true);
  for (const room of left) room.leave();
  const [last, ...others] = rooms("c");
  for (const room of others) room.leave();
  await expect.poll(() => last?.error?.retryAfterMs ?? last?.state, POLL).not.toBe("joining");
  expect(last?.error?.retryAfterMs ?? 0).toBeLessThanOrEqual(500);
  await last?.joined;
});

test("a client with as many channels as it may have joins all of them again after two quick reconnections", async () => {
  const { counts, cut, rooms } = await start(0.001);
  const all = rooms("a");
  const joined = () => all.filter(({ state }) => state === "joined").length;
  await expect.poll(joined, POLL).toBe(CHANNELS);
  for (let round = 1; round <= 2; round++) {
    cut();
    await expect.poll(() => [counts().joins, joined()], POLL).toEqual([(round + 1) * CHANNELS, CHANNELS]);
  }
  expect(counts()).toEqual({ joins: 3 * CHANNELS, limited: 0 });
});
