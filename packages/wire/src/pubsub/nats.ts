/** Pub/sub over NATS core. */
import { uuidv7 } from "../protocol/uuid.ts";
import { type BrokerOptions, BrokerPubSub } from "./broker.ts";
import { type NatsConnection, NatsTransport } from "./nats-transport.ts";

export interface NatsPubSubOptions extends BrokerOptions {
  /** Begins every subject. Applications that share a NATS need different ones. Default `halyard.`. */
  readonly prefix?: string;
}

const DEFAULT_PREFIX = "halyard.";

/**
 * Carries topics between processes over NATS core. The connection stays the application's: it is not closed by `close()`.
 * Give it `maxReconnectAttempts: -1`; by default a NATS client gives up for good after 20 seconds.
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
    throw new TypeError(`The prefix "${prefix}" is no beginning of a NATS subject: no spaces, "*" or ">".`);
  }
  const id = uuidv7();
  return new BrokerPubSub(
    "NATS pub/sub",
    (events, replyTimeoutMs, clock) =>
      new NatsTransport({ connection, prefix, id, clock, replyTimeoutMs }, events),
    options,
  );
}
