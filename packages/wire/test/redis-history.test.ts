/** History in real Redis, on a single server and in a cluster, with each client library. */
import { createRedisPrefix, type PrivateCluster, startRedisCluster } from "@halyard/services";
import { Cluster, Redis } from "ioredis";
import { createClient, createCluster } from "redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { slotOf } from "../src/pubsub/redis/channel-slot.ts";
import { type BrokerPubSub, type History, type RedisClient, redisPubSub } from "../src/redis.ts";
import { historyContract, type TestHistoryBus } from "./contract/history.ts";

const POLL = { timeout: 20_000, interval: 20 };
const KEPT = { size: 100, ttlMs: 600_000 };
const ALL = { maxItems: 1_000, maxBytes: 10_000_000 };
const DAY_MS = 24 * 60 * 60_000;

let count = 0;
const { url, prefix } = await createRedisPrefix();

/** Two processes in one: two pub/subs with their own connections. */
function bus(client: RedisClient): TestHistoryBus {
  const options = { prefix: `${prefix}:${++count}:` };
  const near = redisPubSub(client, options);
  const far = redisPubSub(client, options);
  return {
    near,
    far,
    async stop() {
      await Promise.all([near.close(), far.close()]);
    },
  };
}

historyContract("Redis, by node-redis", async () => bus(createClient({ url })));

