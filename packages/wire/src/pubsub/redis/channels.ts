/** The names of Redis channels: `<prefix>t:<topic>` for topics, `<prefix>h` for heartbeats, `<prefix>p:<process>` for self-pings. */
import { HEARTBEATS } from "../transport.ts";

export function topicChannel(prefix: string, topic: string): string {
  return topic === HEARTBEATS ? `${prefix}h` : `${prefix}t:${topic}`;
}

export function topicOf(prefix: string, channel: string): string {
  return channel.length === prefix.length + 1 ? HEARTBEATS : channel.slice(prefix.length + 2);
}

export function* topicsOf(prefix: string, channels: Iterable<string>): Iterable<string> {
  for (const channel of channels) yield topicOf(prefix, channel);
}
