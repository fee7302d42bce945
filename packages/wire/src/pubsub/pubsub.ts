/** The seam between a router's servers and whatever carries topics between them. Topic and frame are opaque here. */

export type PublishFailure = "UNSUPPORTED" | "BACKPRESSURE" | "DISCONNECTED" | "VALIDATION";

/**
 * `ok` means accepted: by the local router and, with a broker, by the broker. It never means delivered.
 */
export type PublishResult =
  | {
      readonly ok: true;
      /** How many connections of this process the frame was handed to. */
      readonly matchedLocal?: number;
    }
  | {
      readonly ok: false;
      readonly error: PublishFailure;
      readonly retryable: boolean;
      readonly details?: Readonly<Record<string, unknown>>;
    };

/** A running server that wants the frames of a topic; it passes them on to its own connections. */
export interface Subscriber {
  /** Gives the number of connections the frame was handed to. Must not throw. */
  deliver(topic: string, frame: string, excludeClientId: string | undefined): number;
}

export interface CarryOptions {
  /** A connection that must not get the frame: the publisher's own. */
  readonly excludeClientId?: string | undefined;
  readonly partitionKey?: string | undefined;
}

/** Carries frames to subscribers. An implementation with a broker listens only to topics that have a subscriber here. */
export interface PubSub {
  subscribe(topic: string, subscriber: Subscriber): void | Promise<void>;
  unsubscribe(topic: string, subscriber: Subscriber): void | Promise<void>;
  publish(topic: string, frame: string, options: CarryOptions): PublishResult | Promise<PublishResult>;
  close(): void | Promise<void>;
}
