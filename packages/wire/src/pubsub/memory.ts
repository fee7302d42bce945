/** Pub/sub within one process; the default of a router. */
import { positiveOption } from "../protocol/checks.ts";
import type { History, HistoryPosition } from "./history.ts";
import { MemoryHistory } from "./memory-history.ts";
import type { CarryOptions, PublishResult, PubSub, Subscriber } from "./pubsub.ts";

/** The options of `memoryPubSub()`. */
export interface MemoryPubSubOptions {
  /**
   * The most memory that kept frames of all topics may use, in bytes. Above it, the topic without appends for the longest
   * time loses its frames. Default 256 MiB.
   */
  readonly maxHistoryBytes?: number;
}

const DEFAULT_MAX_HISTORY_BYTES = 256 * 1024 * 1024;

/** Carries topics within one process. Made by `memoryPubSub()`; a router without the option `pubsub` has its own. */
export class MemoryPubSub implements PubSub {
  readonly #topics = new Map<string, Set<Subscriber>>();
  readonly #history: MemoryHistory;
  #closed = false;

  constructor(options: MemoryPubSubOptions = {}) {
    this.#history = new MemoryHistory(
      (topic, frame, excludeClientId, position) => this.#deliver(topic, frame, excludeClientId, position),
      positiveOption("maxHistoryBytes", options.maxHistoryBytes, DEFAULT_MAX_HISTORY_BYTES),
    );
  }

  /** The frames that are kept for readers which come back. */
  get history(): History {
    return this.#history;
  }

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
    return { ok: true, matchedLocal: this.#deliver(topic, frame, options.excludeClientId) };
  }

  #deliver(topic: string, frame: string, excludeClientId?: string, position?: HistoryPosition): number {
    let matchedLocal = 0;
    for (const subscriber of this.#topics.get(topic) ?? [])
      matchedLocal += subscriber.deliver(topic, frame, excludeClientId, position);
    return matchedLocal;
  }

  close(): void {
    this.#closed = true;
    this.#topics.clear();
    this.#history.close();
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
export function memoryPubSub(options?: MemoryPubSubOptions): MemoryPubSub {
  return new MemoryPubSub(options);
}
