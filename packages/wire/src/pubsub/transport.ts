/** The interface between the logic that all brokers share (`broker.ts`) and the connections to one broker. */

/**
 * The name under which a transport carries the heartbeats between processes, on a channel apart from topics. No topic of
 * an application has it: topics with a lone surrogate are refused.
 */
export const HEARTBEATS = "\uD800";

/** Carries messages by topic over a broker. Connects at the first call and reconnects by itself. */
export interface Transport {
  /** Whether publishes can be sent and all subscriptions are active, as far as this process knows. */
  readonly isConnected: boolean;
  /** The largest message the broker accepts, in bytes; undefined when unknown. */
  readonly maxMessageBytes?: number | undefined;
  /** Resolves once the broker has confirmed the subscription. When it rejects, the topic is not subscribed. */
  subscribe(topic: string): Promise<void>;
  /** May be called while `subscribe` is pending: the later call wins. */
  unsubscribe(topic: string): Promise<void>;
  /** Resolves once the broker has accepted the message. Messages are sent in order. Rejects at once while disconnected. */
  publish(topic: string, message: string): Promise<unknown>;
  close(): Promise<void>;
}

/** The events a transport reports. */
export interface TransportEvents {
  /** A message of a topic has arrived. */
  received(topic: string, message: string): void;
  /** The subscriptions to these topics are lost. */
  lost(topics: Iterable<string>, reason: string): void;
  /** The lost subscriptions to these topics are active again. */
  restored(topics: Iterable<string>): void;
  /**
   * A connection for publishing that was lost at this monotonic time is restored, or replaced by one to another server.
   * Messages accepted before may be lost. `concerns` tells which topics used the connection; absent: all.
   */
  resumed(lostAt: number, concerns?: (topic: string) => boolean): void;
}
