/** The messages between processes about presence: encoding in bounded parts, and checks of what arrives. */
import { isObject } from "../../protocol/checks.ts";
import { copyText } from "../../protocol/copy-text.ts";
import { type Entry, MAX_KEY_LENGTH, MAX_MEMBER_LENGTH } from "./entry.ts";
import type { RoomChange } from "./own-members.ts";

/** Asks who holds a room, and for their members. It also tells that the sender holds it. */
export interface Question {
  readonly topic: string;
  /** The version of the sender's own members, and whether it has none. */
  readonly version: number;
  readonly isEmpty: boolean;
  /** What the sender knows of the holders that it asks: their versions. */
  readonly known: readonly (readonly [peer: string, version: number])[];
}

/** What a holder tells of a room. */
export interface Answer {
  readonly topic: string;
  readonly version: number;
  /** Undefined when the version is the one that the question knew. */
  readonly entries: readonly Entry[] | undefined;
  /** The other processes that hold the room, as far as it knows. */
  readonly holders: readonly string[];
}

export type PresenceMessage = { readonly from: string } & (
  | { readonly is: "ask"; readonly id: number; readonly rooms: readonly Question[] }
  | {
      readonly is: "answer";
      readonly id: number;
      readonly part: number;
      readonly parts: number;
      /** The newest version of the sender: it does not hold rooms that were asked for and are not listed. */
      readonly version: number;
      readonly rooms: readonly Answer[];
    }
  | ({ readonly is: "changes" } & RoomChange)
);

/** A message is split above this many characters; one member or topic name may exceed it. */
const MAX_PART_LENGTH = 64_000;
const TYPE = "$ws:presence";
const PREFIX = `{"type":"${TYPE}"`;
const MAX_TOPIC_LENGTH = 1_024;
const MAX_PARTS = 4_096;
const MAX_ID_LENGTH = 64;
/** Of one room in one message. */
const MAX_HOLDERS = 1_000;
/** Type, kind and sender are at the start of a message. */
const MAX_HEAD_LENGTH = 128;

function encode(is: PresenceMessage["is"], from: string, fields: string): string {
  return `${PREFIX},"is":"${is}","from":${textOf(from)},${fields}}`;
}

const textOf = (value: unknown): string => JSON.stringify(value);

export function encodeAsk(from: string, id: number, rooms: readonly Question[]): string {
  const items = rooms.map(({ topic, version, isEmpty, known }) => [topic, version, isEmpty ? 1 : 0, known]);
  return encode("ask", from, `"id":${id},"rooms":${textOf(items)}`);
}

/** Splits questions into lists that fit into one message. The answer to each covers the rooms of that message alone. */
export function splitQuestions(questions: Iterable<Question>): Question[][] {
  return split([...questions], ({ topic, known }) => topic.length + 30 + known.length * 60);
}

/** A change that is larger than a message becomes several, which follow each other by version. */
export function encodeChange(from: string, change: RoomChange): string[] {
  const { topic, previous, version, joined, left, isLast } = change;
  const items = [
    ...joined.map((entry) => ({ joined: entryText(entry), left: "" })),
    ...left.map((key) => ({ joined: "", left: textOf(key) })),
  ];
  const parts = split(items, (item) => item.joined.length + item.left.length + 1);
  if (parts.length === 0) parts.push([]);
  let before = previous;
  return parts.map((part, index) => {
    const list = (of: "joined" | "left"): string =>
      part.flatMap((item) => (item[of] === "" ? [] : [item[of]])).join(",");
    const isEnd = index === parts.length - 1;
    const at = isEnd ? version : version - 1 + (index + 1) / (parts.length + 1);
    const fields = `"topic":${textOf(topic)},"previous":${before},"version":${at},"joined":[${list("joined")}],"left":[${list("left")}],"isLast":${isLast && isEnd}`;
    before = at;
    return encode("changes", from, fields);
  });
}

export function encodeAnswer(from: string, id: number, version: number, rooms: readonly Answer[]): string[] {
  const pieces = rooms.flatMap(answerTexts);
  const parts = split(pieces, (piece) => piece.length + 1);
  if (parts.length === 0) parts.push([]);
  return parts.map((part, index) =>
    encode(
      "answer",
      from,
      `"id":${id},"version":${version},"part":${index},"parts":${parts.length},"rooms":[${part.join(",")}]`,
    ),
  );
}

function answerTexts({ topic, version, entries, holders }: Answer): string[] {
  const head = `${textOf(topic)},${version},${textOf(holders)}`;
  if (entries === undefined) return [`[${head}]`];
  const parts = split(entries.map(entryText), (text) => text.length + 1);
  if (parts.length === 0) parts.push([]);
  return parts.map((part) => `[${head},[${part.join(",")}]]`);
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
  return text.slice(0, MAX_HEAD_LENGTH).includes(`"from":${textOf(id)}`);
}

/** Undefined when the text is not a valid message: any process with access to the broker can publish. */
export function decodePresence(text: string): PresenceMessage | undefined {
  if (!text.startsWith(PREFIX)) return undefined;
  try {
    const message: unknown = JSON.parse(text);
    return isObject(message) ? messageOf(message) : undefined;
  } catch {
    return undefined;
  }
}

function messageOf(message: Record<string, unknown>): PresenceMessage | undefined {
  const { is, version, id, part, parts } = message;
  const from = peerOf(message["from"]);
  if (from === undefined) return undefined;
  if (is === "changes") return changeOf(message, from);
  if (!isCount(id)) return undefined;
  if (is === "ask") {
    const rooms = listOf(message["rooms"], questionOf);
    return rooms && { from, is, id, rooms };
  }
  if (is !== "answer" || !isCount(version) || !isCount(part) || !isCount(parts)) return undefined;
  if (part >= parts || parts > MAX_PARTS) return undefined;
  const rooms = listOf(message["rooms"], answerOf);
  return rooms && { from, is, id, part, parts, version, rooms };
}

function changeOf(message: Record<string, unknown>, from: string): PresenceMessage | undefined {
  const { previous, version } = message;
  const topic = topicOf(message["topic"]);
  const joined = listOf(message["joined"], entryOf);
  const left = listOf(message["left"], keyOf);
  if (topic === undefined || !isCount(previous) || !isCount(version) || !joined || !left) return undefined;
  return { from, is: "changes", topic, previous, version, joined, left, isLast: message["isLast"] === true };
}

function questionOf(value: unknown): Question | undefined {
  if (!Array.isArray(value)) return undefined;
  const [first, version, isEmpty, list] = value as unknown[];
  const topic = topicOf(first);
  const known = listOf(list, knownOf);
  if (topic === undefined || !isCount(version) || !known) return undefined;
  return { topic, version, isEmpty: isEmpty === 1, known };
}

function knownOf(value: unknown): [string, number] | undefined {
  if (!Array.isArray(value)) return undefined;
  const [first, version] = value as unknown[];
  const peer = peerOf(first);
  return peer !== undefined && isCount(version) ? [peer, version] : undefined;
}

function answerOf(value: unknown): Answer | undefined {
  if (!Array.isArray(value)) return undefined;
  const [first, version, list, members] = value as unknown[];
  const topic = topicOf(first);
  const holders = listOf(list, peerOf);
  const entries = members === undefined ? undefined : listOf(members, entryOf);
  if (topic === undefined || !isCount(version) || !holders || holders.length > MAX_HOLDERS) return undefined;
  return members !== undefined && entries === undefined ? undefined : { topic, version, entries, holders };
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

function peerOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" && value.length <= MAX_ID_LENGTH
    ? copyText(value)
    : undefined;
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

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
