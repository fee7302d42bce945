/** The engine's own pub/sub, bare: as fast as Bun, without what Bun does not do. */
import type { CarryOptions, PublishResult, PubSub } from "../pubsub/pubsub.ts";

/** The members of Bun's server that are used here. */
export interface BunPublisher {
  publish(topic: string, frame: string): number;
  subscriberCount(topic: string): number;
}

let count = 0;

/** Made by `bunPubSub()`; bound to the server by `createBunHandler` or `serve`. */
export class BunPubSub implements PubSub {
  /** Keeps the topics of two routers on one Bun server apart. */
  readonly prefix: string = `halyard:${++count}:`;
  #server: BunPublisher | undefined;
  #isClosed = false;

  bind(server: BunPublisher): void {
    this.#server = server;
  }

  /** The sockets themselves are subscribed in the engine. */
  subscribe(): void {}

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
 * Bun's native pub/sub as a router's `pubsub`. The default on Bun is as fast, counts, supports `excludeSelf` and
 * looks after slow readers; choose this one only to have exactly what the engine does.
 */
export function bunPubSub(): BunPubSub {
  return new BunPubSub();
}