describe("history in Redis", () => {
  async function withServer(use: (history: History, own: string, redis: Redis) => Promise<void>) {
    const own = `${prefix}:${++count}:`;
    const pubsub = redisPubSub(createClient({ url }), { prefix: own });
    const redis = new Redis(url);
    try {
      await use(historyOf(pubsub), own, redis);
    } finally {
      await pubsub.close();
      redis.disconnect();
    }
  }
  const keysOf = async (redis: Redis, own: string) =>
    (await redis.keys(`${own}*`)).map((key) => key.slice(own.length, own.length + 1)).sort();

  test("keeps the epoch for 30 days after the last append, and every other key as long as the frames and at most 60 s longer", async () => {
    await withServer(async (history, own, redis) => {
      await history.append("room", "x", { ...KEPT, id: "1" });
      expect(await keysOf(redis, own)).toEqual(["e", "i", "l"]);
      for (const key of await redis.keys(`${own}*`)) {
        const ttlMs = await redis.pttl(key);
        const limitMs = key.startsWith(`${own}e:`) ? 30 * DAY_MS : KEPT.ttlMs;
        expect(ttlMs).toBeGreaterThan(limitMs);
        expect(ttlMs).toBeLessThanOrEqual(limitMs + 60_000);
      }
      await history.append("short", "x", { size: 5, ttlMs: 100, id: "1" });
      await history.append("call", "x", { size: 5, ttlMs: 100, id: "1", lifetime: "topic" });
      await expect.poll(() => keysOf(redis, own), POLL).toEqual(["e", "e", "i", "l"]);
      await history.delete("room");
      await expect.poll(() => keysOf(redis, own), POLL).toEqual(["e"]);
    });
  });

  test("keeps nothing of a topic with a lifetime longer than its last append says", async () => {
    await withServer(async (history, own, redis) => {
      const options = { size: 100, lifetime: "topic" } as const;
      await history.append("call", "x", { ...options, ttlMs: 600_000, id: "1" });
      await history.append("call", "end", { ...options, ttlMs: 1_000, id: "end", isLast: true });
      // No id of an item is needed any more.
      expect(await keysOf(redis, own)).toEqual(["e", "l"]);
      for (const key of await redis.keys(`${own}*`)) expect(await redis.pttl(key)).toBeLessThanOrEqual(1_000);
    });
  });

  test("keeps nothing of a topic that was only read, and its first frame follows the position that was read", async () => {
    await withServer(async (history, own, redis) => {
      const before = await history.top("room");
      expect(await history.read("room", { ...ALL, after: before })).toMatchObject({ isMissing: false });
      expect(await keysOf(redis, own)).toEqual([]);
      await history.append("room", "a", KEPT);
      const page = await history.read("room", { ...ALL, after: before });
      expect([page.isMissing, page.items.map(({ frame }) => frame)]).toEqual([false, ["a"]]);
      await redis.del(...(await redis.keys(`${own}*`)));
      expect(await history.read("room", { ...ALL, after: before })).toMatchObject({ isMissing: true });
    });
  });

  test("renews the lifetime of its keys before it is shorter than that of the newest frame", async () => {
    await withServer(async (history, own, redis) => {
      await history.append("room", "x", { ...KEPT, id: "1" });
      for (const key of await redis.keys(`${own}*`)) await redis.pexpire(key, KEPT.ttlMs - 1);
      await history.append("room", "y", { ...KEPT, id: "2" });
      for (const key of await redis.keys(`${own}*`))
        expect(await redis.pttl(key)).toBeGreaterThan(key.startsWith(`${own}e:`) ? 30 * DAY_MS : KEPT.ttlMs);
    });
  });

  test("returns at most as many frames as are kept, although the stream is trimmed later", async () => {
    await withServer(async (history, own, redis) => {
      for (let i = 1; i <= 20; i++) await history.append("room", `${i}`, { ...KEPT, size: 5 });
      const { epoch, items } = await history.read("room", { last: 100, maxItems: 100, maxBytes: 1_000 });
      expect(items.map(({ frame }) => frame)).toEqual(["16", "17", "18", "19", "20"]);
      const after = { epoch, offset: 3 };
      const page = await history.read("room", { after, maxItems: 100, maxBytes: 1_000 });
      expect(page).toMatchObject({ isMissing: true, items: [{ offset: 16 }, {}, {}, {}, {}] });
      const more = Array.from({ length: 500 }, () => history.append("room", "more", { ...KEPT, size: 5 }));
      await Promise.all(more);
      const [key = ""] = await redis.keys(`${own}l:*`);
      expect(await redis.xlen(key)).toBeLessThan(150);
    });
  });

  test("removes expired frames from a log that is still appended to", async () => {
    await withServer(async (history, own, redis) => {
      for (let i = 0; i < 20; i++) await history.append("room", "old", { size: 1_000, ttlMs: 50 });
      const [key = ""] = await redis.keys(`${own}l:*`);
      await expect
        .poll(async () => {
          await history.append("room", "new", { size: 1_000, ttlMs: 600_000 });
          const entries = await redis.xrange(key, "-", "+");
          return entries.filter(([, fields]) => fields[1] === "old").length;
        }, POLL)
        .toBe(0);
    });
  });

  test("continues when Redis has dropped its scripts", async () => {
    await withServer(async (history, _own, redis) => {
      await history.append("room", "a", KEPT);
      await redis.script("FLUSH");
      expect(await history.append("room", "b", KEPT)).toMatchObject({ ok: true, position: { offset: 2 } });
      await redis.script("FLUSH");
      expect((await history.read("room", { ...ALL, last: 5 })).items).toHaveLength(2);
    });
  });

  test("begins a new epoch when the keys of a topic are partly evicted, and never answers with an old id", async () => {
    await withServer(async (history, own, redis) => {
      await history.append("room", "a", { ...KEPT, id: "1" });
      const before = await history.top("room");
      await redis.del(...(await redis.keys(`${own}e:*`)));
      const result = await history.append("room", "b", { ...KEPT, id: "1" });
      expect(result).toMatchObject({ ok: true, isRepeated: false, position: { offset: 1 } });
      const page = await history.read("room", { ...ALL, after: before });
      expect([page.isMissing, page.items.map(({ frame }) => frame)]).toEqual([true, ["b"]]);
    });
  });

  test("refuses a frame above the largest message, and an append after close", async () => {
    const pubsub = redisPubSub(createClient({ url }), {
      prefix: `${prefix}:${++count}:`,
      maxMessageBytes: 100,
    });
    const history = historyOf(pubsub);
    expect(await history.append("room", "x".repeat(101), KEPT)).toMatchObject({
      ok: false,
      error: "VALIDATION",
      details: { maxMessageBytes: 100 },
    });
    await pubsub.close();
    expect(await history.append("room", "x", KEPT)).toMatchObject({ ok: false, error: "DISCONNECTED" });
    await expect(history.read("room", ALL)).rejects.toThrow("closed");
    await expect(history.top("\uD800")).rejects.toThrow(Error);
  });
});

let cluster: PrivateCluster;
beforeAll(async () => {
  cluster = await startRedisCluster({ masters: 3 });
});
afterAll(() => cluster.stop());

const clusterClients: readonly (readonly [string, () => RedisClient])[] = [
  ["node-redis", () => createCluster({ rootNodes: cluster.urls.map((node) => ({ url: node })) })],
  ["ioredis", () => new Cluster([...cluster.urls], { lazyConnect: true })],
];

historyContract("a Redis Cluster, by ioredis", async () =>
  bus(new Cluster([...cluster.urls], { lazyConnect: true })),
);

