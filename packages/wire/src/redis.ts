export {
  RedisRateLimiter,
  type RedisRateLimiterOptions,
  redisRateLimiter,
} from "./middleware/redis-rate-limiter.ts";
export type { RedisScriptClient } from "./middleware/redis-script.ts";
export { BrokerPubSub } from "./pubsub/broker.ts";
export { type RedisClient, type RedisPubSubOptions, redisPubSub } from "./pubsub/redis.ts";
