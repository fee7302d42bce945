/** What several processes share through Redis. */
export {
  type BunRedisClient,
  type IoRedisClient,
  type NodeRedisClient,
  type RateLimitRedisClient,
  type RedisRateLimitOptions,
  redisRateLimitStore,
} from "./server/limits/redis-store.ts";
