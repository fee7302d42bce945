/** The pub/sub of one Durable Object: topics in memory, history in its SQLite storage. */
import type { Clock } from "@halyard/base";
import { LocalTopics } from "../../pubsub/local-topics.ts";
import type { CarryOptions, PublishResult, PubSub } from "../../pubsub/pubsub.ts";
import type { Timers } from "../../time/timers.ts";
import { DurableHistory } from "./history.ts";
import type { DurableStorage } from "./platform.ts";

export class DurablePubSub extends LocalTopics implements PubSub {
  readonly history: DurableHistory;

  constructor(storage: DurableStorage, clock: Clock, timers: Timers) {
    super();
    this.history = new DurableHistory(storage, this, clock, timers);
  }

  publish(topic: string, frame: string, options: CarryOptions): PublishResult {
    return { ok: true, matchedLocal: this.deliver(topic, frame, options.excludeClientId) };
  }

  close(): void {
    this.clear();
  }
}
