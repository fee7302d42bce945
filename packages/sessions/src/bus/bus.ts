/** The contract of what carries announcements between processes. It may lose and reorder messages; the floor finds what it loses. */

/** Receives the messages of a bus. */
export interface SessionBusListener {
  /** A message of any process, this one included. */
  received(message: string): void;
  /** Messages may have been lost, also before the first one. */
  missed(): void;
}

/** Carries short texts to every process of an application. */
export interface SessionBus {
  /** Resolves once the bus has accepted the message; rejects when it has not. At most 6,000 characters. */
  publish(message: string): Promise<void>;
  /** Starts to receive. Returns a function that stops. */
  subscribe(listener: SessionBusListener): () => void;
}
