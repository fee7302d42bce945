/** Entry point `@halyard/wire/middleware`. */
export type { ConnectionData, Peer, ServerContext } from "../router/connections/peer.ts";
export type { Middleware, MiddlewareContext } from "../router/context.ts";
export type { Metrics } from "../router/server/metrics.ts";
export { type LogEntry, type LoggerOptions, logger } from "./logger.ts";
export { createMetrics, type MetricsOptions, type ServerMetrics } from "./metrics.ts";
export { type RateLimitOptions, rateLimit } from "./rate-limit.ts";
export type { RateLimiter, RateLimitVerdict, TokenBucket } from "./rate-limiter.ts";
export { requireAuth, type SignedIn } from "./require-auth.ts";
export { telemetry } from "./telemetry.ts";
