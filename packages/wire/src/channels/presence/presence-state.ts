/**
 * The presence protocol of one process, without I/O, clock or randomness: what it learns from the messages of other
 * processes, and which messages follow.
 */
import type { PeerState } from "../../peers/peer-state.ts";
import type { Entry } from "./entry.ts";
import { MemberLists } from "./member-lists.ts";
import type { Batch, States, TopicChange } from "./own-members.ts";
import { PeerProcess } from "./peer-process.ts";
import type { PresenceMessage } from "./presence-message.ts";

/** An unanswered request is repeated after this time. */
const ASK_AGAIN_MS = 1_000;
/** How long answers to a request count. */
const KEEP_ASKS_MS = 5_000;
/** How long the other processes may take to announce themselves after an outage of the broker. */
const RECONNECT_MS = 2_500;
/** Any process with access to the broker can invent ids. */
const MAX_PEERS = 1_000;

/** Sends messages of this process, to all or to one other, and learns which lists may have changed. */
export interface PresenceOutput {
  changes(batch: Batch): void;
  ask(version: number, id: number, topics: readonly string[], to?: string): void;
  since(version: number, id: number, since: number, to: string): void;
  answer(id: number, states: States, to: string): void;
  /** The list of this topic, or whether it is complete, may have changed. Undefined: of all topics. */
  listChanged(topic: string | undefined): void;
  /** Splits the topics of a request into messages. */
  split(topics: Iterable<string>): readonly (readonly string[])[];
}

export class PresenceState {
  /** The lists of all watched topics. */
  readonly lists: MemberLists;
  readonly #id: string;
  readonly #output: PresenceOutput;
  readonly #connection: Pick<PeerState, "isCutOff" | "isSettled">;
  /** False when all servers are in this process: they answer within the call, and none dies without a message. */
  readonly #isRemote: boolean;
  /** Topics that are requested with the next message. */
  readonly #wanted = new Set<string>();
  /** Requests whose answers count, oldest first. */
  readonly #asks = new Map<number, { readonly topics: readonly string[]; readonly at: number }>();
  /** Processes that have stopped; late messages of them do not count. */
  readonly #stopped = new Set<string>();
  #lastId = 0;
  #wasCutOff: boolean;

  constructor(
    id: string,
    output: PresenceOutput,
    connection: Pick<PeerState, "isCutOff" | "isSettled">,
    isRemote: boolean,
  ) {
    this.lists = new MemberLists(id, (topic) => output.listChanged(topic));
    this.#id = id;
    this.#output = output;
    this.#connection = connection;
    this.#isRemote = isRemote;
    this.#wasCutOff = connection.isCutOff;
  }

