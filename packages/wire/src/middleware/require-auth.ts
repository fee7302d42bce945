/** Middleware that refuses messages of unauthenticated callers with `UNAUTHENTICATED`. */
import type { ConnectionData } from "../router/connections/peer.ts";
import type { Middleware, MiddlewareContext } from "../router/context.ts";

/** Connection data with a user. */
export type SignedIn<Data extends ConnectionData> = Data & {
  /** The id of the user, of the type that the data declares. */
  readonly userId: Data extends { readonly userId?: infer Id } ? Exclude<Id, undefined> : unknown;
};

/**
 * Middleware that refuses a message unless the predicate returns true. Default predicate: `ctx.data.userId` is set, and
 * handlers registered afterwards may rely on it. A predicate of your own guarantees what its type arguments say.
 *
 * @example
 * ```ts
 * import { createRouter, rpc, z } from "@halyard/wire/zod";
 * import { requireAuth } from "@halyard/wire/middleware";
 *
 * const WhoAmI = rpc("WHO_AM_I", undefined, "YOU_ARE", { userId: z.string() });
 * const router = createRouter<{ clientId: string; userId?: string }>()
 *   .use(requireAuth())
 *   .rpc(WhoAmI, (ctx) => ({ userId: ctx.data.userId }));
 * ```
 */
export function requireAuth<Data extends ConnectionData = ConnectionData>(): Middleware<Data, SignedIn<Data>>;
export function requireAuth<In extends ConnectionData = ConnectionData, Out extends ConnectionData = In>(
  predicate: (ctx: MiddlewareContext<In>) => boolean | Promise<boolean>,
): Middleware<In, Out>;
export function requireAuth(
  predicate: (ctx: MiddlewareContext) => boolean | Promise<boolean> = hasUser,
): Middleware {
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

function pass(
  ctx: MiddlewareContext,
  next: () => Promise<void>,
  allowed: boolean,
): Promise<void> | undefined {
  if (allowed) return next();
  ctx.error("UNAUTHENTICATED", "This message requires authentication. Sign in first.");
  return undefined;
}
