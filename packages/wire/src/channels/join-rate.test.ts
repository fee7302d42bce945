import { expect, test } from "vitest";
import type { LimitExceededInfo } from "../router/hooks.ts";
import type { RouterOptions } from "../router/options.ts";
import type { TestConnection } from "../testing/index.ts";
import { createTestServer } from "../testing/index.ts";
import { channel, createRouter, z } from "../zod.ts";

const Room = channel("room:{id}", { params: { id: z.string() }, events: [] });

function serve(options: RouterOptions) {
  const errors: string[] = [];
  const exceeded: LimitExceededInfo[] = [];
  const router = createRouter(options)
    .channel(Room, { authorize: () => true })
    .onError((error) => void errors.push(error.code))
    .onLimitExceeded((info) => void exceeded.push(info));
  const server = createTestServer(router);
  return { server, errors, exceeded, connect: () => server.connect() };
}

let count = 0;

async function send(peer: TestConnection, type: string, id: string) {
  const correlationId = `c${++count}`;
  const payload = { channel: "room:{id}", params: { id } };
  await peer.sendRaw(JSON.stringify({ type, meta: { correlationId }, payload }));
  return peer.frames.find(({ meta }) => meta["correlationId"] === correlationId);
}

const join = (peer: TestConnection, id = "a") => send(peer, "$ws:join", id);
const leave = (peer: TestConnection, id: string) => send(peer, "$ws:leave", id);

test("a join above the rate is refused with its own place in the queue, and the retry at that time joins", async () => {
  const { connect, server, errors, exceeded } = serve({ maxTopicsPerConnection: 3, joinsPerSecond: 10 });
  const peer = await connect();
  for (const id of ["a", "b", "c"]) {
    expect((await join(peer, id))?.type).toBe("$ws:joined");
    await leave(peer, id);
  }
  const waits = ["d", "e", "f"].map(async (id) => (await join(peer, id))?.payload);
  expect(await Promise.all(waits)).toMatchObject(
    [100, 200, 300].map((retryAfterMs) => ({
      code: "RESOURCE_EXHAUSTED",
      retryable: true,
      retryAfterMs,
    })),
  );
  expect(exceeded).toMatchObject([{ type: "rate", observed: 1, limit: 3, retryAfterMs: 100 }, {}, {}]);
  expect(errors).toEqual([]);
  for (const id of ["d", "e", "f"]) {
    await server.clock.advance(100);
    expect((await join(peer, id))?.type).toBe("$ws:joined");
  }
});

test("rooms of one topic share a token and a turn, and a topic that was left needs another one", async () => {
  const { connect, server } = serve({ maxTopicsPerConnection: 2, joinsPerSecond: 10 });
  const peer = await connect();
  for (const id of ["a", "a", "a", "b", "b"]) expect((await join(peer, id))?.type).toBe("$ws:joined");
  await leave(peer, "a");
  for (let n = 0; n < 3; n++) expect((await join(peer))?.payload).toMatchObject({ retryAfterMs: 100 });
  await server.clock.advance(100);
  for (let n = 0; n < 3; n++) expect((await join(peer))?.type).toBe("$ws:joined");
  await leave(peer, "a");
  expect((await join(peer))?.payload).toMatchObject({ retryAfterMs: 100 });
});

test("joins of a topic that the connection has are limited too", async () => {
  const { connect, server } = serve({ maxTopicsPerConnection: 2, joinsPerSecond: 10 });
  const peer = await connect();
  let joined = 0;
  while ((await join(peer))?.type === "$ws:joined") joined++;
  expect(joined).toBe(2 + 2 * 4);
  await server.clock.advance(100);
  expect((await join(peer))?.type).toBe("$ws:joined");
});

test("a turn that the client gives back, or does not take within 2 s, makes no other join wait", async () => {
  const { connect, server } = serve({ maxTopicsPerConnection: 2, joinsPerSecond: 0.1 });
  const peer = await connect();
  for (const id of ["a", "b"]) {
    await join(peer, id);
    await leave(peer, id);
  }
  for (const id of ["c", "d", "e"]) {
    expect((await join(peer, id))?.payload).toMatchObject({ retryAfterMs: 10_000 });
    await leave(peer, id);
  }
  expect((await join(peer, "f"))?.payload).toMatchObject({ retryAfterMs: 10_000, topic: "$c/room:*/f" });
  await server.clock.advance(12_001);
  expect((await join(peer, "g"))?.type).toBe("$ws:joined");
});

test("a join that is never retried makes the wait of others no longer than the queue", async () => {
  const { connect, server } = serve({ maxTopicsPerConnection: 3, joinsPerSecond: 10 });
  const peer = await connect();
  let longest = 0;
  for (let n = 0; n < 1_000; n++) {
    const payload = (await join(peer, `r${n}`))?.payload as { retryAfterMs?: number };
    longest = Math.max(longest, payload.retryAfterMs ?? 0);
    if (payload.retryAfterMs === undefined) await leave(peer, `r${n}`);
  }
  expect(longest).toBe(400);
  await server.clock.advance(11_000);
  expect((await join(peer, "later"))?.type).toBe("$ws:joined");
});

test("joins have no rate with joinsPerSecond: Infinity", async () => {
  const { connect } = serve({ maxTopicsPerConnection: 1, joinsPerSecond: Infinity });
  const peer = await connect();
  for (let n = 0; n < 100; n++) {
    expect((await join(peer, `r${n}`))?.type).toBe("$ws:joined");
    await leave(peer, `r${n}`);
  }
});
