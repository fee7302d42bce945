/** Routers in several processes over real brokers. A process is a router with its own pub/sub. */
import { createNatsPrefix, createRedisPrefix, startNats, startRedis } from "@halyard/services";
import { connect } from "@nats-io/transport-node";
import { createClient } from "redis";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createRouter, message, type PubSub, rpc, type StandardSchema } from "../src/index.ts";
import { natsPubSub } from "../src/nats.ts";
import { redisPubSub } from "../src/redis.ts";
import { createTestServer, type TestConnection } from "../src/testing/index.ts";
import { PATIENCE_MS } from "./fixtures/patience.ts";
import { startProxy } from "./fixtures/proxy.ts";

// Brokers are started, killed and restarted, which takes long on a busy machine.
vi.setConfig({ testTimeout: 60_000 });
const POLL = { timeout: 30_000, interval: 10 };

interface Session {
  clientId: string;
  userId: string;
}

const anything = <T>(): StandardSchema<T> => ({
  "~standard": { version: 1, vendor: "test", validate: (value) => ({ value: value as T }) },
});
const Said = message("SAID", anything<{ text: string }>());
const Join = rpc("JOIN", anything<{ topic: string }>(), "JOINED", anything<object>());
const Say = rpc("SAY", anything<{ topic: string; text: string }>(), "SAY_RESULT", anything<object>());

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

/** A process: its router and its peers. */
function startNode(pubsub: PubSub) {
  const router = createRouter<Session>({ pubsub })
    .rpc(Join, async (ctx) => {
      await ctx.subscribe(ctx.payload.topic);
      ctx.reply(Join.response, {});
    })
    .rpc(Say, async (ctx) => {
      const { topic, text } = ctx.payload;
      ctx.reply(Say.response, await ctx.publish(topic, Said, { text }, { excludeSelf: true }));
    });
  const server = createTestServer(router);
  cleanups.push(async () => {
    await server.close();
    await pubsub.close();
  });
  return {
    router,
    pubsub,
    connect: (userId: string): Promise<TestConnection> => server.connect({ data: { userId } }),
  };
}

const texts = (peer: TestConnection) => peer.received(Said).map(({ text }) => text);
const gaps = (peer: TestConnection) => peer.frames.filter(({ type }) => type === "$ws:gap");

const redisService = await createRedisPrefix();
const natsService = await createNatsPrefix();
let count = 0;

