/** Carries announcements over publish and subscribe of Redis. */
import type { Bus as SessionBus } from "@halyard/base";
import { redisBus } from "@halyard/base/redis";

export type { Bus as SessionBus, BusListener as SessionBusListener } from "@halyard/base";
export type { RedisClient } from "@halyard/base/redis";

/** The options of `redisSessionBus`. */
export interface RedisSessionBusOptions {
  /** Applications that share a server need different ones. Default `halyard:sessions`. */
  readonly channel?: string;
}

/**
 * A bus over Redis, for `connectSessions` or the option `bus` of `betterAuthSession`. Publishes on the given client, which
 * must be connected, and subscribes on a duplicate of it. A router with `redisPubSub` needs no other bus.
 *
 * @example
 * ```ts
 * import { connectSessions } from "@halyard/sessions";
 * import { redisSessionBus } from "@halyard/sessions/redis";
 * import { betterAuth } from "better-auth";
 * import { createClient } from "redis";
 *
 * const auth = betterAuth({});
 * const client = await createClient().on("error", console.error).connect();
 * await connectSessions(auth, redisSessionBus(client));
 * ```
 */
export function redisSessionBus(client: object, options: RedisSessionBusOptions = {}): SessionBus {
  return redisBus(client, options.channel ?? "halyard:sessions");
}
