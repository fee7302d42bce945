/** Refuses messages that come too often, with `RESOURCE_EXHAUSTED`. */
import type { Middleware, MiddlewareContext } from "../router/context.ts";
import type { ConnectionData } from "../router/peer.ts";
import type { RateLimiter, RateLimitVerdict } from "./rate-limiter.ts";

export interface RateLimitOptions<Data extends ConnectionData = ConnectionData> {
  readonly limiter: RateLimiter;
  /**
   * Who shares a bucket. `client`: one connection. `user`: all connections of `data.userId`, else the one connection.
   * `type`: one connection and message type. Default `client`.
   */
  readonly key?: "client" | "user" | "type" | ((ctx: MiddlewareContext<Data>) => string);
  /** Tokens a message takes. Default 1. */
  readonly cost?: number | ((ctx: MiddlewareContext<Data>) => number);
}

/**
 * Middleware that takes tokens for each message and refuses it when there are too few.
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
    return verdict.then((known) => pass(ctx, next, known, tokens, limiter.capacity));
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
    ctx.error("RESOURCE_EXHAUSTED", "This message costs more than the rate limit ever allows.", undefined, {
      retryable: false,
    });
  } else {
    ctx.error("RESOURCE_EXHAUSTED", "Too many messages.", undefined, { retryAfterMs });
  }
  return undefined;
}

function keyOf<Data extends ConnectionData>(
  ctx: MiddlewareContext<Data>,
  key: "client" | "user" | "type",
): string {
  if (key === "type") return `type:${ctx.clientId}:${ctx.type}`;
  const { userId } = ctx.data as { userId?: unknown };
  return key === "user" && userId !== undefined ? `user:${String(userId)}` : `client:${ctx.clientId}`;
}
