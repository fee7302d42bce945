/** The contract of what carries announcements between processes. It may lose and reorder messages: its users find by comparison what it loses. */

/** Receives the messages of a bus. */
export interface BusListener {
  /** A message of any process, this one included. */
  received(message: string): void;
  /** Messages may have been lost, also before the first one. From here on they arrive. */
  missed(): void;
  /** Once per outage: no message arrives until `missed` is called. A bus that cannot tell does not call it. */
  lost?(error: unknown): void;
}

/** Carries short texts to every process of an application. */
export interface Bus {
  /** Resolves once the bus has accepted the message; rejects when it has not. At most 6,000 bytes of UTF-8. */
  publish(message: string): Promise<void>;
  /** Starts to receive. Returns a function that stops. */
  subscribe(listener: BusListener): () => void;
}

/** A notification of PostgreSQL has less than 8,000. */
const MAX_MESSAGE_BYTES = 6000;

/** The messages for all items: as few as every bus carries. A single item must fit. */
export function packMessages<Item>(
  items: readonly Item[],
  toText: (items: readonly Item[]) => string,
): string[] {
  const text = toText(items);
  if (items.length === 1 || new TextEncoder().encode(text).length <= MAX_MESSAGE_BYTES) return [text];
  const middle = Math.ceil(items.length / 2);
  return [...packMessages(items.slice(0, middle), toText), ...packMessages(items.slice(middle), toText)];
}
