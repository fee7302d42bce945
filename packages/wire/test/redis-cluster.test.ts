/** A Redis Cluster that loses a node or moves slots while a pub/sub is subscribed. */
import { type PrivateCluster, startRedisCluster } from "@halyard/services";
import { Cluster, Redis } from "ioredis";
import { createClient, createCluster } from "redis";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import type { PubSub, Subscriber } from "../src/index.ts";
import { slotOf } from "../src/pubsub/redis/channel-slot.ts";
import { type RedisClient, redisPubSub } from "../src/redis.ts";

// Brokers are started, killed and restarted, which takes long on a busy machine.
vi.setConfig({ testTimeout: 60_000 });
const POLL = { timeout: 30_000, interval: 20 };
const TOPICS = Array.from({ length: 30 }, (_, i) => `topic ${i}`);

let cluster: PrivateCluster;
const opened: PubSub[] = [];
beforeAll(async () => {
  cluster = await startRedisCluster({ masters: 3 });
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((pubsub) => pubsub.close()));
  await cluster.healthy();
});
afterAll(() => cluster.stop());

class Listener implements Subscriber {
  readonly events: string[] = [];
  deliver(topic: string, frame: string): number {
    this.events.push(`${topic}: ${frame}`);
    return 1;
  }
  missed(topic: string | undefined): void {
    this.events.push(topic === undefined ? "missed" : `${topic}: missed`);
  }
}

function open(client: RedisClient) {
  const pubsub = redisPubSub(client);
  opened.push(pubsub);
  return pubsub;
}

async function publish(pubsub: PubSub, topic: string, frame: string): Promise<void> {
  await expect.poll(async () => (await pubsub.publish(topic, frame, {})).ok, POLL).toBe(true);
}

/** The node with the slot of the topic's channel, and another one. */
function nodesOf(topic: string) {
  const at = Math.floor((slotOf(`halyard:t:${topic}`) * cluster.nodes.length) / 16_384);
  const [owner, other] = [cluster.nodes[at], cluster.nodes[(at + 1) % cluster.nodes.length]];
  if (owner === undefined || other === undefined) throw new Error("The cluster has too few nodes.");
  return { owner, other };
}

