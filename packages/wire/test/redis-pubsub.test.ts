/** Pub/sub over real Redis, with each client library. */
import { createRedisPrefix, type PrivateCluster, startRedisCluster } from "@halyard/services";
import { Cluster, Redis } from "ioredis";
import { createClient, createCluster } from "redis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type RedisClient, redisPubSub } from "../src/redis.ts";
import { pubsubContract, type TestBus } from "./contract/pubsub.ts";

let count = 0;

/** Two processes in one: two pub/subs with their own connections. */
function bus(client: RedisClient, prefix: string): TestBus {
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

const { url, prefix } = await createRedisPrefix();

pubsubContract("Redis, by node-redis", async () => bus(createClient({ url }), prefix));

pubsubContract("Redis, by ioredis", async () => bus(new Redis(url, { lazyConnect: true }), prefix));

test("a process subscribes only to the topics for which it has subscribers", async () => {
  const { near, stop } = bus(createClient({ url }), `${prefix}:interest`);
  const client = await createClient({ url })
    .on("error", () => {})
    .connect();
  const channels = async () =>
    (await client.pubSubChannels(`${prefix}:interest:*`))
      .filter((channel) => channel.includes(":t:"))
      .map((channel) => channel.split(":t:")[1])
      .sort();
  const [one, two] = [{ deliver: () => 0 }, { deliver: () => 0 }];
  await near.publish("elsewhere", "x", {});
  await near.subscribe("a", one);
  await near.subscribe("a", two);
  await near.subscribe("b", one);
  expect(await channels()).toEqual(["a", "b"]);
  await near.unsubscribe("a", one);
  expect(await channels()).toEqual(["a", "b"]);
  await near.unsubscribe("a", two);
  expect(await channels()).toEqual(["b"]);
  client.destroy();
  await stop();
});

let cluster: PrivateCluster;
beforeAll(async () => {
  cluster = await startRedisCluster({ masters: 3 });
});
afterAll(() => cluster.stop());

pubsubContract("a Redis Cluster, by node-redis", async () =>
  bus(createCluster({ rootNodes: cluster.urls.map((node) => ({ url: node })) }), prefix),
);

pubsubContract("a Redis Cluster, by ioredis", async () =>
  bus(new Cluster([...cluster.urls], { lazyConnect: true }), prefix),
);

test("a publisher publishes to a Redis Cluster", async () => {
  const client = createCluster({ rootNodes: cluster.urls.map((node) => ({ url: node })) });
  const { near, far, stop } = bus(client, prefix);
  const got: string[] = [];
  await far.subscribe("a", { deliver: (_topic, frame) => got.push(frame) });
  const publisher = near.publisher?.();
  expect(await publisher?.publish("a", "{}", {})).toEqual({ ok: true });
  await expect.poll(() => got).toEqual(["{}"]);
  await publisher?.close();
  await stop();
});
