/** Whether a message shows that the one before it is missing. */
import type { BrokerMessage } from "./broker-message.ts";
import type { KnownPublisher } from "./known-publishers.ts";
import { timeOf } from "./sequence-time.ts";
import type { Topic } from "./topic.ts";

/**
 * How long the first message of a publisher on a topic may take. A busy process reads it late, and then the previous one
 * seems to be published later than it was.
 */
const DELAY_MS = 100;
/** The same while the publisher's clock is not known yet. */
const UNKNOWN_DELAY_MS = 1_000;

/**
 * Whether this process should have received the previous message, but did not: it was published after the subscription
 * became complete. An earlier one was either not for this process, or is part of an outage that was announced.
 */
export function isGap(
  topic: Topic,
  publisher: KnownPublisher,
  message: BrokerMessage,
  order: "first" | "gap",
  now: number,
): boolean {
  const { previous, sequence, acceptedAgoMs } = message;
  if (previous === 0) return false;
  const known = publisher.publishedAt(previous);
  if (acceptedAgoMs !== undefined) return (known ?? now - acceptedAgoMs) > topic.completeSince;
  // This message was published before now, and the previous one that much earlier.
  const latest = now - timeOf(sequence - previous);
  if (order === "gap") return Math.min(latest, known ?? latest) > topic.completeSince;
  const delayMs = known === undefined ? UNKNOWN_DELAY_MS : DELAY_MS;
  return Math.min(latest, known ?? latest) - delayMs > topic.completeSince;
}
