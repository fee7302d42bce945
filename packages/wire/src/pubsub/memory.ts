/** Pub/sub within one process; the default of a router. */
import { positiveOption } from "../protocol/checks.ts";
import type { History } from "./history.ts";
import { LocalTopics } from "./local-topics.ts";
import { MemoryHistory } from "./memory-history.ts";
import type { CarryOptions, PublishResult, PubSub, Subscriber } from "./pubsub.ts";

/** The options of `memoryPubSub()`. */
export interface MemoryPubSubOptions {
  /**
   * The most memory that kept frames of all topics may use, in bytes. Above it, about the largest topic loses its oldest
   * frames, and a running durable call that would be the largest fails with `RESOURCE_EXHAUSTED`. Default 256 MiB.
   */
  readonly maxHistoryBytes?: number;
}

const DEFAULT_MAX_HISTORY_BYTES = 256 * 1024 * 1024;

/** Carries topics within one process. Made by `memoryPubSub()`; a router without the option `pubsub` has its own. */
export class MemoryPubSub implements PubSub {
  readonly #topics = new LocalTopics();
  readonly #history: MemoryHistory;
  #isClosed = false;

  constructor(options: MemoryPubSubOptions = {}) {
    this.#history = new MemoryHistory(
      this.#topics,
      positiveOption("maxHistoryBytes", options.maxHistoryBytes, DEFAULT_MAX_HISTORY_BYTES),
    );
  }

  /** The frames that are kept for readers which come back. */
  get history(): History {
    return this.#history;
  }

  subscribe(topic: string, subscriber: Subscriber): void {
    this.#topics.subscribe(topic, subscriber);
  }

  unsubscribe(topic: string, subscriber: Subscriber): void {
    this.#topics.unsubscribe(topic, subscriber);
  }

  publish(topic: string, frame: string, options: CarryOptions): PublishResult {
    if (this.#isClosed) return { ok: false, error: "DISCONNECTED", retryable: false };
    return { ok: true, matchedLocal: this.#topics.deliver(topic, frame, options.excludeClientId) };
  }

  close(): void {
    this.#isClosed = true;
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
