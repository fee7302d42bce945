/**
 * The names of Redis channels: `<prefix>t:<topic>` for topics, `<prefix>h` for heartbeats, `<prefix>p:<process>` for
 * self-pings; and of the keys of a topic's log.
 */
import { HEARTBEATS } from "../transport.ts";
import { hashTag } from "./channel-slot.ts";

export function topicChannel(prefix: string, topic: string): string {
  return topic === HEARTBEATS ? `${prefix}h` : `${prefix}t:${topic}`;
}

export function topicOf(prefix: string, channel: string): string {
  return channel.length === prefix.length + 1 ? HEARTBEATS : channel.slice(prefix.length + 2);
}

export function* topicsOf(prefix: string, channels: Iterable<string>): Iterable<string> {
  for (const channel of channels) yield topicOf(prefix, channel);
}

/** The keys of a topic's log. */
export interface LogKeys {
  /** A hash: the epoch, the newest offset, and the server that wrote last. */
  readonly epoch: string;
  /** A stream: the frames. */
  readonly log: string;
  /** A hash: the ids of appends. */
  readonly ids: string;
}

/** In a cluster, the keys are in the slot of the topic's channel, so that one script can use all of them. */
export function logKeys(prefix: string, topic: string): LogKeys {
  const channel = topicChannel(prefix, topic);
  const tag = hashTag(channel);
  const name = tag === channel ? `{${channel}}` : `{${tag}}:${topic}`;
  return { epoch: `${prefix}e:${name}`, log: `${prefix}l:${name}`, ids: `${prefix}i:${name}` };
}