describe.each(clusterClients)("history in a Redis Cluster, by %s", (_library, client) => {
  test("follows a slot to another node, under a new epoch", async () => {
    const { pubsub, history, topic, slot, nodes } = open(client());
    try {
      const before = await history.append(topic, "before", KEPT);
      expect(before).toMatchObject({ ok: true });
      await moveKeys(slot, nodes.owner.url, nodes.other.url);
      await give(slot, nodes.other.url);
      await expect.poll(async () => (await history.append(topic, "after", KEPT)).ok, POLL).toBe(true);
      const page = await history.read(topic, {
        ...ALL,
        ...(before.ok && { after: before.position }),
      });
      expect(page.isMissing).toBe(true);
      expect(page.items.map(({ frame }) => frame)).toEqual(["after"]);
    } finally {
      await moveKeys(slot, nodes.other.url, nodes.owner.url);
      await give(slot, nodes.owner.url);
      await pubsub.close();
    }
  });

  test("appends once while the slot is being moved, when the move is complete", async () => {
    const { pubsub, history, topic, slot, nodes } = open(client());
    const [ownerId, otherId] = [
      await ask(nodes.owner.url, "CLUSTER", "MYID"),
      await ask(nodes.other.url, "CLUSTER", "MYID"),
    ];
    try {
      await history.append(topic, "a", KEPT);
      await ask(nodes.other.url, "CLUSTER", "SETSLOT", `${slot}`, "IMPORTING", ownerId);
      await ask(nodes.owner.url, "CLUSTER", "SETSLOT", `${slot}`, "MIGRATING", otherId);
      // One of the two keys is moved: neither node has both.
      await moveKeys(slot, nodes.owner.url, nodes.other.url, 1);
      const appending = history.append(topic, "b", KEPT);
      await moveKeys(slot, nodes.owner.url, nodes.other.url);
      expect(await appending).toMatchObject({ ok: true, position: { offset: 2 } });
      await give(slot, nodes.other.url);
      await expect
        .poll(
          async () => (await history.read(topic, { ...ALL, last: 5 })).items.map(({ frame }) => frame),
          POLL,
        )
        .toEqual(["a", "b"]);
    } finally {
      await moveKeys(slot, nodes.other.url, nodes.owner.url);
      await give(slot, nodes.owner.url);
      await pubsub.close();
    }
  });

  test("refuses a topic whose keys cannot be in the slot of its channel", async () => {
    const { pubsub, history } = open(client());
    expect(await history.append("a}b", "x", KEPT)).toMatchObject({ ok: false, error: "VALIDATION" });
    await expect(history.read("a}b", ALL)).rejects.toThrow('A topic with "}"');
    await pubsub.close();
  });
});

test("a cluster cannot be declared durable", () => {
  const many = createCluster({ rootNodes: [{ url: "redis://localhost:1" }] });
  expect(() => redisPubSub(many, { durable: true })).toThrow("Leave the option out");
});

/** A pub/sub with a topic of its own, and the nodes of its slot. */
function open(client: RedisClient) {
  const own = `${prefix}:${++count}:`;
  const pubsub = redisPubSub(client, { prefix: own });
  const topic = "moving";
  const slot = slotOf(`${own}t:${topic}`);
  const at = Math.floor((slot * cluster.nodes.length) / 16_384);
  const [owner, other] = [cluster.nodes[at], cluster.nodes[(at + 1) % cluster.nodes.length]];
  if (owner === undefined || other === undefined) throw new Error("The cluster has too few nodes.");
  return { pubsub, history: historyOf(pubsub), topic, slot, nodes: { owner, other } };
}

function historyOf({ history }: BrokerPubSub): History {
  if (history === undefined) throw new Error("The pub/sub keeps no history.");
  return history;
}

/** Moves the keys of a slot, as a resharding tool does. */
async function moveKeys(slot: number, from: string, to: string, limit = 100): Promise<void> {
  const source = new Redis(from);
  try {
    const keys = (await source.call("CLUSTER", "GETKEYSINSLOT", String(slot), String(limit))) as string[];
    const { hostname, port } = new URL(to);
    // The target accepts keys of a slot that it does not have while it imports the slot.
    const id = await ask(from, "CLUSTER", "MYID");
    await ask(to, "CLUSTER", "SETSLOT", String(slot), "IMPORTING", id).catch(() => undefined);
    for (const key of keys) await source.call("MIGRATE", hostname, port, key, "0", "5000", "REPLACE");
  } finally {
    source.disconnect();
  }
}

/** Makes all nodes agree that this node has the slot. */
async function give(slot: number, to: string): Promise<void> {
  const id = await ask(to, "CLUSTER", "MYID");
  for (const node of [{ url: to }, ...cluster.nodes])
    await ask(node.url, "CLUSTER", "SETSLOT", String(slot), "NODE", id);
}

async function ask(node: string, command: string, ...args: string[]): Promise<string> {
  const client = new Redis(node);
  try {
    return String(await client.call(command, ...args));
  } finally {
    client.disconnect();
  }
}
