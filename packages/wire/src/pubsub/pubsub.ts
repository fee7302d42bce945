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
  /** Whether a frame that came from another process is one to deliver. Absent: all are. */
  accepts?(frame: string): boolean;
  /**
   * Frames of the topic, of all its topics when there is none, may have been lost on their way here. Told before
   * anything that follows them is delivered. Must not throw.
   */
  missed?(topic: string | undefined): void;
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
  /** Whether other processes are behind it: then routers speak with each other over it, on the empty topic. */
  readonly spansProcesses?: boolean;
  /** What is known of the broker, where there is one. */
  readonly status?: PubSubStatus;
}

/** How a broker-backed pub/sub is doing. Counts are since the start. */
export interface PubSubStatus {
  /** Whether a publish is accepted and everything subscribed to is heard, as far as is known. */
  readonly connected: boolean;
  /** How often frames may have been lost on their way here, each told to those concerned. */
  readonly gaps: number;
  /** Messages on the bus that were not ours, too large, or no frames. */
  readonly refused: number;
}
