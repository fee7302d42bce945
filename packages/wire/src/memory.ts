export { MemoryRateLimiter, memoryRateLimiter } from "./middleware/memory-rate-limiter.ts";
export { MemoryPubSub, memoryPubSub } from "./pubsub/memory.ts";