  get #version(): number {
    return this.lists.own.version;
  }

  get #peers(): Map<string, PeerProcess> {
    return this.lists.peers;
  }

  // --- for this process ---

  /** Whether the list of the topic covers every live process. */
  isComplete(topic: string): boolean {
    if (this.#connection.isCutOff || !this.#connection.isSettled) return false;
    for (const peer of this.#peers.values())
      if (peer.isStale || peer.catchUp !== undefined || peer.unknown.has(topic)) return false;
    return true;
  }

  /** Learns the members of the topic in other processes, from now on. */
  watch(topic: string): void {
    if (!this.lists.watch(topic)) return;
    for (const peer of this.#peers.values()) {
      // A process that never had a member has none now, or publishes it.
      if (peer.leavesAt !== undefined || (peer.version === 0 && peer.catchUp === undefined)) continue;
      peer.needs(topic);
      this.#wanted.add(topic);
    }
  }

  unwatch(topic: string): void {
    this.lists.unwatch(topic);
    this.#wanted.delete(topic);
  }

  /** Whether watched topics wait for `ask`. */
  get hasWanted(): boolean {
    return this.#wanted.size > 0;
  }

  /** Requests the topics that were watched since the last call from all processes. */
  ask(now: number): void {
    if (this.#wanted.size === 0) return;
    const wanted = [...this.#wanted];
    this.#wanted.clear();
    for (const peer of this.#peers.values()) peer.askedAt = now;
    for (const topics of this.#output.split(wanted)) this.#ask(topics, now);
  }

  /** Publishes the changes since the last call. Without another process there is no receiver; a new one asks. */
  flush(): void {
    const batch = this.lists.own.flush();
    if (batch !== undefined && this.#peers.size > 0) this.#output.changes(batch);
  }

  // --- messages ---

  /** A sign of life, with the version up to which the process has published. */
  told(id: string, version: number, now: number): void {
    const peer = this.#heard(id, version, now);
    if (peer !== undefined) this.#verify(peer, version, now);
  }

  receive(message: PresenceMessage, now: number): void {
    if (message.from === this.#id) return;
    const known = message.is === "changes" ? message.previous : message.version;
    const peer = this.#heard(message.from, known, now);
    if (peer === undefined) return;
    if (message.is === "changes") this.#receiveChanges(peer, message, now);
    else if (message.is === "answer") this.#receiveAnswer(peer, message, now);
    else {
      this.flush();
      const { own } = this.lists;
      const states = message.is === "ask" ? own.statesOf(message.topics) : own.statesSince(message.since);
      this.#output.answer(message.id, states, peer.id);
    }
  }

  /** The process that says something; undefined when it does not count. */
  #heard(id: string, version: number, now: number): PeerProcess | undefined {
    if (this.#stopped.has(id)) return undefined;
    const known = this.#peers.get(id);
    if (known !== undefined) return known;
    if (this.#peers.size >= MAX_PEERS) return undefined;
    const peer = new PeerProcess(id, version);
    this.#peers.set(peer.id, peer);
    if (version > 0) {
      for (const topic of this.lists.topics) peer.needs(topic);
      this.#askAll(peer, now);
      this.#output.listChanged(undefined);
    }
    return peer;
  }

  /** The process has published up to this version: requests what is missing. */
  #verify(peer: PeerProcess, version: number, now: number): void {
    if (version > peer.version) this.#catchUp(peer, now);
    else if (version === peer.version && peer.isStale && peer.catchUp === undefined) {
      peer.isStale = false;
      this.#output.listChanged(undefined);
    }
  }

  #catchUp(peer: PeerProcess, now: number): void {
    if (peer.catchUp !== undefined && now - peer.catchUp.at < ASK_AGAIN_MS) return;
    peer.catchUp = { id: ++this.#lastId, at: now };
    this.#output.since(this.#version, peer.catchUp.id, peer.version, peer.id);
    this.#output.listChanged(undefined);
  }

  #receiveChanges(peer: PeerProcess, message: PresenceMessage & { is: "changes" }, now: number): void {
    if (message.version <= peer.version) return;
    if (message.previous > peer.version) return this.#catchUp(peer, now);
    for (const change of message.changes)
      if (change.version > peer.version && this.lists.isWatched(change.topic)) this.#apply(peer, change);
    peer.version = message.version;
    this.#verify(peer, message.version, now);
  }

  #apply(peer: PeerProcess, { topic, version, joined, left }: TopicChange): void {
    const least = peer.unknown.get(topic);
    // The state is on its way. One that does not cover this change is requested again.
    if (least !== undefined) return void peer.unknown.set(topic, Math.max(least, version));
    if (version <= peer.versionOf(topic)) return;
    for (const key of left) this.lists.setHeld(peer, topic, key, undefined);
    const fits = joined.every((entry) => this.lists.setHeld(peer, topic, entry.key, entry));
    peer.setVersion(topic, version);
    if (!fits) peer.needs(topic);
  }

  #receiveAnswer(peer: PeerProcess, message: PresenceMessage & { is: "answer" }, now: number): void {
    const { id, part, parts, version, isComplete } = message;
    const asked = this.#asks.get(id)?.topics;
    const isCatchUp = peer.catchUp?.id === id;
    if (asked === undefined && !isCatchUp) return;
    const watched = [...message.topics].filter(([topic]) => this.lists.isWatched(topic));
    const topics = peer.collect(id, part, parts, watched);
    if (topics === undefined) return;
    for (const topic of asked ?? topics.keys()) {
      this.#replace(peer, topic, topics.get(topic) ?? [], version);
      this.#output.listChanged(topic);
    }
    if (!isCatchUp) return;
    if (isComplete)
      for (const topic of [...peer.topics, ...peer.unknown.keys()])
        if (!topics.has(topic)) this.#replace(peer, topic, [], version);
    peer.catchUp = undefined;
    peer.version = Math.max(peer.version, version);
    this.#verify(peer, peer.version, now);
    this.#output.listChanged(undefined);
  }

  #replace(peer: PeerProcess, topic: string, entries: readonly Entry[], version: number): void {
    if (!this.lists.isWatched(topic) || version < (peer.unknown.get(topic) ?? peer.versionOf(topic))) return;
    peer.unknown.delete(topic);
    const keys = new Set(entries.map(({ key }) => key));
    for (const { key } of [...peer.entries(topic)])
      if (!keys.has(key)) this.lists.setHeld(peer, topic, key, undefined);
    const fits = entries.every((entry) => this.lists.setHeld(peer, topic, entry.key, entry));
    peer.setVersion(topic, version);
    if (!fits) peer.needs(topic);
  }

  // --- requests ---

  #ask(topics: readonly string[], now: number, to?: string): void {
    const id = ++this.#lastId;
    this.#asks.set(id, { topics, at: now });
    this.#output.ask(this.#version, id, topics, to);
    if (!this.#isRemote) this.#asks.delete(id);
  }

  #askAll(peer: PeerProcess, now: number): void {
    peer.askedAt = now;
    for (const topics of this.#output.split(peer.unknown.keys())) this.#ask(topics, now, peer.id);
  }

  #repeatRequests(now: number): void {
    for (const [id, { at }] of this.#asks) {
      if (now - at < KEEP_ASKS_MS) break;
      this.#asks.delete(id);
    }
    for (const peer of this.#peers.values()) {
      peer.dropAnswers((id) => this.#asks.has(id) || peer.catchUp?.id === id);
      if (peer.catchUp !== undefined) this.#catchUp(peer, now);
      if (peer.unknown.size > 0 && now - peer.askedAt >= ASK_AGAIN_MS) this.#askAll(peer, now);
    }
  }

  // --- other processes, and time ---

  /** Call it several times a second. Removes the members of processes that have stopped, repeats requests, publishes changes. */
  tick(now: number): void {
    if (!this.#connection.isCutOff)
      for (const peer of [...this.#peers.values()])
        if (peer.leavesAt !== undefined && now >= peer.leavesAt) this.#remove(peer);
    this.#repeatRequests(now);
    this.flush();
  }

  /** The process is dead. One that has stopped told until when its members stay. */
  gone(id: string): void {
    const peer = this.#peers.get(id);
    if (peer !== undefined && peer.leavesAt === undefined) this.#remove(peer);
  }

  #remove(peer: PeerProcess): void {
    this.lists.remove(peer);
    this.#output.listChanged(undefined);
  }

  /** Whether this process is cut off, or knows the others, may not be what it was. */
  connectionChanged(now: number): void {
    const { isCutOff } = this.#connection;
    if (isCutOff !== this.#wasCutOff) {
      this.#wasCutOff = isCutOff;
      for (const peer of this.#peers.values()) {
        // Changes may have been missed.
        if (peer.leavesAt === undefined) peer.isStale = true;
        else if (!isCutOff) peer.leavesAt = Math.max(peer.leavesAt, now + RECONNECT_MS);
      }
    }
    this.#output.listChanged(undefined);
  }

  /** The process stops. Its members leave at `leavesAt`, unless they have joined another process until then. */
  leaving(id: string, leavesAt: number): void {
    const peer = this.#peers.get(id);
    if (peer === undefined || this.#stopped.has(id)) return;
    this.#stopped.add(id);
    if (this.#stopped.size > MAX_PEERS)
      for (const oldest of this.#stopped) if (this.#stopped.delete(oldest)) break;
    peer.leavesAt = leavesAt;
    peer.catchUp = undefined;
    peer.unknown.clear();
    peer.isStale = false;
    this.#output.listChanged(undefined);
  }
}
