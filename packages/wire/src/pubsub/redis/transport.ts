/** The transport over a single Redis server, with or without Sentinels. */
import type { Transport, TransportEvents, TransportSettings } from "../transport.ts";
import { topicChannel, topicOf, topicsOf } from "./channels.ts";
import { type ConnectionPairOptions, RedisConnectionPair } from "./connection-pair.ts";
import { RedisLogs } from "./logs.ts";

export interface RedisTransportOptions
  extends TransportSettings,
    Pick<ConnectionPairOptions, "openSubscriber" | "openPublisher"> {
  /** Whether a restarted server has every frame of the history. */
  readonly durable: boolean;
}

export class RedisTransport implements Transport {
  readonly logs: RedisLogs;
  readonly #prefix: string;
  readonly #connections: RedisConnectionPair;

  constructor(options: RedisTransportOptions, events: TransportEvents) {
    const { prefix, id, durable } = options;
    this.#prefix = prefix;
    this.#connections = new RedisConnectionPair(
      { ...options, isSharded: false, pingChannel: () => `${prefix}p:${id}` },
      {
        received: (channel, message) => events.received(topicOf(prefix, channel), message),
        lost: (channels, reason) => events.lost(topicsOf(prefix, channels), reason),
        restored: (channels) => events.restored(topicsOf(prefix, channels)),
        resumed: (lostAt) => events.resumed(lostAt),
        misplaced: () => undefined,
      },
    );
    this.logs = new RedisLogs({
      prefix,
      durable,
      isSharded: false,
      run: (_topic, call) => this.#connections.run(call),
    });
  }

  get isConnected(): boolean {
    return this.#connections.isConnected;
  }

  subscribe(topic: string): Promise<void> {
    return this.#connections.subscribe(topicChannel(this.#prefix, topic));
  }

  unsubscribe(topic: string): Promise<void> {
    return this.#connections.unsubscribe(topicChannel(this.#prefix, topic));
  }

  publish(topic: string, message: string): Promise<unknown> {
    return this.#connections.publish(topicChannel(this.#prefix, topic), message);
  }

  async close(): Promise<void> {
    this.#connections.close();
  }
}
