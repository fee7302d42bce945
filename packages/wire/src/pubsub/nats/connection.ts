/** The members of a NATS client that wire uses, so that the client library is not imported. */

/** The members of a NATS connection that wire uses. */
export interface NatsConnection {
  /** What the server reported about itself. */
  readonly info?:
    | { readonly server_id: string; readonly max_payload?: number; readonly cluster?: string | undefined }
    | undefined;
  /** Publishes to a subject. Without a subscriber, the server sends an empty message to the subject `reply`. */
  publish(subject: string, payload: string, options?: { reply?: string }): void;
  /** Subscribes to a subject. */
  subscribe(
    subject: string,
    options: {
      /** Called with each message, or with an error. */
      callback: (error: Error | null, message: { readonly subject: string; string(): string }) => void;
    },
  ): NatsSubscription;
  /** Resolves when the server has replied to a ping sent now, and so has received everything sent before. */
  flush(): Promise<void>;
  /** Reports lost and restored connections. */
  status(): AsyncIterable<{ readonly type: string }>;
  /** Resolves when the connection has ended for good. */
  closed(): Promise<unknown>;
  /** Whether the connection has ended for good. */
  isClosed(): boolean;
  /** Connects again. */
  reconnect(): Promise<void>;
}

export interface NatsSubscription {
  unsubscribe(): void;
}

/** For messages that are repeated. A connection that the application drains throws before it is closed. */
export function publishUnlessDraining(connection: NatsConnection, subject: string, text: string): void {
  if (connection.isClosed()) return;
  try {
    connection.publish(subject, text);
  } catch {
    // The next one is sent when there is a connection.
  }
}
