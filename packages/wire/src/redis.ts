/** Entry point `@halyard/wire/redis`: pub/sub and rate limiter over Redis. */

export type { RateLimiter, RateLimitVerdict, TokenBucket } from "./middleware/rate-limiter.ts";
export {
  RedisRateLimiter,
  type RedisRateLimiterOptions,
  type RedisScriptClient,
  redisRateLimiter,
} from "./middleware/redis-rate-limiter.ts";
export { type BrokerOptions, BrokerPubSub } from "./pubsub/broker.ts";
export type * from "./pubsub/history.ts";
export type * from "./pubsub/pubsub.ts";
export { type RedisClient, type RedisPubSubOptions, redisPubSub } from "./pubsub/redis/pubsub.ts";
