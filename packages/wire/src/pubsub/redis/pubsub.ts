/** `redisPubSub()`: picks the client library and the transport for a single server or a cluster. */
import { uuidv7 } from "@halyard/base";
import { type BrokerOptions, BrokerPubSub } from "../broker.ts";
import { bunRedisSource } from "./bun.ts";
import { RedisClusterTransport } from "./cluster-transport.ts";
import type { RedisSource } from "./connection.ts";
import { ioredisSource } from "./ioredis.ts";
import { nodeRedisSource } from "./node-redis.ts";
import { RedisTransport } from "./transport.ts";

/** A client of redis (node-redis), ioredis or Bun; with the first two also a cluster or Sentinel client. */
export interface RedisClient {
  /** Creates another client with the same settings. */
  duplicate(...args: never[]): unknown;
  /** Publishes to a channel. */
  publish(...args: never[]): unknown;
}

/** The options of `redisPubSub()`. */
export interface RedisPubSubOptions extends BrokerOptions {
  /** Prefix of every channel name. Applications that share a Redis need different prefixes. Default `halyard:`. */
  readonly prefix?: string;
  /** A client with other settings for the connection that subscribes. Default: the settings of `client`. */
  readonly subscriber?: RedisClient;
  /**
   * Whether history continues after a restart of Redis. Set it only for one server without failover that has
   * `appendfsync always`; otherwise frames that were lost are not announced. Default false: after a restart or failover,
   * readers of the history are told of a gap.
   */
  readonly durable?: boolean;
}

const DEFAULT_PREFIX = "halyard:";

/**
 * Carries topics between processes over Redis: with `SUBSCRIBE` and `PUBLISH` on a single server, with `SSUBSCRIBE` and
 * `SPUBLISH` on a cluster. The client itself is not used or changed: connections of the pub/sub are opened with its
 * settings, at the first use, and closed by `close()`.
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
  const { prefix = DEFAULT_PREFIX, subscriber, durable = false } = options;
  const publisherSource = sourceOf(client);
  const subscriberSource = subscriber === undefined ? publisherSource : sourceOf(subscriber);
  if (subscriberSource.isCluster !== publisherSource.isCluster) {
    throw new TypeError(
      "redisPubSub() got a cluster client and a single-server client. Pass two clients of the same kind as client and subscriber.",
    );
  }
  if (durable && publisherSource.isCluster) {
    throw new TypeError(
      "redisPubSub() got durable: true with a cluster client, but a failover of a cluster can lose frames. Leave the option out.",
    );
  }
  return new BrokerPubSub(
    "Redis pub/sub",
    (events, replyTimeoutMs, clock, onlyPublishes) => {
      const settings = { prefix, id: uuidv7(), clock, replyTimeoutMs, durable, onlyPublishes };
      if (publisherSource.isCluster)
        return new RedisClusterTransport({ ...settings, subscriberSource, publisherSource }, events);
      const open = { openSubscriber: subscriberSource.open, openPublisher: publisherSource.open };
      return new RedisTransport({ ...settings, ...open }, events);
    },
    options,
  );
}

function sourceOf(client: unknown): RedisSource {
  const source = nodeRedisSource(client) ?? ioredisSource(client) ?? bunRedisSource(client);
  if (source !== undefined) return source;
  throw new TypeError(
    "redisPubSub() does not support this client. Pass one made by redis (createClient, createCluster, createSentinel), ioredis (Redis, Cluster) or Bun (RedisClient).",
  );
}
