/** Bun's native pub/sub as a `PubSub`, with only the features that Bun has. */
import type { CarryOptions, PublishResult, PubSub } from "../pubsub/pubsub.ts";

/** The members of Bun's server that this file uses. */
export interface BunPublisher {
  /** Sends to every socket subscribed in the engine; returns the bytes sent, 0 or -1. */
  publish(topic: string, frame: string): number;
  /** How many sockets are subscribed. */
  subscriberCount(topic: string): number;
}

let count = 0;

/** Created by `bunPubSub()`; `createBunHandler` or `serve` binds it to the server. */
export class BunPubSub implements PubSub {
  /** Separates the topics of two routers on one Bun server. */
  readonly prefix: string = `halyard:${++count}:`;
  #server: BunPublisher | undefined;
  #isClosed = false;

  /** Called by the adapter with the running server. */
  bind(server: BunPublisher): void {
    this.#server = server;
  }

  /** Does nothing: the sockets themselves are subscribed in the engine. */
  subscribe(): void {}

  /** Does nothing, as `subscribe`. */
  unsubscribe(): void {}

  publish(topic: string, frame: string, options: CarryOptions): PublishResult {
    if (options.excludeClientId !== undefined) {
      return { ok: false, error: "UNSUPPORTED", retryable: false, details: { option: "excludeSelf" } };
    }
    if (this.#isClosed) return { ok: false, error: "DISCONNECTED", retryable: false };
    if (this.#server === undefined) return { ok: true, matchedLocal: 0 };
    const name = this.prefix + topic;
    const matchedLocal = this.#server.subscriberCount(name);
    this.#server.publish(name, frame);
    return { ok: true, matchedLocal };
  }

  close(): void {
    this.#isClosed = true;
    this.#server = undefined;
  }
}

/**
 * Creates a router's `pubsub` from Bun's native pub/sub. The default on Bun is as fast, and also supports `excludeSelf`,
 * counts deliveries and handles slow readers. Use this one only to get exactly the behaviour of the engine.
 *
 * @example
 * ```ts
 * import { createRouter } from "@halyard/wire";
 * import { bunPubSub } from "@halyard/wire/bun";
 *
 * const router = createRouter({ pubsub: bunPubSub() });
 * ```
 */
export function bunPubSub(): BunPubSub {
  return new BunPubSub();
}
