/** A topic with at least one subscriber in this process. */
import { copyText } from "../protocol/copy-text.ts";
import { ReceivedPositions } from "./positions.ts";
import type { Subscriber } from "./pubsub.ts";

export class Topic {
  readonly name: string;
  readonly subscribers: Set<Subscriber>;
  readonly positions: ReceivedPositions = new ReceivedPositions();
  /** Undefined once the broker has confirmed the subscription. */
  confirming: Promise<void> | undefined = undefined;
  /** Monotonic time in ms since which this process has received everything; what was missed before is announced. */
  completeSince: number = Number.POSITIVE_INFINITY;
  /** Whether the broker subscription is lost. */
  isLost = false;
  #outage: Outage | undefined = undefined;

  constructor(name: string, first: Subscriber) {
    this.name = copyText(name);
    this.subscribers = new Set([first]);
  }

  /** Resolves when the outage is over. */
  whenRestored(): Promise<void> {
    this.#outage ??= new Outage();
    return this.#outage.over;
  }

  /** Adds a subscriber while the subscription is lost. The result tells when the outage is over, and for which call. */
  join(subscriber: Subscriber): { readonly over: Promise<void>; isCurrent(): boolean; settled(): void } {
    this.#outage ??= new Outage();
    const { over, joins } = this.#outage;
    const call = {};
    joins.set(subscriber, call);
    return {
      over,
      isCurrent: () => joins.get(subscriber) === call,
      settled: () => void (joins.get(subscriber) === call && joins.delete(subscriber)),
    };
  }

  /** Removes a subscriber; false when it was not there. */
  leave(subscriber: Subscriber): boolean {
    this.#outage?.joins.delete(subscriber);
    return this.subscribers.delete(subscriber);
  }

  /** The subscription is active again. */
  restored(now: number): void {
    this.isLost = false;
    this.completeSince = now;
    this.#outage?.end();
    this.#outage = undefined;
  }
}

class Outage {
  /** The subscribers that joined during the outage, with an object that identifies their last call. */
  readonly joins = new Map<Subscriber, object>();
  end: () => void = () => undefined;
  readonly over = new Promise<void>((resolve) => {
    this.end = resolve;
  });
}
