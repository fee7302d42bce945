/** A single Redis server, or one behind Sentinels, as a transport. */
import type { Clock } from "../router/clock.ts";
import type { Heard, RedisConnection } from "./redis-connection.ts";
import { RedisLink } from "./redis-link.ts";
import type { Transport, TransportEvents } from "./transport.ts";

export interface RedisTransportOptions {
  readonly listen: (heard: Heard) => Promise<RedisConnection>;
  readonly speak: (heard: Heard) => Promise<RedisConnection>;
  readonly prefix: string;
  /** Names this process on the broker. */
  readonly id: string;
  readonly clock: Clock;
  readonly replyTimeoutMs: number;
}

/** Topics and our own pings are kept apart by a letter. */
export function topicChannel(prefix: string, topic: string): string {
  return `${prefix}t:${topic}`;
}

export function* topicsOf(prefix: string, channels: Iterable<string>): Iterable<string> {
  const { length } = topicChannel(prefix, "");
  for (const channel of channels) yield channel.slice(length);
}

export class RedisTransport implements Transport {
  readonly #prefix: string;
  readonly #link: RedisLink;

  constructor(options: RedisTransportOptions, events: TransportEvents) {
    const { prefix, id } = options;
    const { length } = topicChannel(prefix, "");
    this.#prefix = prefix;
    this.#link = new RedisLink(
      { ...options, isSharded: false, pingChannel: () => `${prefix}p:${id}` },
      {
        heard: (channel, message) => events.heard(channel.slice(length), message),
        lost: (channels, reason) => events.lost(topicsOf(prefix, channels), reason),
        restored: (channels) => events.restored(topicsOf(prefix, channels)),
        resumed: (lostAt) => events.resumed(lostAt),
        misplaced: () => undefined,
      },
    );
  }

  get isConnected(): boolean {
    return this.#link.isConnected;
  }

  subscribe(topic: string): Promise<void> {
    return this.#link.subscribe(topicChannel(this.#prefix, topic));
  }

  unsubscribe(topic: string): Promise<void> {
    return this.#link.unsubscribe(topicChannel(this.#prefix, topic));
  }

  publish(topic: string, message: string): Promise<unknown> {
    return this.#link.publish(topicChannel(this.#prefix, topic), message);
  }

  async close(): Promise<void> {
    this.#link.close();
  }
}
