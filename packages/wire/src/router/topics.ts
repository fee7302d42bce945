/** The topics of one connection: who may subscribe to what, and how many. */
import { WsError } from "../protocol/error.ts";
import type { AnyData, Connection } from "./connection.ts";
import type { ConnectionContext, Topics } from "./context.ts";
import type { ConnectionData } from "./peer.ts";

const MAX_TOPIC_LENGTH = 256;

/** Whether the connection may subscribe to the topic. */
export type AuthorizeTopic<Data extends ConnectionData = ConnectionData> = (
  ctx: ConnectionContext<Data>,
  topic: string,
) => boolean | Promise<boolean>;

export function isTopic(topic: unknown): topic is string {
  return typeof topic === "string" && topic.length > 0 && topic.length <= MAX_TOPIC_LENGTH;
}

/** Synchronous unless the authorizer or the pub/sub is not. Subscribing twice is one subscription. */
export function subscribe(
  connection: Connection,
  ctx: ConnectionContext<AnyData>,
  topic: string,
): void | Promise<void> {
  if (!isTopic(topic)) {
    throw new WsError("INVALID_ARGUMENT", `A topic is a string of 1 to ${MAX_TOPIC_LENGTH} characters.`);
  }
  if (connection.topics?.has(topic)) return connection.server.confirmed(topic);
  const { authorizeTopic } = connection.server.options;
  const allowed = authorizeTopic === undefined || authorizeTopic(ctx, topic);
  if (typeof allowed === "boolean") return admit(connection, topic, allowed);
  return allowed.then((verdict) => admit(connection, topic, verdict));
}

function admit(connection: Connection, topic: string, allowed: boolean): void | Promise<void> {
  if (allowed !== true)
    throw new WsError("PERMISSION_DENIED", "This connection may not subscribe to the topic.");
  // Checked here and not before: authorizing may have taken a while.
  if (!connection.isOpen) return;
  if (connection.topics?.has(topic)) return connection.server.confirmed(topic);
  const limit = connection.server.options.maxTopicsPerConnection;
  connection.topics ??= new Set();
  if (connection.topics.size >= limit) {
    throw new WsError("RESOURCE_EXHAUSTED", `A connection has at most ${limit} topics.`, undefined, {
      retryable: false,
    });
  }
  connection.topics.add(topic);
  connection.socket.changed?.("topics");
  return connection.server.subscribe(connection, topic);
}

export function unsubscribe(connection: Connection, topic: string): void | Promise<void> {
  if (!connection.topics?.delete(topic)) return;
  connection.socket.changed?.("topics");
  return connection.server.unsubscribe(connection, topic);
}

/** `ctx.topics`. */
export class ConnectionTopics implements Topics {
  readonly #connection: Connection;
  readonly #ctx: ConnectionContext<AnyData>;

  constructor(connection: Connection, ctx: ConnectionContext<AnyData>) {
    this.#connection = connection;
    this.#ctx = ctx;
  }

  async subscribe(topic: string): Promise<void> {
    await subscribe(this.#connection, this.#ctx, topic);
  }

  async subscribeMany(topics: Iterable<string>): Promise<void> {
    for (const topic of topics) await subscribe(this.#connection, this.#ctx, topic);
  }

  async unsubscribe(topic: string): Promise<void> {
    await unsubscribe(this.#connection, topic);
  }

  has(topic: string): boolean {
    return this.#connection.topics?.has(topic) ?? false;
  }

  list(): readonly string[] {
    return [...(this.#connection.topics ?? [])];
  }
}
