/**
 * The presence protocol of one process, without I/O, clock or randomness: what it learns from the messages of other
 * processes, which messages follow, and which processes live.
 */
import type { Entry } from "./entry.ts";
import { MemberLists } from "./member-lists.ts";
import type { Batch, States, TopicChange } from "./own-members.ts";
import { PeerProcess } from "./peer-process.ts";
import type { PresenceMessage } from "./presence-message.ts";

/** Interval of the messages that tell other processes that this one lives. */
const HEARTBEAT_MS = 500;
/**
 * A process that was silent for this long is dead, and its members leave. Peers are promised 5 s after the last sign of
 * life; the rest is for the tick, the coalescing of changes, and a busy event loop.
 */
const DEAD_AFTER_MS = 3_000;
/** The same after an outage of the broker: the other processes may take longer to reconnect. */
const DEAD_AFTER_OUTAGE_MS = 4_000;
/** Without its own heartbeats for this long, this process is cut off from the broker. */
const ECHO_TIMEOUT_MS = 2_000;
/** An unanswered request is repeated after this time. */
const ASK_AGAIN_MS = 1_000;
/** How long answers to a request count. */
const KEEP_ASKS_MS = 5_000;
/** How long the other processes may take to answer the first message, before this process counts them as known. */
const SETTLE_MS = 300;
/** How long the other processes may take to announce themselves after an outage of the broker. */
const RECONNECT_MS = 2_500;
/** Any process with access to the broker can invent ids. */
const MAX_PEERS = 1_000;

/** Sends messages of this process, to all or to one other, and learns which lists may have changed. */
export interface PresenceOutput {
  alive(version: number, hello: boolean, to?: string): void;
  changes(batch: Batch): void;
  ask(version: number, id: number, topics: readonly string[], to?: string): void;
  since(version: number, id: number, since: number, to: string): void;
  answer(id: number, states: States, to: string): void;
  /** The list of this topic, or whether it is complete, may have changed. Undefined: of all topics. */
  changed(topic: string | undefined): void;
  /** Splits the topics of a request into messages. */
  split(topics: Iterable<string>): readonly (readonly string[])[];
}

export class PresenceState {
  /** The lists of all watched topics. */
  readonly lists: MemberLists;
  readonly #id: string;
  readonly #output: PresenceOutput;
  /** False when all servers are in this process: they answer within the call, and none dies without a message. */
  readonly #isRemote: boolean;
  /** Topics that are requested with the next message. */
  readonly #wanted = new Set<string>();
  /** Requests whose answers count, oldest first. */
  readonly #asks = new Map<number, { readonly topics: readonly string[]; readonly at: number }>();
  /** Processes that have stopped; late messages of them do not count. */
  readonly #stopped = new Set<string>();
  #lastId = 0;
  #beatAt: number = Number.NEGATIVE_INFINITY;
  #echoAt: number = Number.NEGATIVE_INFINITY;
  #settlesAt: number = Number.POSITIVE_INFINITY;
  #isCutOff: boolean;
  #isSettled: boolean;

