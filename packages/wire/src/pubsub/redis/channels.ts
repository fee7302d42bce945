/**
 * The names of Redis channels: `<prefix>t:<topic>` for topics, `<prefix>w:<topic>` or `<prefix>w{<channel>}` for what goes
 * with a topic, `<prefix>h` for heartbeats, `<prefix>p:<process>` for self-pings; and of the keys of a topic's log.
 */
import { accompaniedBy, companionOf } from "../companion.ts";
import { HEARTBEATS } from "../transport.ts";
import { hashTag } from "./channel-slot.ts";

export function topicChannel(prefix: string, topic: string): string {
  const accompanied = accompaniedBy(topic);
  if (accompanied !== undefined) return companionChannel(prefix, accompanied);
  return topic === HEARTBEATS ? `${prefix}h` : `${prefix}t:${topic}`;
}

/** In the slot of the topic's channel: that is decided by the part in braces, or else by the whole name. */
function companionChannel(prefix: string, topic: string): string {
  const channel = topicChannel(prefix, topic);
  return hashTag(channel) === channel ? `${prefix}w{${channel}}` : `${prefix}w:${topic}`;
}

export function topicOf(prefix: string, channel: string): string {
  const kind = channel.slice(prefix.length, prefix.length + 2);
  const name = channel.slice(prefix.length + 2);
  if (kind === "h") return HEARTBEATS;
  if (kind === "w:") return companionOf(name);
  return kind === "w{" ? companionOf(topicOf(prefix, name.slice(0, -1))) : name;
}

export function* topicsOf(prefix: string, channels: Iterable<string>): Iterable<string> {
  for (const channel of channels) yield topicOf(prefix, channel);
}

/**
 * The keys of a topic's log: a hash with the epoch, the newest offset, and the server that wrote last; a stream with the
 * frames; a hash with the ids of appends. In a cluster, they are in the slot of the topic's channel, so that one script can
 * use all of them.
 */
export function logKeys(prefix: string, topic: string): Readonly<Record<"epoch" | "log" | "ids", string>> {
  const channel = topicChannel(prefix, topic);
  const tag = hashTag(channel);
  const name = tag === channel ? `{${channel}}` : `{${tag}}:${topic}`;
  return { epoch: `${prefix}e:${name}`, log: `${prefix}l:${name}`, ids: `${prefix}i:${name}` };
}
