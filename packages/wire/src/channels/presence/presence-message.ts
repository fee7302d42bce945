/** The messages between processes about presence: encoding in bounded parts, and checks of what arrives. */
import { isObject } from "../../protocol/checks.ts";
import { copyText } from "../../protocol/copy-text.ts";
import { type Entry, MAX_KEY_LENGTH, MAX_MEMBER_LENGTH } from "./entry.ts";
import type { Batch, States, TopicChange } from "./own-members.ts";

/** Something a process says about its members. `version` is the newest version that it has published. */
export type PresenceMessage = { readonly from: string; readonly version: number } & (
  | { readonly is: "changes"; readonly previous: number; readonly changes: readonly TopicChange[] }
  | { readonly is: "ask"; readonly id: number; readonly topics: readonly string[] }
  | { readonly is: "since"; readonly id: number; readonly since: number }
  | ({ readonly is: "answer"; readonly id: number; readonly part: number; readonly parts: number } & Pick<
      States,
      "topics" | "isComplete"
    >)
);

/** A message is split above this many characters; one member or topic name may exceed it. */
const MAX_PART_LENGTH = 64_000;
const TYPE = "$ws:presence";
const PREFIX = `{"type":"${TYPE}"`;
const MAX_TOPIC_LENGTH = 1_024;
const MAX_PARTS = 4_096;
const MAX_ID_LENGTH = 64;
/** Type, kind and sender are at the start of a message. */
const MAX_HEAD_LENGTH = 128;

function encode(fields: string): string {
  return `${PREFIX},${fields}}`;
}

const textOf = (value: unknown): string => JSON.stringify(value);

export function encodeSince(from: string, version: number, id: number, since: number): string {
  return encode(`"is":"since","from":${textOf(from)},"version":${version},"id":${id},"since":${since}`);
}

/** Every message has the same id: the answer to each covers the topics of that message alone. */
export function encodeAsk(from: string, version: number, id: number, topics: readonly string[]): string {
  return encode(
    `"is":"ask","from":${textOf(from)},"version":${version},"id":${id},"topics":${textOf(topics)}`,
  );
}

/** Splits topics into lists that fit into one message. */
export function splitTopics(topics: Iterable<string>): string[][] {
  return split([...topics], (topic) => topic.length + 3);
}

/** One message for each part of the batch. The parts follow each other by version. */
export function encodeChanges(from: string, { previous, changes }: Batch): string[] {
  const pieces = changes.flatMap(splitChange);
  let before = previous;
  return split(pieces, ({ text }) => text.length).map((part) => {
    const version = part.at(-1)?.version ?? before;
    const message = encode(
      `"is":"changes","from":${textOf(from)},"previous":${before},"version":${version},"changes":[${part.map(({ text }) => text).join(",")}]`,
    );
    before = version;
    return message;
  });
}

/**
 * A change that is larger than a message becomes several. Only the last has the version of the change, so that a process
 * that misses one of them asks for the whole topic.
 */
function splitChange({ topic, version, joined, left }: TopicChange): { text: string; version: number }[] {
  const items = [
    ...joined.map((entry) => ({ joined: entryText(entry), left: "" })),
    ...left.map((key) => ({ joined: "", left: textOf(key) })),
  ];
  const parts = split(items, (item) => item.joined.length + item.left.length + 1);
  return parts.map((part, index) => {
    const list = (of: "joined" | "left"): string =>
      part.flatMap((item) => (item[of] === "" ? [] : [item[of]])).join(",");
    const isLast = index === parts.length - 1;
    const at = isLast ? version : version - 1 + (index + 1) / (parts.length + 1);
    return { text: `[${textOf(topic)},${at},[${list("joined")}],[${list("left")}]]`, version: at };
  });
}

export function encodeAnswer(from: string, id: number, states: States): string[] {
  const pieces: string[] = [];
  for (const [topic, entries] of states.topics) {
    const parts = split(entries.map(entryText), (text) => text.length + 1);
    for (const part of parts.length === 0 ? [[]] : parts)
      pieces.push(`[${textOf(topic)},[${part.join(",")}]]`);
  }
  const parts = split(pieces, (piece) => piece.length + 1);
  if (parts.length === 0) parts.push([]);
  return parts.map((part, index) =>
    encode(
      `"is":"answer","from":${textOf(from)},"version":${states.version},"id":${id},"part":${index},"parts":${parts.length},"isComplete":${states.isComplete},"topics":[${part.join(",")}]`,
    ),
  );
}

