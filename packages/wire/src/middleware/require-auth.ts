/** Middleware that refuses messages of unauthenticated callers with `UNAUTHENTICATED`. */
import type { Middleware, MiddlewareContext } from "../router/context.ts";
import type { ConnectionData } from "../router/peer.ts";

/**
 * Middleware that refuses a message unless the predicate returns true. Default predicate: `ctx.data.userId` is set.
 *
 * @example
 * ```ts
 * import { createRouter } from "@halyard/wire";
 * import { requireAuth } from "@halyard/wire/middleware";
 *
 * const router = createRouter<{ clientId: string; userId?: string }>().use(requireAuth());
 * ```
 */
export function requireAuth<Data extends ConnectionData = ConnectionData>(
  predicate: (ctx: MiddlewareContext<Data>) => boolean | Promise<boolean> = hasUser,
): Middleware<Data> {
  return (ctx, next) => {
    const verdict = predicate(ctx);
    return typeof verdict === "boolean"
      ? pass(ctx, next, verdict)
      : verdict.then((allowed) => pass(ctx, next, allowed));
  };
}

function hasUser(ctx: { readonly data: object }): boolean {
  return (ctx.data as { userId?: unknown }).userId !== undefined;
}

function pass<Data extends ConnectionData>(
  ctx: MiddlewareContext<Data>,
  next: () => Promise<void>,
  allowed: boolean,
): Promise<void> | undefined {
  if (allowed) return next();
  ctx.error("UNAUTHENTICATED", "This message requires authentication. Sign in first.");
  return undefined;
}