  constructor(id: string, output: PresenceOutput, isRemote: boolean) {
    this.lists = new MemberLists(id, (topic) => output.changed(topic));
    this.#id = id;
    this.#output = output;
    this.#isRemote = isRemote;
    this.#isCutOff = isRemote;
    this.#isSettled = !isRemote;
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
    if (this.#isCutOff || !this.#isSettled) return false;
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

  /** The subscriptions are active: announces this process, so that the others tell their versions. */
  start(now: number): void {
    this.#beatAt = now;
    this.#output.alive(this.#version, true);
  }

  /** Messages may be missing: asks the other processes for their versions. */
  missed(): void {
    if (this.#isRemote) this.#output.alive(this.#version, true);
  }

  // --- messages ---

  receive(message: PresenceMessage, now: number): void {
    if (message.from === this.#id) {
      if (message.is === "alive") this.#echo(now);
      return;
    }
    const peer = this.#heard(message, now);
    if (peer === undefined) return;
    if (message.is === "alive") {
      if (message.hello) this.#output.alive(this.#version, false, peer.id);
      this.#verify(peer, message.version, now);
    } else if (message.is === "changes") this.#receiveChanges(peer, message, now);
    else if (message.is === "answer") this.#receiveAnswer(peer, message, now);
    else if (message.is === "bye") this.#stop(peer, now + message.graceMs);
    else {
      this.flush();
      const { own } = this.lists;
      const states = message.is === "ask" ? own.statesOf(message.topics) : own.statesSince(message.since);
      this.#output.answer(message.id, states, peer.id);
    }
  }

  /** The process that sent the message; undefined when it does not count. */
  #heard(message: PresenceMessage, now: number): PeerProcess | undefined {
    if (this.#stopped.has(message.from)) return undefined;
    const known = this.#peers.get(message.from);
    if (known !== undefined) {
      known.heardAt = Math.max(known.heardAt, now);
      return known;
    }
    if (this.#peers.size >= MAX_PEERS) return undefined;
    const version = message.is === "changes" ? message.previous : message.version;
    const peer = new PeerProcess(message.from, version, now);
    this.#peers.set(peer.id, peer);
    if (version > 0) {
      for (const topic of this.lists.topics) peer.needs(topic);
      this.#askAll(peer, now);
      this.#output.changed(undefined);
    }
    return peer;
  }

  /** The process has published up to this version: requests what is missing. */
  #verify(peer: PeerProcess, version: number, now: number): void {
    if (version > peer.version) this.#catchUp(peer, now);
    else if (version === peer.version && peer.isStale && peer.catchUp === undefined) {
      peer.isStale = false;
      this.#output.changed(undefined);
    }
  }

  #catchUp(peer: PeerProcess, now: number): void {
    if (peer.catchUp !== undefined && now - peer.catchUp.at < ASK_AGAIN_MS) return;
    peer.catchUp = { id: ++this.#lastId, at: now };
    this.#output.since(this.#version, peer.catchUp.id, peer.version, peer.id);
    this.#output.changed(undefined);
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
      this.#output.changed(topic);
    }
    if (!isCatchUp) return;
    if (isComplete)
      for (const topic of [...peer.topics, ...peer.unknown.keys()])
        if (!topics.has(topic)) this.#replace(peer, topic, [], version);
    peer.catchUp = undefined;
    peer.version = Math.max(peer.version, version);
    this.#verify(peer, peer.version, now);
    this.#output.changed(undefined);
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

  // --- time ---

  /** Call it several times a second. Removes dead processes, repeats requests, publishes changes and heartbeats. */
  tick(now: number): void {
    if (this.#isRemote) this.#setCutOff(now - this.#echoAt >= ECHO_TIMEOUT_MS, now);
    if (!this.#isSettled && now >= this.#settlesAt) {
      this.#isSettled = true;
      this.#output.changed(undefined);
    }
    // A silent process is not dead while this one cannot receive.
    if (!this.#isCutOff)
      for (const peer of [...this.#peers.values()]) if (this.#hasEnded(peer, now)) this.#remove(peer);
    this.#repeatRequests(now);
    this.flush();
    if (!this.#isRemote || now - this.#beatAt < HEARTBEAT_MS) return;
    this.#beatAt = now;
    this.#output.alive(this.#version, false);
  }

  #hasEnded({ leavesAt, heardAt }: PeerProcess, now: number): boolean {
    if (leavesAt !== undefined) return now >= leavesAt;
    return this.#isRemote && now - heardAt >= DEAD_AFTER_MS;
  }

  #remove(peer: PeerProcess): void {
    this.lists.remove(peer);
    this.#output.changed(undefined);
  }

  /** A heartbeat of this process came back from the broker: it can send and receive. */
  #echo(now: number): void {
    this.#echoAt = now;
    if (this.#settlesAt === Number.POSITIVE_INFINITY) this.#settlesAt = now + SETTLE_MS;
    this.#setCutOff(false, now);
  }

  #setCutOff(isCutOff: boolean, now: number): void {
    if (isCutOff === this.#isCutOff) return;
    this.#isCutOff = isCutOff;
    for (const peer of this.#peers.values()) {
      // The time without a broker is no silence, but changes may have been missed in it.
      if (!isCutOff) peer.heardAt = now + DEAD_AFTER_OUTAGE_MS - DEAD_AFTER_MS;
      if (peer.leavesAt === undefined) peer.isStale = true;
      else if (!isCutOff) peer.leavesAt = Math.max(peer.leavesAt, now + RECONNECT_MS);
    }
    this.#output.changed(undefined);
  }

  /** The process stops. Its members leave at `leavesAt`, unless they have joined another process until then. */
  #stop(peer: PeerProcess, leavesAt: number): void {
    this.#stopped.add(peer.id);
    if (this.#stopped.size > MAX_PEERS)
      for (const oldest of this.#stopped) if (this.#stopped.delete(oldest)) break;
    peer.leavesAt = leavesAt;
    peer.catchUp = undefined;
    peer.unknown.clear();
    peer.isStale = false;
    this.#output.changed(undefined);
  }
}