describe.each<[string, () => RedisClient]>([
  ["node-redis", () => createCluster({ rootNodes: cluster.urls.map((url) => ({ url })) })],
  ["ioredis", () => new Cluster([...cluster.urls], { lazyConnect: true })],
])("a pub/sub over a Redis Cluster, by %s", (_, client) => {
  test("announces a node failure only to subscribers of its topics, and other topics continue", async () => {
    const [near, far] = [open(client()), open(client())];
    const listener = new Listener();
    for (const topic of TOPICS) await near.subscribe(topic, listener);
    const { owner } = nodesOf(TOPICS[0] ?? "");
    const theirs = TOPICS.filter((topic) => nodesOf(topic).owner === owner);
    const others = TOPICS.filter((topic) => nodesOf(topic).owner !== owner);
    await owner.kill();
    await expect.poll(() => listener.events.length, POLL).toBeGreaterThanOrEqual(theirs.length);
    expect(listener.events.toSorted()).toEqual(theirs.map((topic) => `${topic}: missed`).toSorted());
    expect(await far.publish(theirs[0] ?? "", "lost", {})).toMatchObject({
      ok: false,
      error: "DISCONNECTED",
    });
    await owner.restart();
    await cluster.healthy();
    for (const topic of [...theirs, ...others]) await publish(far, topic, "after");
    await expect.poll(() => listener.events.filter((event) => event.endsWith("after")).length, POLL).toBe(30);
    for (const topic of others) expect(listener.events).not.toContain(`${topic}: missed`);
  });

  test("follows a slot to another node and announces the gap", async () => {
    const topic = "moving";
    const [near, far] = [open(client()), open(client())];
    const listener = new Listener();
    await near.subscribe(topic, listener);
    await publish(far, topic, "before");
    const slot = slotOf(`halyard:t:${topic}`);
    const { owner, other } = nodesOf(topic);
    await give(slot, other);
    try {
      await expect.poll(() => listener.events.at(-1), POLL).toBe("missed");
      await expect.poll(() => near.status.connected, POLL).toBe(true);
      await publish(far, topic, "after");
      await expect.poll(() => listener.events.at(-1), POLL).toBe(`${topic}: after`);
      expect(listener.events[0]).toBe(`${topic}: before`);
    } finally {
      await give(slot, owner);
    }
  });

  test("recovers when a node gives away only the slot that the pub/sub tests it with", async () => {
    const topic = "staying";
    const { owner, other } = nodesOf(topic);
    const [near, far] = [open(client()), open(client())];
    const listener = new Listener();
    await near.subscribe(topic, listener);
    const tested = String(await ask(owner.url, "PUBSUB", "SHARDCHANNELS", "halyard:p:*")).split(",");
    expect(tested).toHaveLength(1);
    const slot = slotOf(tested[0] ?? "");
    await give(slot, other);
    try {
      await expect.poll(() => listener.events.at(-1), POLL).toBe("missed");
      await expect.poll(() => near.status.connected, POLL).toBe(true);
      await publish(far, topic, "after");
      await expect.poll(() => listener.events.at(-1), POLL).toBe(`${topic}: after`);
    } finally {
      await give(slot, owner);
    }
  });

  test("recovers when a topic's slot moves away and immediately back", async () => {
    const topic = "returning";
    const [near, far] = [open(client()), open(client())];
    const listener = new Listener();
    await near.subscribe(topic, listener);
    const slot = slotOf(`halyard:t:${topic}`);
    const { owner, other } = nodesOf(topic);
    for (let round = 0; round < 3; round++) {
      await give(slot, other);
      await give(slot, owner);
    }
    await expect.poll(() => listener.events.length, POLL).toBeGreaterThan(0);
    await expect.poll(() => near.status.connected, POLL).toBe(true);
    await publish(far, topic, "after");
    await expect.poll(() => listener.events.at(-1), POLL).toBe(`${topic}: after`);
  });
});

test("the slot of a channel is the one that Redis computes, for any name", async () => {
  const [url = ""] = cluster.urls;
  for (const name of ["", "a", "halyard:t:room", "{user}.1", "a{}b", "{", "x{y}z{w}", "é🛶", "a}b{c}"])
    expect([name, slotOf(name)]).toEqual([name, Number(await ask(url, "CLUSTER", "KEYSLOT", name))]);
});

test("clients that are ambiguous or do not match throw when the pub/sub is created", () => {
  for (const stranger of [{}, { duplicate() {}, publish() {} }, null, "redis://localhost"])
    expect(() => redisPubSub(stranger as never)).toThrow("does not support this client");
  const methods = ["duplicate", "connect", "destroy", "sSubscribe", "sPublish", "getMasterNode"];
  const sentinel = Object.fromEntries(methods.map((name) => [name, () => undefined]));
  expect(() => redisPubSub(sentinel as never)).toThrow("cannot use Sentinels with this version of redis");
  const single = createClient({ url: "redis://localhost:1" });
  const many = createCluster({ rootNodes: [{ url: "redis://localhost:1" }] });
  expect(() => redisPubSub(single, { subscriber: many })).toThrow("of the same kind");
});

/** Makes all nodes agree that this node has the slot. The importing node is last, so that gossip does not revert it. */
async function give(slot: number, to: { readonly url: string }): Promise<void> {
  const id = await ask(to.url, "CLUSTER", "MYID");
  const from = cluster.nodes.find(({ url }) => url !== to.url);
  if (from === undefined) throw new Error("The cluster has too few nodes.");
  await ask(to.url, "CLUSTER", "SETSLOT", String(slot), "IMPORTING", await ask(from.url, "CLUSTER", "MYID"));
  for (const node of [to, ...cluster.nodes])
    await ask(node.url, "CLUSTER", "SETSLOT", String(slot), "NODE", id);
}

async function ask(url: string, command: string, ...args: string[]): Promise<string> {
  const client = new Redis(url);
  try {
    return String(await client.call(command, ...args));
  } finally {
    client.disconnect();
  }
}
