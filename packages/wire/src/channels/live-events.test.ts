import { expect, test } from "vitest";
import { memoryPubSub } from "../memory.ts";
import type { History } from "../pubsub/history.ts";
import { createTestServer } from "../testing/index.ts";
import { channel, createRouter, live, message, z } from "../zod.ts";

const Said = message("SAID", { n: z.number() });
const Moved = message("MOVED", { x: z.number(), pad: z.string() });
const events = [Said, live(Moved)] as const;
const Room = channel("room", { events, history: { size: 1_000, ttlMs: 60_000 } });

/** Reads of the history after the first one wait for `gate`. */
function gatedPubSub() {
  const memory = memoryPubSub();
  const { history } = memory;
  let reads = 0;
  const gated = {
    gate: undefined as Promise<void> | undefined,
    history: {
      append: (...args) => history.append(...args),
      top: (topic) => history.top(topic),
      delete: (topic) => history.delete(topic),
      read: async (...args) => {
        if (++reads > 1) await gated.gate;
        return history.read(...args);
      },
    } satisfies History,
    subscribe: memory.subscribe.bind(memory),
    unsubscribe: memory.unsubscribe.bind(memory),
    publish: memory.publish.bind(memory),
    close: () => memory.close(),
  };
  return gated;
}

async function serve() {
  const pubsub = gatedPubSub();
  const router = createRouter({ pubsub, socketBufferLimitBytes: 100_000 });
  router.channel(Room, { authorize: () => true });
  const peer = await createTestServer(router).connect();
  const join = async (last: number) => {
    const payload = { channel: "room", params: {}, last };
    await peer.sendRaw(JSON.stringify({ type: "$ws:join", meta: { correlationId: "1" }, payload }));
  };
  const say = async (n: number) => router.to(Room, {}).publish(Said, { n });
  const move = (x: number, pad = "") => router.to(Room, {}).publish(Moved, { x, pad });
  return { pubsub, peer, join, say, move };
}

test("a member that still catches up gets live events too, and every kept message once", async () => {
  const { pubsub, peer, join, say, move } = await serve();
  for (let n = 1; n <= 600; n++) await say(n);
  let open: () => void = () => undefined;
  pubsub.gate = new Promise((resolve) => {
    open = resolve;
  });
  await join(600);
  expect(peer.received(Said)).toHaveLength(500);
  expect(await move(1)).toEqual({ ok: true, matchedLocal: 1 });
  expect(peer.received(Moved)).toHaveLength(1);
  open();
  await expect.poll(() => peer.received(Said).length).toBe(600);
  await move(2);
  expect(peer.received(Moved).map(({ x }) => x)).toEqual([1, 2]);
  expect(peer.received(Said).map(({ n }) => n)).toEqual(Array.from({ length: 600 }, (_, i) => i + 1));
});

test("a slow member misses live events without a gap, and no kept message", async () => {
  const { peer, join, say, move } = await serve();
  await join(0);
  peer.pause();
  for (let x = 1; x <= 5; x++) await move(x, "x".repeat(60_000));
  await say(1);
  await peer.resume();
  await expect.poll(() => peer.received(Said)).toEqual([{ n: 1 }]);
  await move(6);
  const moves = peer.received(Moved).map(({ x }) => x);
  expect([moves.length < 6, moves.at(-1)]).toEqual([true, 6]);
  expect(peer.frames.map(({ type }) => type)).not.toContain("$ws:gap");
});

test("a live event takes no id, because it cannot be recognized when it is repeated", async () => {
  const router = createRouter().channel(Room, { authorize: () => true });
  createTestServer(router);
  const options = { id: "once" };
  expect(await router.to(Room, {}).publish(Moved, { x: 1, pad: "" }, options)).toMatchObject({
    error: "UNSUPPORTED",
    details: { reason: expect.stringContaining("MOVED") },
  });
  expect(() => live("MOVED" as never)).toThrow(/live\(\) needs a message schema/);
});
