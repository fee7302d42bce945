/** Pub/sub over Redis. */
import { uuidv7 } from "../protocol/uuid.ts";
import { type BrokerOptions, BrokerPubSub } from "./broker.ts";
import { bunRedisSource } from "./redis-bun.ts";
import { RedisClusterTransport } from "./redis-cluster.ts";
import type { RedisSource } from "./redis-connection.ts";
import { ioredisSource } from "./redis-ioredis.ts";
import { nodeRedisSource } from "./redis-node-redis.ts";
import { RedisTransport } from "./redis-transport.ts";

/** A client of node-redis, ioredis or Bun; of the first two also a cluster or one behind Sentinels. */
export interface RedisClient {
  duplicate(...args: never[]): unknown;
  publish(...args: never[]): unknown;
}

export interface RedisPubSubOptions extends BrokerOptions {
  /** Begins the name of every channel. Applications that share a Redis need different ones. Default `halyard:`. */
  readonly prefix?: string;
  /** A client with the settings of the connection that listens, where they are not those of `client`. */
  readonly subscriber?: RedisClient;
}

const DEFAULT_PREFIX = "halyard:";

/**
 * Carries topics between processes over Redis: by `SUBSCRIBE` and `PUBLISH` on a single server, by `SSUBSCRIBE` and
 * `SPUBLISH` on a cluster. The client itself is left alone: connections of our own are opened with its settings, at the
 * first use, and closed by `close()`.
 *
 * @example
 * ```ts
 * import { createRouter } from "@halyard/wire";
 * import { redisPubSub } from "@halyard/wire/redis";
 * import { createClient } from "redis";
 *
 * const pubsub = redisPubSub(createClient({ url: "redis://localhost:6379" }));
 * const router = createRouter({ pubsub });
 * ```
 */
export function redisPubSub(client: RedisClient, options: RedisPubSubOptions = {}): BrokerPubSub {
  const { prefix = DEFAULT_PREFIX, subscriber } = options;
  const speaking = sourceOf(client);
  const listening = subscriber === undefined ? speaking : sourceOf(subscriber);
  if (listening.isCluster !== speaking.isCluster) {
    throw new TypeError(
      "redisPubSub was given a cluster and a single server. Both clients must be of one kind.",
    );
  }
  const id = uuidv7();
  return new BrokerPubSub(
    "Redis pub/sub",
    (events, replyTimeoutMs, clock) => {
      const settings = { prefix, id, clock, replyTimeoutMs };
      if (speaking.isCluster) return new RedisClusterTransport({ ...settings, listening, speaking }, events);
      const open = { listen: listening.open, speak: speaking.open };
      return new RedisTransport({ ...settings, ...open }, events);
    },
    options,
  );
}

function sourceOf(client: unknown): RedisSource {
  const source = nodeRedisSource(client) ?? ioredisSource(client) ?? bunRedisSource(client);
  if (source !== undefined) return source;
  throw new TypeError(
    "redisPubSub does not know this client. Give it one made by redis (createClient, createCluster, createSentinel), ioredis (Redis, Cluster) or Bun (RedisClient).",
  );
}
