import { describe, expect, test } from "vitest";
import { memoryPubSub } from "../../memory.ts";
import type { Subscriber } from "../../pubsub/pubsub.ts";
import { createTestServer, type TestConnection } from "../../testing/index.ts";
import { createRouter, message, z } from "../../zod.ts";

const News = message("NEWS", { text: z.string() });

/** A router with this many connections, each subscribed to its own topic. */
async function start(count: number) {
  const pubsub = memoryPubSub();
  const servers = new Set<Subscriber>();
  const subscribe = pubsub.subscribe.bind(pubsub);
  pubsub.subscribe = (topic, subscriber) => {
    servers.add(subscriber);
    subscribe(topic, subscriber);
  };
  let opened = 0;
  const router = createRouter({ pubsub }).onOpen((ctx) => ctx.subscribe(`topic ${opened++}`));
  const server = createTestServer(router);
  const peers: TestConnection[] = [];
  for (let i = 0; i < count; i++) peers.push(await server.connect());
  const missed = (topic?: string) => {
    for (const each of servers) each.missed?.(topic);
  };
  return { router, server, peers, missed };
}

const types = (peer: TestConnection | undefined) => peer?.frames.map(({ type }) => type).slice(1);
const announced = (peers: readonly TestConnection[]) =>
  peers.filter((peer) => types(peer)?.includes("$ws:gap")).length;

describe("a gap in all topics", () => {
  test("is sent to a few connections immediately", async () => {
    const { peers, missed } = await start(20);
    missed();
    expect(announced(peers)).toBe(20);
  });

  test("is sent to many connections over 1.5 s, once to each", async () => {
    const { server, peers, missed } = await start(3_600);
    missed();
    expect(announced(peers)).toBe(120);
    await server.clock.advance(500);
    expect(announced(peers)).toBeGreaterThan(1_000);
    expect(announced(peers)).toBeLessThan(2_600);
    await server.clock.advance(1_000);
    for (const peer of peers) expect(types(peer)).toEqual(["$ws:gap"]);
  });

  test("reaches a connection before the next message of one of its topics", async () => {
    const { router, server, peers, missed } = await start(500);
    missed();
    await router.publish("topic 499", News, { text: "after" });
    expect(types(peers[499])).toEqual(["$ws:gap", "NEWS"]);
    await server.clock.advance(1_500);
    expect(types(peers[499])).toEqual(["$ws:gap", "NEWS"]);
    expect(announced(peers)).toBe(500);
  });

  test("is not sent to a connection that has closed in the meantime", async () => {
    const { server, peers, missed } = await start(500);
    missed();
    await peers[499]?.disconnect();
    await server.clock.advance(1_500);
    expect(announced(peers)).toBe(499);
  });
});