function entryText({ at, text }: Entry): string {
  return `[${at},${text}]`;
}

function split<T>(items: readonly T[], lengthOf: (item: T) => number): T[][] {
  const parts: T[][] = [];
  let part: T[] = [];
  let length = 0;
  for (const item of items) {
    const added = lengthOf(item);
    if (part.length > 0 && length + added > MAX_PART_LENGTH) {
      parts.push(part);
      part = [];
      length = 0;
    }
    part.push(item);
    length += added;
  }
  if (part.length > 0) parts.push(part);
  return parts;
}

// --- decoding ---

/** Whether this process sent the message, and learns nothing from it. */
export function isOwnEcho(text: string, id: string): boolean {
  return text.slice(0, MAX_HEAD_LENGTH).includes(id);
}

/**
 * Undefined when the text is not a valid message: any process with access to the broker can publish. Members of topics
 * that are not watched are left out.
 */
export function decodePresence(text: string, isWatched: IsWatched = () => true): PresenceMessage | undefined {
  if (!text.startsWith(PREFIX)) return undefined;
  try {
    const message: unknown = JSON.parse(text);
    return isObject(message) ? messageOf(message, isWatched) : undefined;
  } catch {
    return undefined;
  }
}

type IsWatched = (topic: string) => boolean;

function messageOf(message: Record<string, unknown>, isWatched: IsWatched): PresenceMessage | undefined {
  const { is, from, version, id, previous, since, part, parts } = message;
  if (typeof from !== "string" || from === "" || from.length > MAX_ID_LENGTH || !isCount(version))
    return undefined;
  const sender = { from: copyText(from), version };
  if (is === "changes") {
    const changes = listOf(message["changes"], (change) => changeOf(change, isWatched));
    return changes && isCount(previous) ? { ...sender, is, previous, changes } : undefined;
  }
  if (!isCount(id)) return undefined;
  if (is === "since") return isCount(since) ? { ...sender, is, id, since } : undefined;
  if (is === "ask") {
    const topics = listOf(message["topics"], topicOf);
    return topics && { ...sender, is, id, topics };
  }
  if (is !== "answer" || !isCount(part) || !isCount(parts) || part >= parts || parts > MAX_PARTS)
    return undefined;
  const states = listOf(message["topics"], stateOf);
  if (states === undefined) return undefined;
  const topics = new Map<string, Entry[]>();
  for (const [topic, entries] of states) {
    const known = topics.get(topic);
    if (known === undefined) topics.set(topic, [...entries]);
    else known.push(...entries);
  }
  return { ...sender, is, id, part, parts, topics, isComplete: message["isComplete"] === true };
}

function changeOf(value: unknown, isWatched: IsWatched): TopicChange | undefined {
  if (!Array.isArray(value)) return undefined;
  const [first, version, joinedList, leftList] = value as unknown[];
  const topic = topicOf(first);
  if (topic !== undefined && isCount(version) && !isWatched(topic))
    return { topic, version, joined: [], left: [] };
  const joined = listOf(joinedList, entryOf);
  const left = listOf(leftList, keyOf);
  return topic !== undefined && isCount(version) && joined && left
    ? { topic, version, joined, left }
    : undefined;
}

function stateOf(value: unknown): [string, readonly Entry[]] | undefined {
  if (!Array.isArray(value)) return undefined;
  const topic = topicOf(value[0]);
  const entries = listOf(value[1], entryOf);
  return topic !== undefined && entries ? [topic, entries] : undefined;
}

function entryOf(value: unknown): Entry | undefined {
  if (!Array.isArray(value)) return undefined;
  const [at, member] = value as unknown[];
  if (!isCount(at) || !isObject(member)) return undefined;
  const key = keyOf(member["key"]);
  // Written again: a part of the message's text would keep the whole message in memory.
  const text = JSON.stringify(member);
  return key === undefined || text.length > MAX_MEMBER_LENGTH ? undefined : { key, at, text };
}

function keyOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" && value.length <= MAX_KEY_LENGTH ? value : undefined;
}

function topicOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" && value.length <= MAX_TOPIC_LENGTH ? value : undefined;
}

/** Undefined when one item is invalid. */
function listOf<T>(value: unknown, itemOf: (item: unknown) => T | undefined): T[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const items: T[] = [];
  for (const each of value) {
    const item = itemOf(each);
    if (item === undefined) return undefined;
    items.push(item);
  }
  return items;
}

export function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
