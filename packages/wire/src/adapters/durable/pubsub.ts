/** The pub/sub of one Durable Object: topics in memory, history in its SQLite storage. */
import { LocalTopics } from "../../pubsub/local-topics.ts";
import type { CarryOptions, PublishResult, PubSub, Subscriber } from "../../pubsub/pubsub.ts";
import type { Clock } from "../../time/clock.ts";
import type { Timers } from "../../time/timers.ts";
import { DurableHistory } from "./history.ts";
import type { DurableStorage } from "./platform.ts";

export class DurablePubSub implements PubSub {
  readonly #topics = new LocalTopics();
  readonly history: DurableHistory;

  constructor(storage: DurableStorage, clock: Clock, timers: Timers) {
    this.history = new DurableHistory(storage, this.#topics, clock, timers);
  }

  subscribe(topic: string, subscriber: Subscriber): void {
    this.#topics.subscribe(topic, subscriber);
  }

  unsubscribe(topic: string, subscriber: Subscriber): void {
    this.#topics.unsubscribe(topic, subscriber);
  }

  publish(topic: string, frame: string, options: CarryOptions): PublishResult {
    return { ok: true, matchedLocal: this.#topics.deliver(topic, frame, options.excludeClientId) };
  }

  close(): void {
    this.#topics.clear();
  }
}
