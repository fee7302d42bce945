/** The subscribers of topics within one process. */
import type { HistoryPosition } from "./history.ts";
import type { Subscriber } from "./pubsub.ts";

export class LocalTopics {
  readonly #topics = new Map<string, Set<Subscriber>>();

  subscribe(topic: string, subscriber: Subscriber): void {
    const subscribers = this.#topics.get(topic);
    if (subscribers === undefined) this.#topics.set(topic, new Set([subscriber]));
    else subscribers.add(subscriber);
  }

  unsubscribe(topic: string, subscriber: Subscriber): void {
    const subscribers = this.#topics.get(topic);
    if (subscribers?.delete(subscriber) && subscribers.size === 0) this.#topics.delete(topic);
  }

  /** Returns the number of connections the frame was sent to. */
  deliver(
    topic: string,
    frame: string,
    excludeClientId: string | undefined,
    position?: HistoryPosition,
  ): number {
    let matchedLocal = 0;
    for (const subscriber of this.#topics.get(topic) ?? [])
      matchedLocal += subscriber.deliver(topic, frame, excludeClientId, position);
    return matchedLocal;
  }

  clear(): void {
    this.#topics.clear();
  }
}
