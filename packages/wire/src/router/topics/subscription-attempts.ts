/** Subscriptions of connections that are not complete: the authorizer or the pub/sub has not answered yet. */
import type { Connection } from "../contracts.ts";

/** All incomplete subscriptions of a connection to a topic since it last left the topic. */
export interface SubscriptionAttempts {
  /** Whether the connection left the topic after these calls, so that they must neither add nor remove it. */
  hasLeft: boolean;
  /** How many calls are incomplete. */
  calls: number;
}

const attemptsOf = new WeakMap<Connection, Map<string, SubscriptionAttempts>>();

/** Starts a call; `endAttempt` ends it. */
export function startAttempt(connection: Connection, topic: string): SubscriptionAttempts {
  const topics = attemptsOf.get(connection) ?? new Map<string, SubscriptionAttempts>();
  attemptsOf.set(connection, topics);
  const attempts = topics.get(topic) ?? { hasLeft: false, calls: 0 };
  topics.set(topic, attempts);
  attempts.calls++;
  return attempts;
}

export function endAttempt(connection: Connection, topic: string, attempts: SubscriptionAttempts): void {
  if (--attempts.calls === 0 && !attempts.hasLeft) attemptsOf.get(connection)?.delete(topic);
}

/** The connection leaves the topic: calls made before this one no longer change anything. */
export function overtakeAttempts(connection: Connection, topic: string): void {
  const topics = attemptsOf.get(connection);
  const attempts = topics?.get(topic);
  if (attempts === undefined) return;
  attempts.hasLeft = true;
  topics?.delete(topic);
}
