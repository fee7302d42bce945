/** Redis that crashes, freezes or sends unexpected data. */
import { startRedis, startRedisCluster } from "@halyard/services";
import { Cluster, Redis } from "ioredis";
import { createClient, createCluster } from "redis";
import { expect, test } from "vitest";
import { type RedisClient, redisPubSub } from "../src/redis.ts";
import { brokerContract } from "./contract/broker.ts";

async function broker(connect: (url: string) => RedisClient) {
  const server = await startRedis();
  const write = async (channel: string, text: string) => {
    const client = await createClient({ url: server.url })
      .on("error", () => {})
      .connect();
    await client.publish(channel, text);
    client.destroy();
  };
  return {
    server,
    open: async () => redisPubSub(connect(server.url)),
    write: (topic: string, text: string) => write(`halyard:t:${topic}`, text),
    writeHeartbeat: (text: string) => write("halyard:h", text),
    stop: () => server.stop(),
  };
}

/** A cluster of one node, so that its failure is that of the whole broker. */
async function clusterBroker(connect: (url: string) => RedisClient) {
  const cluster = await startRedisCluster({ masters: 1 });
  const [node] = cluster.nodes;
  if (node === undefined) throw new Error("The cluster has no node.");
  const restart = async () => {
    await node.restart();
    await cluster.healthy();
  };
  const server = { ...node, restart };
  const write = async (channel: string, text: string) => {
    const client = await createClient({ url: server.url })
      .on("error", () => {})
      .connect();
    await client.sPublish(channel, text);
    client.destroy();
  };
  return {
    server,
    open: async () => redisPubSub(connect(server.url)),
    write: (topic: string, text: string) => write(`halyard:t:${topic}`, text),
    writeHeartbeat: (text: string) => write("halyard:h", text),
    stop: () => cluster.stop(),
  };
}

brokerContract("Redis, by node-redis", () => broker((url) => createClient({ url })));
brokerContract("Redis, by ioredis", () => broker((url) => new Redis(url, { lazyConnect: true })));
brokerContract("a Redis Cluster, by node-redis", () =>
  clusterBroker((url) => createCluster({ rootNodes: [{ url }] })),
);
brokerContract("a Redis Cluster, by ioredis", () =>
  clusterBroker((url) => new Cluster([url], { lazyConnect: true })),
);

test("a publisher notices that Redis does not answer, and publishes again when it does", async () => {
  const server = await startRedis();
  const publisher = redisPubSub(createClient({ url: server.url })).publisher();
  expect(await publisher.publish("news", "{}", {})).toEqual({ ok: true });
  const isConnected = () => publisher.status.connected;
  expect(isConnected()).toBe(true);
  server.pause();
  await expect.poll(isConnected, { timeout: 5_000 }).toBe(false);
  server.resume();
  await expect.poll(isConnected, { timeout: 10_000 }).toBe(true);
  expect(await publisher.publish("news", "{}", {})).toEqual({ ok: true });
  await publisher.close();
  await server.stop();
}, 20_000);
