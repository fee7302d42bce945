/** Middleware that refuses messages above a rate limit with `RESOURCE_EXHAUSTED`. */
import type { ConnectionData } from "../router/connections/peer.ts";
import type { Middleware, MiddlewareContext } from "../router/context.ts";
import type { RateLimiter, RateLimitVerdict } from "./rate-limiter.ts";

/** The options of `rateLimit()`. */
export interface RateLimitOptions<Data extends ConnectionData = ConnectionData> {
  /** Created by `memoryRateLimiter()` or `redisRateLimiter()`. */
  readonly limiter: RateLimiter;
  /**
   * Which messages share a bucket. `client`: those of one connection. `user`: those of all connections with the same
   * `data.userId`; without one, as `client`. `type`: those of one connection and message type. Default `client`.
   */
  readonly key?: "client" | "user" | "type" | ((ctx: MiddlewareContext<Data>) => string);
  /** How many tokens a message takes. Default 1. */
  readonly cost?: number | ((ctx: MiddlewareContext<Data>) => number);
}

/**
 * Middleware that takes tokens for each message, and refuses the message when there are too few.
 *
 * @example
 * ```ts
 * import { createRouter } from "@halyard/wire";
 * import { memoryRateLimiter } from "@halyard/wire/memory";
 * import { rateLimit } from "@halyard/wire/middleware";
 *
 * const limiter = memoryRateLimiter({ capacity: 20, tokensPerSecond: 5 });
 * const router = createRouter().use(rateLimit({ limiter, key: "user" }));
 * ```
 */
export function rateLimit<Data extends ConnectionData = ConnectionData>(
  options: RateLimitOptions<Data>,
): Middleware<Data> {
  const { limiter, key = "client", cost = 1 } = options;
  return (ctx, next) => {
    const tokens = typeof cost === "function" ? cost(ctx) : cost;
    const verdict = limiter.consume(typeof key === "function" ? key(ctx) : keyOf(ctx, key), tokens);
    if (!(verdict instanceof Promise)) return pass(ctx, next, verdict, tokens, limiter.capacity);
    return verdict.then((result) => pass(ctx, next, result, tokens, limiter.capacity));
  };
}

function pass<Data extends ConnectionData>(
  ctx: MiddlewareContext<Data>,
  next: () => Promise<void>,
  { allowed, retryAfterMs }: RateLimitVerdict,
  observed: number,
  limit: number,
): Promise<void> | undefined {
  if (allowed) return next();
  ctx.reportRateLimit({ observed, limit, retryAfterMs });
  if (retryAfterMs === null) {
    ctx.error(
      "RESOURCE_EXHAUSTED",
      "The cost of this message exceeds the capacity of the rate limit.",
      undefined,
      { retryable: false },
    );
  } else ctx.error("RESOURCE_EXHAUSTED", "Too many messages.", undefined, { retryAfterMs });
  return undefined;
}

function keyOf<Data extends ConnectionData>(
  ctx: MiddlewareContext<Data>,
  key: "client" | "user" | "type",
): string {
  if (key === "type") return `type:${ctx.clientId}:${ctx.type}`;
  const { userId } = ctx.data as { userId?: unknown };
  if (key === "user" && userId !== undefined) return `user:${String(userId)}`;
  key satisfies "user" | "client";
  return `client:${ctx.clientId}`;
}
