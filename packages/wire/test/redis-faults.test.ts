/** Redis that dies, freezes, or says what nobody said. */
import { startRedis } from "@halyard/services";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { type RedisClient, redisPubSub } from "../src/redis.ts";
import { brokerContract } from "./contract/broker.ts";

async function broker(connect: (url: string) => RedisClient) {
  const server = await startRedis();
  return {
    server,
    open: async () => redisPubSub(connect(server.url)),
    async write(topic: string, text: string) {
      const client = await createClient({ url: server.url }).connect();
      await client.publish(`halyard:t:${topic}`, text);
      client.destroy();
    },
    stop: () => server.stop(),
  };
}

brokerContract("Redis, by node-redis", () => broker((url) => createClient({ url })));
brokerContract("Redis, by ioredis", () => broker((url) => new Redis(url, { lazyConnect: true })));
