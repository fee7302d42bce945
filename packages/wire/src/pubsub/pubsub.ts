/** The interface between a router's servers and the pub/sub that carries their topics. */
import type { History, HistoryPosition, PublishFailure } from "./history.ts";

export type { PublishFailure };

/** The result of a publish. `ok` means that the pub/sub accepted the message, not that a subscriber received it. */
export type PublishResult =
  | {
      /** Whether the pub/sub accepted the message. */
      readonly ok: true;
      /** To how many connections of this process the message was sent; absent with a broker. */
      readonly matchedLocal?: number;
    }
  | {
      /** Whether the pub/sub accepted the message. */
      readonly ok: false;
      /** Why it did not. */
      readonly error: PublishFailure;
      /** Whether a retry may succeed. */
      readonly retryable: boolean;
      /** What is wrong with a message or option. */
      readonly details?: Readonly<Record<string, unknown>>;
    };

/** A running server that receives the frames of a topic and sends them to its connections. */
export interface Subscriber {
  /**
   * Returns the number of connections the frame was sent to. Must not throw. `position` is its place in the history of the
   * topic, for a frame that was appended to it.
   */
  deliver(
    topic: string,
    frame: string,
    excludeClientId: string | undefined,
    position?: HistoryPosition,
  ): number;
  /** Whether a frame from another process may be delivered. Absent: every frame may. */
  accepts?(frame: string): boolean;
  /**
   * Reports a gap: frames of the topic (undefined: of all topics) may be missing. Called before the frames that follow
   * the gap are delivered. Must not throw.
   */
  missed?(topic: string | undefined): void;
}

/** Options of one publish. */
export interface CarryOptions {
  /** The connection that must not receive the frame: the publisher's own. */
  readonly excludeClientId?: string | undefined;
  /** Reserved: for pub/subs with partitions. Those of wire ignore it. */
  readonly partitionKey?: string | undefined;
}

/**
 * Carries frames to subscribers; topics and frames are opaque text to it. An implementation with a broker subscribes
 * there only to topics that have a subscriber in this process.
 */
export interface PubSub {
  /** Adds a subscriber of a topic. A promise resolves once the broker has confirmed it. */
  subscribe(topic: string, subscriber: Subscriber): void | Promise<void>;
  /** Removes a subscriber of a topic. */
  unsubscribe(topic: string, subscriber: Subscriber): void | Promise<void>;
  /** Carries a frame to every subscriber of the topic. */
  publish(topic: string, frame: string, options: CarryOptions): PublishResult | Promise<PublishResult>;
  /**
   * Adds a subscriber as `subscribe` does, and carries a frame to those that were there. `frame` is called for each time
   * that it is sent: once or twice. Resolves to whether there is one, in any process; to undefined when the broker cannot tell. Absent:
   * it never can.
   */
  enter?(topic: string, subscriber: Subscriber, frame: () => string): Promise<boolean | undefined>;
  /** Ends every connection of the pub/sub. */
  close(): void | Promise<void>;
  /** True when other processes share it. Routers then exchange disconnects and signs of life over it, on the empty topic. */
  readonly spansProcesses?: boolean;
  /** The frames that are kept for readers which come back; absent when the pub/sub keeps none. */
  readonly history?: History | undefined;
  /** The same pub/sub, to publish only: with a connection of its own, and none that subscribes. Absent without a broker. */
  publisher?(): PubSub;
  /** The state of the broker; absent without a broker. */
  readonly status?: PubSubStatus;
}

/** The state of a pub/sub with a broker. Counts are since the start. */
export interface PubSubStatus {
  /** Whether publishes are accepted and all subscriptions are active, as far as this process knows. */
  readonly connected: boolean;
  /** How many gaps there were; each was reported to the subscribers concerned. */
  readonly gaps: number;
  /** Messages that were dropped: too large, unreadable, or of another application. */
  readonly refused: number;
}
