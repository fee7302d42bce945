/** Subscriptions of connections that are not complete: the authorizer or the pub/sub has not answered yet. */
import type { Connection } from "../contracts.ts";

/** All incomplete subscriptions of a connection to a topic since it last left the topic. */
export interface Join {
  /** Whether the connection left the topic after these calls, so that they must neither add nor remove it. */
  hasLeft: boolean;
  /** How many calls are incomplete. */
  calls: number;
}

const joins = new WeakMap<Connection, Map<string, Join>>();

/** Starts a call; `endJoin` ends it. */
export function startJoin(connection: Connection, topic: string): Join {
  const topics = joins.get(connection) ?? new Map<string, Join>();
  joins.set(connection, topics);
  const join = topics.get(topic) ?? { hasLeft: false, calls: 0 };
  topics.set(topic, join);
  join.calls++;
  return join;
}

export function endJoin(connection: Connection, topic: string, join: Join): void {
  if (--join.calls === 0 && !join.hasLeft) joins.get(connection)?.delete(topic);
}

/** The connection leaves the topic: calls made before this one no longer change anything. */
export function overtakeJoins(connection: Connection, topic: string): void {
  const topics = joins.get(connection);
  const join = topics?.get(topic);
  if (join === undefined) return;
  join.hasLeft = true;
  topics?.delete(topic);
}
