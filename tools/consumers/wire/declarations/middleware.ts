import { memoryPubSub, memoryRateLimiter } from "@halyard/wire/memory";
import { createMetrics, logger, rateLimit, requireAuth, telemetry } from "@halyard/wire/middleware";

export const limiter = memoryRateLimiter({ capacity: 1, tokensPerSecond: 1 });
export const limit = rateLimit({ limiter, key: "user" });
export const verdict = limiter.consume("a", 1);
export const signedIn = requireAuth();
export const log = logger();
export const traced = telemetry();
export const metrics = createMetrics();
export const pubsub = memoryPubSub();
export const published = pubsub.publish("t", "{}", {});
