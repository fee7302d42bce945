import { type PrivateCluster, startRedisCluster } from "@halyard/services";
import { Cluster } from "ioredis";
import { createCluster } from "redis";
import { afterAll, beforeAll } from "vitest";
import { type RedisClient, redisPubSub } from "../../src/redis.ts";
import { type CallBus, durableCallContract } from "../contract/durable-calls.ts";

let cluster: PrivateCluster;
let count = 0;
beforeAll(async () => {
  cluster = await startRedisCluster({ masters: 3 });
});
afterAll(() => cluster.stop());

async function bus(connect: () => RedisClient): Promise<CallBus> {
  const options = { prefix: `calls:${++count}:` };
  const [near, far] = [redisPubSub(connect(), options), redisPubSub(connect(), options)];
  return {
    near,
    far,
    async stop() {
      await Promise.all([near.close(), far.close()]);
    },
  };
}

durableCallContract("Redis Cluster, by node-redis", () =>
  bus(() => createCluster({ rootNodes: cluster.urls.map((url) => ({ url })) })),
);
durableCallContract("Redis Cluster, by ioredis", () =>
  bus(() => new Cluster([...cluster.urls], { lazyConnect: true })),
);
