/** Entry point `@halyard/wire/memory`: pub/sub and rate limiter within one process. */
export { MemoryRateLimiter, memoryRateLimiter } from "./middleware/memory-rate-limiter.ts";
export type { RateLimiter, RateLimitVerdict, TokenBucket } from "./middleware/rate-limiter.ts";
export type * from "./pubsub/history.ts";
export { MemoryPubSub, type MemoryPubSubOptions, memoryPubSub } from "./pubsub/memory.ts";
export type { CarryOptions, PublishFailure, PublishResult, PubSub, Subscriber } from "./pubsub/pubsub.ts";
