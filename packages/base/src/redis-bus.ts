/** A bus over publish and subscribe of Redis. */
import type { Bus, BusListener } from "./bus.ts";
import { ignore, within } from "./waits.ts";

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

const TIMEOUT_MS = 5000;

/**
 * A bus over a client of `redis` or `ioredis`. Publishes on the given client, which must be connected, and subscribes on a
 * duplicate of it.
 */
export function redisBus(client: object, channel: string): Bus {
  const publisher = client as RedisClient;
  return {
    async publish(message) {
      const publishing = publisher.publish(channel, message);
      await within(publishing, TIMEOUT_MS, `Redis did not respond within ${TIMEOUT_MS} ms.`);
    },
    subscribe: (listener) => receive(publisher.duplicate(), channel, listener),
  };
}

/** The client reconnects by itself. */
function receive(subscriber: RedisClient, channel: string, listener: BusListener): () => void {
  let cause: unknown = new Error("Redis closed the connection.");
  let isLost = false;
  let isStopped = false;

  function missed(): void {
    isLost = false;
    if (!isStopped) listener.missed();
  }

  function lose(): void {
    if (isLost || isStopped) return;
    isLost = true;
    listener.lost?.(cause);
  }

  // An error event without a listener ends the process.
  subscriber.on("error", (error: unknown) => {
    cause = error;
  });
  subscriber.on("reconnecting", lose);
  subscriber.on("end", lose);
  const received = (message: string): void => {
    if (!isStopped) listener.received(message);
  };
  if ("isOpen" in subscriber) {
    const subscribe = () => subscriber.subscribe(channel, received);
    const subscribed = subscriber.connect().then(subscribe).then(missed);
    // It has subscribed again before it is ready again.
    subscribed.then(() => subscriber.on("ready", missed)).catch(ignore);
  } else {
    subscriber.on("message", (from: string, message: string) => {
      if (from === channel) received(message);
    });
    const subscribe = () => void subscriber.subscribe(channel).then(missed, ignore);
    // It subscribes again by itself, and this call is answered after that.
    subscriber.on("ready", subscribe);
    subscribe();
  }
  return () => {
    isStopped = true;
    try {
      if (subscriber.destroy === undefined) subscriber.disconnect();
      else subscriber.destroy();
    } catch {
      // redis 5 throws when the client has given up its connection.
    }
  };
}
