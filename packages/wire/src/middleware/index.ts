export { type LogEntry, type LoggerOptions, logger } from "./logger.ts";
export { createMetrics, type MetricsOptions, type ServerMetrics } from "./metrics.ts";
export { type RateLimitOptions, rateLimit } from "./rate-limit.ts";
export type { RateLimiter, RateLimitVerdict, TokenBucket } from "./rate-limiter.ts";
export { requireAuth } from "./require-auth.ts";
export { telemetry } from "./telemetry.ts";
