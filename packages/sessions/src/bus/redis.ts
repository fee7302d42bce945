/** Carries announcements over publish and subscribe of Redis. */
import { within } from "../callers/deadline.ts";
import type { SessionBus, SessionBusListener } from "./bus.ts";

export type { SessionBus, SessionBusListener } from "./bus.ts";

/** The members of a client of `redis` or `ioredis` that are used. */
export interface RedisClient {
  /** A client with the same options. */
  duplicate(): RedisClient;
  /** Connects the client. */
  connect(): Promise<unknown>;
  /** Publishes a message. */
  publish(channel: string, message: string): Promise<unknown>;
  /** Subscribes; `ioredis` reports messages as events. */
  subscribe(channel: string, listener?: (message: string) => void): Promise<unknown>;
  /** Adds a listener. */
  on(event: string, listener: (...values: never[]) => void): unknown;
  /** Ends the connection at once, in `ioredis`. */
  disconnect(): unknown;
  /** Ends the connection at once, in `redis`. */
  destroy?(): unknown;
}

/** The options of `redisSessionBus`. */
export interface RedisSessionBusOptions {
  /** Applications that share a server need different ones. Default `halyard:sessions`. */
  readonly channel?: string;
}

const TIMEOUT_MS = 5000;

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
  const { channel = "halyard:sessions" } = options;
  const publisher = client as RedisClient;
  return {
    async publish(message) {
      const publishing = publisher.publish(channel, message);
      await within(publishing, TIMEOUT_MS, `Redis did not respond within ${TIMEOUT_MS} ms.`);
    },
    subscribe(listener) {
      const subscriber = publisher.duplicate();
      // The client reconnects and subscribes again by itself; an error event without a listener ends the process.
      subscriber.on("error", () => undefined);
      // After each connection: messages before it were not received.
      subscriber.on("ready", () => listener.missed());
      if ("isOpen" in subscriber) void subscribeNodeRedis(subscriber, channel, listener);
      else subscribeIoredis(subscriber, channel, listener);
      return () => {
        try {
          if (subscriber.destroy === undefined) subscriber.disconnect();
          else subscriber.destroy();
        } catch {
          // redis 5 throws when the client has given up its connection.
        }
      };
    },
  };
}

async function subscribeNodeRedis(
  subscriber: RedisClient,
  channel: string,
  { received, missed }: SessionBusListener,
): Promise<void> {
  try {
    await subscriber.connect();
    await subscriber.subscribe(channel, (message) => received(message));
    missed();
  } catch {
    // The bus was stopped before the connection was open.
  }
}

/** Subscribes again after each reconnection by itself. */
function subscribeIoredis(
  subscriber: RedisClient,
  channel: string,
  { received, missed }: SessionBusListener,
): void {
  subscriber.on("message", (from: string, message: string) => {
    if (from === channel) received(message);
  });
  subscriber.subscribe(channel).then(missed, () => undefined);
}