describe.each([
  [
    "Redis",
    async () => {
      const prefix = `${redisService.prefix}:${++count}:`;
      return async () => redisPubSub(createClient({ url: redisService.url }), { prefix });
    },
    async () => {
      const server = await startRedis();
      const open = async (port: number) => redisPubSub(createClient({ socket: { host: "127.0.0.1", port } }));
      return { server, open };
    },
  ],
  [
    "NATS",
    async () => {
      const prefix = `${natsService.prefix}.${++count}.`;
      return async () => natsPubSub(await dial(natsService.url), { prefix });
    },
    async () => {
      const server = await startNats();
      const open = async (port: number) => natsPubSub(await dial(`127.0.0.1:${port}`));
      return { server, open };
    },
  ],
])("routers over %s", (_, share, own) => {
  test("deliver a message of one process to subscribers in all, except its sender with excludeSelf", async () => {
    const open = await share();
    const [here, there] = [startNode(await open()), startNode(await open())];
    const [ann, ben, cas] = [
      await here.connect("ann"),
      await here.connect("ben"),
      await there.connect("cas"),
    ];
    for (const peer of [ann, ben, cas]) await peer.request(Join, { topic: "room" });
    expect(await ann.request(Say, { topic: "room", text: "hello" })).toEqual({ ok: true });
    expect(await there.router.publish("room", Said, { text: "from the server" })).toEqual({ ok: true });
    for (const peer of [ben, cas])
      await expect.poll(() => texts(peer).sort(), POLL).toEqual(["from the server", "hello"]);
    await expect.poll(() => texts(ann), POLL).toEqual(["from the server"]);
  });

  test("deliver everything that any process publishes after a subscription is confirmed", async () => {
    const open = await share();
    const [here, there] = [startNode(await open()), startNode(await open())];
    const peer = await here.connect("ann");
    for (let round = 0; round < 20; round++) {
      await peer.request(Join, { topic: `round ${round}` });
      await there.router.publish(`round ${round}`, Said, { text: String(round) });
      await expect.poll(() => texts(peer).at(-1), POLL).toBe(String(round));
    }
  });

  test("close matching connections, and no others, in every process on disconnect", async () => {
    const open = await share();
    const nodes = [startNode(await open()), startNode(await open()), startNode(await open())];
    const revoked = await Promise.all(nodes.map((node) => node.connect("ann")));
    const others = await Promise.all(nodes.map((node) => node.connect("ben")));
    // A serving process receives disconnects once its subscription is confirmed.
    for (const node of nodes) await node.pubsub.subscribe("", { deliver: () => 0 });
    const startedAt = performance.now();
    expect(
      await nodes[0]?.router.disconnect({ data: { userId: "ann" } }, { code: 4401, reason: "revoked" }),
    ).toBe(1);
    for (const peer of revoked)
      await expect.poll(() => peer.closedWith, POLL).toEqual({ code: 4401, reason: "revoked" });
    expect(performance.now() - startedAt).toBeLessThan(5_000 + PATIENCE_MS);
    for (const peer of others) expect(peer.closedWith).toBeUndefined();
  });

  test("apply missed disconnects after an outage, except to connections opened later", async () => {
    const { server, open } = await own();
    cleanups.push(() => server.stop());
    const proxy = await startProxy(server.port);
    cleanups.push(() => proxy.stop());
    const [here, there] = [startNode(await open(server.port)), startNode(await open(proxy.port))];
    const peer = await there.connect("ann");
    await peer.request(Join, { topic: "room" });
    proxy.cut();
    await expect.poll(() => gaps(peer).length, POLL).toBeGreaterThan(0);
    await here.router.disconnect({ data: { userId: "ann" } });
    expect(peer.closedWith).toBeUndefined();
    // Ids contain the time of the connection: for this server now, for the other its epoch.
    const lateServer = createTestServer(there.router, { epoch: Date.now() + 60_000 });
    cleanups.push(() => lateServer.close());
    const laterPeer = await lateServer.connect({ data: { userId: "ann" } });
    proxy.mend();
    await expect.poll(() => peer.closedWith, POLL).toEqual({ code: 4403, reason: "" });
    expect(laterPeer.closedWith).toBeUndefined();
  });

  test("apply missed disconnects after an outage even if their sender no longer runs", async () => {
    const { server, open } = await own();
    cleanups.push(() => server.stop());
    const proxy = await startProxy(server.port);
    cleanups.push(() => proxy.stop());
    const [gone, witness] = [startNode(await open(server.port)), startNode(await open(server.port))];
    const there = startNode(await open(proxy.port));
    for (const node of [gone, witness, there]) await node.pubsub.subscribe("", { deliver: () => 0 });
    const peer = await there.connect("ann");
    const seen = await witness.connect("ann");
    await peer.request(Join, { topic: "room" });
    proxy.cut();
    await expect.poll(() => gaps(peer).length, POLL).toBeGreaterThan(0);
    await gone.router.disconnect({ data: { userId: "ann" } });
    await expect.poll(() => seen.closedWith?.code, POLL).toBe(4403);
    await gone.pubsub.close();
    proxy.mend();
    await expect.poll(() => peer.closedWith?.code, POLL).toBe(4403);
  });

  test("refuse a subscription to a topic that is not available at the moment, even if other connections have it", async () => {
    const { server, open } = await own();
    cleanups.push(() => server.stop());
    const here = startNode(await open(server.port));
    const [ann, ben] = [await here.connect("ann"), await here.connect("ben")];
    await ann.request(Join, { topic: "room" });
    await server.kill();
    // Both connections have died, and the subscribing one may notice second.
    await expect.poll(() => gaps(ann).length, POLL).toBeGreaterThan(0);
    await expect(ben.request(Join, { topic: "room" })).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await server.restart();
    await expect.poll(() => here.pubsub.status?.connected, POLL).toBe(true);
    await ben.request(Join, { topic: "room" });
    await here.router.publish("room", Said, { text: "after" });
    for (const peer of [ann, ben]) await expect.poll(() => texts(peer), POLL).toEqual(["after"]);
  });

  test("reject a disconnect that cannot reach other processes after closing local connections", async () => {
    const { server, open } = await own();
    cleanups.push(() => server.stop());
    const here = startNode(await open(server.port));
    const peer = await here.connect("ann");
    await peer.request(Join, { topic: "room" });
    await server.kill();
    await expect(here.router.disconnect({ data: { userId: "ann" } })).rejects.toMatchObject({
      code: "UNAVAILABLE",
    });
    expect(peer.closedWith?.code).toBe(4403);
  });

  test("announce a gap to peers after a broker failure, per topic or once for all, before later messages", async () => {
    const { server, open } = await own();
    cleanups.push(() => server.stop());
    const [here, there] = [startNode(await open(server.port)), startNode(await open(server.port))];
    const peer = await here.connect("ann");
    const idle = await here.connect("ben");
    await peer.request(Join, { topic: "room" });
    await server.kill();
    const [failed] = await Promise.all([there.router.publish("room", Said, { text: "lost" })]);
    expect(failed).toMatchObject({ ok: false, error: "DISCONNECTED", retryable: true });
    await server.restart();
    await expect
      .poll(async () => (await there.router.publish("room", Said, { text: "after" })).ok, POLL)
      .toBe(true);
    await expect.poll(() => gaps(peer).length, POLL).toBeGreaterThan(0);
    for (const { payload } of gaps(peer)) expect(payload).toMatchObject({ reason: "bus" });
    // A connection without topics has missed nothing.
    expect(gaps(idle)).toEqual([]);
  });
});

async function dial(servers: string) {
  const connection = await connect({ servers, maxReconnectAttempts: -1, reconnectTimeWait: 100 });
  cleanups.push(() => connection.close());
  return connection;
}
