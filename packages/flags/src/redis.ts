/** The public names of `@halyard/flags/redis`: rate limits and the bus, which several processes share in Redis. */
import type { Bus } from "@halyard/base";
import { redisBus as busOver } from "@halyard/base/redis";

export type {
  BunRedisScripts as BunRedisClient,
  IoredisScripts as IoRedisClient,
  NodeRedisScripts as NodeRedisClient,
} from "@halyard/base/redis";
export {
  type RateLimitRedisClient,
  type RedisRateLimitOptions,
  redisRateLimitStore,
} from "./server/limits/redis-store.ts";

/** The options of `redisBus`. */
export interface RedisBusOptions {
  /** Applications that share a server need different ones. Default `halyard:flags`. */
  readonly channel?: string | undefined;
}

/**
 * A bus over publish and subscribe of Redis, for the option `bus`. Publishes on the given client of `redis` or `ioredis`,
 * which must be connected, and subscribes on a duplicate of it.
 *
 * @example
 * ```ts
 * import { featureFlags } from "@halyard/flags";
 * import { redisBus } from "@halyard/flags/redis";
 * import { createClient } from "redis";
 *
 * const client = await createClient().on("error", console.error).connect();
 * featureFlags({ bus: redisBus(client) });
 * ```
 */
export function redisBus(client: object, options: RedisBusOptions = {}): Bus {
  return busOver(client, options.channel ?? "halyard:flags");
}
