/** The public names of `@halyard/flags/redis`: rate limits that several processes share in Redis. */
export {
  type BunRedisClient,
  type IoRedisClient,
  type NodeRedisClient,
  type RateLimitRedisClient,
  type RedisRateLimitOptions,
  redisRateLimitStore,
} from "./server/limits/redis-store.ts";
