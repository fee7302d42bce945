/** `natsPubSub()`: a pub/sub over NATS core. */
import { uuidv7 } from "@halyard/base";
import { type BrokerOptions, BrokerPubSub } from "../broker.ts";
import type { NatsConnection } from "./connection.ts";
import { NatsTransport } from "./transport.ts";

/** The options of `natsPubSub()`. */
export interface NatsPubSubOptions extends BrokerOptions {
  /** Prefix of every subject. Applications that share a NATS need different prefixes. Default `halyard.`. */
  readonly prefix?: string;
}

const DEFAULT_PREFIX = "halyard.";

/**
 * Carries topics between processes over NATS core. `close()` does not close the connection: it belongs to the application.
 * Set `maxReconnectAttempts: -1` on it; by default a NATS client stops reconnecting after about 20 s.
 *
 * @example
 * ```ts
 * import { createRouter } from "@halyard/wire";
 * import { natsPubSub } from "@halyard/wire/nats";
 * import { connect } from "@nats-io/transport-node";
 *
 * const connection = await connect({ servers: "localhost:4222", maxReconnectAttempts: -1 });
 * const router = createRouter({ pubsub: natsPubSub(connection) });
 * ```
 */
export function natsPubSub(connection: NatsConnection, options: NatsPubSubOptions = {}): BrokerPubSub {
  const { prefix = DEFAULT_PREFIX } = options;
  if (/[\s*>]/.test(prefix)) {
    throw new TypeError(`The prefix "${prefix}" cannot begin a NATS subject. Remove spaces, "*" and ">".`);
  }
  return new BrokerPubSub(
    "NATS pub/sub",
    (events, replyTimeoutMs, clock, onlyPublishes) =>
      new NatsTransport({ connection, prefix, id: uuidv7(), clock, replyTimeoutMs, onlyPublishes }, events),
    options,
  );
}
