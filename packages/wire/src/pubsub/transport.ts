/** The seam between the logic that all brokers share and one broker's connections. */

/** Carries texts by topic over a broker. Opens its connections at the first call, and again whenever they are lost. */
export interface Transport {
  /** Whether a publish goes out now and everything subscribed to is heard, as far as is known. */
  readonly isConnected: boolean;
  /** The largest message the broker takes, in bytes, where it tells. */
  readonly maxMessageBytes?: number | undefined;
  /** Resolves once the broker has confirmed it. Rejects when it cannot be confirmed in time, and forgets the topic then. */
  subscribe(topic: string): Promise<void>;
  /** After a `subscribe` that is under way, the later call counts. */
  unsubscribe(topic: string): Promise<void>;
  /** Resolves once the broker has accepted it; calls are sent in order. Rejects at once while there is no connection. */
  publish(topic: string, message: string): Promise<unknown>;
  close(): Promise<void>;
}

/** What a transport tells. */
export interface TransportEvents {
  heard(topic: string, message: string): void;
  /** Nothing of these topics is heard from now on. */
  lost(topics: Iterable<string>, reason: string): void;
  /** These topics, lost before, are subscribed to again. */
  restored(topics: Iterable<string>): void;
  /**
   * A connection for publishing is back, lost at that time by the monotonic clock: what was accepted just before may have
   * perished with the broker.
   */
  resumed(lostAt: number): void;
}
