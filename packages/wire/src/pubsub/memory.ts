/** Pub/sub within one process; the default of a router. */
import type { CarryOptions, PublishResult, PubSub, Subscriber } from "./pubsub.ts";

/** Carries topics within one process. Made by `memoryPubSub()`; a router without the option `pubsub` has its own. */
export class MemoryPubSub implements PubSub {
  readonly #topics = new Map<string, Set<Subscriber>>();
  #closed = false;

  subscribe(topic: string, subscriber: Subscriber): void {
    const subscribers = this.#topics.get(topic);
    if (subscribers === undefined) this.#topics.set(topic, new Set([subscriber]));
    else subscribers.add(subscriber);
  }

  unsubscribe(topic: string, subscriber: Subscriber): void {
    const subscribers = this.#topics.get(topic);
    if (subscribers?.delete(subscriber) && subscribers.size === 0) this.#topics.delete(topic);
  }

  publish(topic: string, frame: string, options: CarryOptions): PublishResult {
    if (this.#closed) return { ok: false, error: "DISCONNECTED", retryable: false };
    let matchedLocal = 0;
    for (const subscriber of this.#topics.get(topic) ?? []) {
      matchedLocal += subscriber.deliver(topic, frame, options.excludeClientId);
    }
    return { ok: true, matchedLocal };
  }

  close(): void {
    this.#closed = true;
    this.#topics.clear();
  }
}

/**
 * Creates a pub/sub within one process. Give it to several routers to share their topics.
 *
 * @example
 * ```ts
 * import { createRouter } from "@halyard/wire";
 * import { memoryPubSub } from "@halyard/wire/memory";
 *
 * const pubsub = memoryPubSub();
 * const chat = createRouter({ pubsub });
 * const admin = createRouter({ pubsub });
 * ```
 */
export function memoryPubSub(): MemoryPubSub {
  return new MemoryPubSub();
}
