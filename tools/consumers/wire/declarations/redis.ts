import { redisPubSub, redisRateLimiter } from "@halyard/wire/redis";
import { createClient } from "redis";

export const pubsub = redisPubSub(createClient());
export const status = () => pubsub.status;
export const limiter = redisRateLimiter(createClient(), { capacity: 1, tokensPerSecond: 1 });
export const verdict = () => limiter.consume("a", 1);
