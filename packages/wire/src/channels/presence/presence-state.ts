/**
 * The presence protocol of one process, without I/O, clock or randomness: what it learns from the messages of other
 * processes, and which messages follow.
 */
import type { PeerState } from "../../peers/peer-state.ts";
import type { Entry } from "./entry.ts";
import type { Holder } from "./holder.ts";
import { type MemberList, MemberLists } from "./member-lists.ts";
import type { RoomChange } from "./own-members.ts";
import type { Answer, PresenceMessage, Question } from "./presence-message.ts";
import { ASK_AGAIN_MS, type QuestionOutput, Questions } from "./questions.ts";
import type { Search } from "./search.ts";

/** How long the other processes may take to announce themselves after an outage of the broker. */
const RECONNECT_MS = 2_500;
/** How many processes that have gone or stopped are remembered. */
const MAX_REMEMBERED = 1_000;

/** Sends messages of this process, and learns which lists may have changed. */
export interface PresenceOutput extends QuestionOutput {
  /** Subscribes to the topics of the search, then calls `entered`; `refused` for a topic that cannot be subscribed. */
  enter(search: Search): void;
  /** The room is not watched any more. */
  release(topic: string): void;
  /** Publishes on the room's topic. One that is not published is passed to `unsent`. */
  change(change: RoomChange): void;
  answer(id: number, version: number, rooms: readonly Answer[], to: string): void;
}

/** What presence reads of the other processes. */
export type Connection = Pick<PeerState, "isCutOff" | "isSettled" | "expect">;

export class PresenceState {
  /** The lists of all watched topics. */
  readonly lists: MemberLists;
  readonly #id: string;
  readonly #output: PresenceOutput;
  readonly #connection: Connection;
  /** False when all servers are in this process: they answer within the call, and none dies without a message. */
  readonly #isRemote: boolean;
  /** The other processes that have presence and live. */
  readonly #live = new Set<string>();
  /** Processes that were dead. They may come back. */
  readonly #gone = new Set<string>();
  /** When the members of processes that have stopped leave, in monotonic ms. Late messages of them do not count. */
  readonly #stopped = new Map<string, number>();
  /** Topics whose holders are searched next. */
  readonly #wanted = new Set<string>();
  readonly #questions: Questions;
  /** The last changes of rooms that are not watched any more, which could not be published. */
  readonly #unsent = new Map<string, RoomChange>();

  constructor(id: string, output: PresenceOutput, connection: Connection, isRemote: boolean) {
    this.lists = new MemberLists(id, (topic) => output.listChanged(topic));
    this.#id = id;
    this.#output = output;
    this.#connection = connection;
    this.#isRemote = isRemote;
    this.#questions = new Questions(this.lists, output, connection, this.#live);
  }

  // --- for this process ---

  /** Whether the list of the topic has the members of every holder. */
  isComplete(topic: string): boolean {
    const list = this.lists.get(topic);
    if (this.#connection.isCutOff || list === undefined) return false;
    if (list.searches.size > 0 || this.#wanted.has(topic)) return false;
    for (const { least } of list.holders.values()) if (least !== undefined) return false;
    return true;
  }

  /** Learns the members of the topic in other processes, from now on. */
  watch(topic: string): void {
    const list = this.lists.watch(topic);
    if (list === undefined) return;
    // Answers to questions of an earlier time do not count.
    list.missedAfter = this.#questions.lastId;
    this.#wanted.add(topic);
    this.#unsent.delete(topic);
  }

  unwatch(topic: string): void {
    const list = this.lists.get(topic);
    if (list === undefined) return;
    for (const holder of list.holders.values()) this.#questions.known(holder);
    this.#questions.abandon(list);
    this.lists.unwatch(topic);
    this.#wanted.delete(topic);
    this.#output.release(topic);
  }

  /** Whether watched topics wait for `ask`. */
  get hasWanted(): boolean {
    return this.#wanted.size > 0;
  }

  /** Searches the holders of the topics that were watched since the last call, and asks those that are due. */
  ask(now: number): void {
    if (this.#connection.isCutOff) return;
    if (this.#wanted.size > 0) this.flush();
    const wanted = [...this.#wanted];
    // One question to each process costs less than one in each room, once it is known who lives.
    const isMany = this.#isRemote && wanted.length > this.#live.size + 1;
    if (!isMany || this.#connection.isSettled) this.#wanted.clear();
    if (!isMany) for (const topic of wanted) this.#questions.seek(topic, now);
    else if (this.#connection.isSettled) this.#output.enter(this.#questions.begin(wanted, now));
    this.#questions.askHolders(now);
  }

  /** What is asked on the topic, once it is subscribed: until then, members may join and leave. */
  questionsAbout(topic: string): Question[] {
    this.flush();
    const question = this.#questions.question(topic);
    return question === undefined ? [] : [question];
  }

  /** The topics of the search are subscribed: all live processes are asked. */
  entered(search: Search, now: number): void {
    this.#questions.askAll(search, this.#live, now);
  }

  /** Whether another process has received the question; undefined when the broker cannot tell. */
  sought(search: Search, hasOthers: boolean | undefined, now: number): void {
    this.#questions.sought(search, hasOthers, now);
  }

  /** The topic could not be subscribed: it is tried again. */
  refused(topic: string): void {
    const list = this.lists.get(topic);
    if (list === undefined) return;
    this.#questions.abandon(list);
    this.#wanted.add(topic);
  }

  /** Publishes the changes since the last call. Without another holder there is no receiver; a new one asks. */
  flush(): void {
    for (const change of this.lists.own.flush())
      if (this.#mayHaveReceivers(change.topic)) this.#output.change(change);
  }

  #mayHaveReceivers(topic: string): boolean {
    const list = this.lists.get(topic);
    if (list === undefined || list.searches.size > 0 || this.#wanted.has(topic)) return true;
    for (const { holds } of list.holders.values()) if (holds) return true;
    return false;
  }

  /** Other processes have not received the change. A question tells them that they miss something. */
  unsent(change: RoomChange, now: number): void {
    if (this.lists.get(change.topic) !== undefined) this.missed(change.topic, now);
    else if (change.isLast) this.#unsent.set(change.topic, change);
  }

  /** Messages about the topic may be missing, or about all of them. */
  missed(topic: string | undefined, now: number): void {
    if (!this.#isRemote) return;
    for (const missed of topic === undefined ? [...this.lists.topics] : [topic]) {
      const list = this.lists.get(missed);
      if (list === undefined) continue;
      this.refused(missed);
      list.missedAfter = this.#questions.lastId;
      for (const holder of list.holders.values()) {
        if (!holder.holds || this.#stopped.has(holder.peer)) continue;
        holder.attempts = 0;
        this.#questions.need(holder, now + ASK_AGAIN_MS);
      }
    }
    this.#output.listChanged(topic);
  }

  // --- messages ---

  receive(message: PresenceMessage, now: number): void {
    if (message.from === this.#id || !this.#heard(message.from, now)) return;
    if (message.is === "changes") this.#receiveChanges(message, now);
    else if (message.is === "answer") this.#receiveAnswer(message, now);
    else this.#receiveAsk(message, now);
  }

  /** A sign of life of a process that has presence. */
  told(peer: string, now: number): void {
    this.#heard(peer, now);
  }

  /** Whether the process counts. */
  #heard(peer: string, now: number): boolean {
    if (this.#stopped.has(peer)) return false;
    if (this.#live.has(peer)) return true;
    if (!this.#connection.expect(peer, now)) return false;
    this.#live.add(peer);
    // Its members were removed, and it does not know that.
    if (this.#gone.delete(peer))
      this.#questions.askAll(this.#questions.begin(this.lists.topics, now), [peer], now);
    return true;
  }

  #receiveAsk({ id, rooms, from }: PresenceMessage & { is: "ask" }, now: number): void {
    this.flush();
    const { own } = this.lists;
    const answers: Answer[] = [];
    for (const { topic, version, isEmpty, known } of rooms) {
      const list = this.lists.get(topic);
      const state = own.stateOf(topic);
      if (list === undefined || state === undefined) continue;
      this.#noteHolder(list, from, version, isEmpty, now);
      const isKnown = known.some(([peer, seen]) => peer === this.#id && seen === state.version);
      const others = [...list.holders.values()].filter(({ peer, holds }) => holds && peer !== from);
      const holders = others.map(({ peer }) => peer);
      answers.push({ topic, version: state.version, entries: isKnown ? undefined : state.entries, holders });
    }
    this.#output.answer(id, own.version, answers, from);
  }

  /** The process holds the room, and has published up to this version. */
  #noteHolder(list: MemberList, peer: string, version: number, isEmpty: boolean, now: number): void {
    const holder = this.lists.holderOf(list, peer);
    if (version < holder.version || (version === holder.version && holder.holds)) return;
    if (isEmpty) this.#replace(holder, [], version, now);
    else this.#questions.need(holder, now, version);
  }

  #receiveChanges(message: PresenceMessage & { is: "changes" }, now: number): void {
    const { from, topic, previous, version, joined, left, isLast } = message;
    const list = this.lists.get(topic);
    if (list === undefined) return;
    const isNew = !list.holders.has(from);
    const holder = this.lists.holderOf(list, from);
    if (version <= holder.version) return;
    if (isLast) return this.#replace(holder, [], version, now, false);
    // Its answer may be on its way.
    const isAsked = list.searches.size > 0 || holder.least !== undefined;
    if (isAsked && (isNew || holder.least !== undefined))
      return this.#questions.need(holder, now + ASK_AGAIN_MS, version);
    if (isNew || previous > holder.version || !holder.holds)
      return this.#questions.need(holder, now, version);
    for (const key of left) this.lists.setHeld(holder, key, undefined);
    const fits = joined.every((entry) => this.lists.setHeld(holder, entry.key, entry));
    holder.version = version;
    if (!fits) this.#questions.need(holder, now + ASK_AGAIN_MS);
  }

  #receiveAnswer(message: PresenceMessage & { is: "answer" }, now: number): void {
    const answered = this.#questions.collect(message);
    if (answered === undefined) return;
    for (const topic of answered.topics) {
      const list = this.lists.get(topic);
      if (list !== undefined && message.id <= list.missedAfter) continue;
      const answer = answered.rooms.get(topic);
      const holder = list?.holders.get(message.from);
      if (list !== undefined && answer !== undefined) this.#learn(list, message.from, answer, now);
      else if (holder !== undefined) this.#replace(holder, [], message.version, now, false);
    }
    this.#questions.answered(message, answered.rooms.size > 0);
  }

  #learn(list: MemberList, from: string, { version, entries, holders }: Answer, now: number): void {
    const holder = this.lists.holderOf(list, from);
    if (entries !== undefined) this.#replace(holder, entries, version, now);
    else if (version === holder.version && version >= (holder.least ?? 0)) this.#questions.known(holder);
    else if (holder.least !== undefined) this.#questions.need(holder, now);
    for (const peer of holders) {
      if (peer === this.#id || list.holders.has(peer)) continue;
      // It has probably been asked too.
      if (!this.#gone.has(peer) && this.#heard(peer, now))
        this.#questions.need(this.lists.holderOf(list, peer), now + ASK_AGAIN_MS);
    }
  }

  /** The members of the holder at this version, unless it is older than what is known or needed. */
  #replace(
    holder: Holder,
    entries: readonly Entry[],
    version: number,
    now: number,
    holds: boolean = true,
  ): void {
    if (version < holder.version) return;
    if (version < (holder.least ?? 0)) return this.#questions.need(holder, now);
    const keys = new Set(entries.map(({ key }) => key));
    for (const key of [...holder.members.keys()])
      if (!keys.has(key)) this.lists.setHeld(holder, key, undefined);
    const fits = entries.every((entry) => this.lists.setHeld(holder, entry.key, entry));
    holder.version = version;
    holder.holds = holds;
    if (fits) this.#questions.known(holder);
    else this.#questions.need(holder, now + ASK_AGAIN_MS);
  }

  // --- other processes, and time ---

  /** Call it several times a second. Removes the members of processes that have stopped, asks again, publishes changes. */
  tick(now: number): void {
    if (!this.#connection.isCutOff)
      for (const [peer, leavesAt] of this.#stopped) if (now >= leavesAt) this.#remove(peer);
    this.flush();
    this.#questions.tick(now);
    this.ask(now);
    if (this.#connection.isCutOff) return;
    for (const change of this.#unsent.values()) this.#output.change(change);
    this.#unsent.clear();
  }

  /** The process is dead. One that has stopped told until when its members stay. */
  gone(peer: string): void {
    if (this.#stopped.has(peer)) return;
    this.#gone.add(peer);
    dropOldest(this.#gone);
    this.#remove(peer);
  }

  #remove(peer: string): void {
    if (this.#stopped.has(peer)) this.#stopped.set(peer, Number.POSITIVE_INFINITY);
    this.#live.delete(peer);
    const held = this.lists.heldBy(peer);
    this.#questions.forget(peer);
    this.lists.remove(peer);
    for (const { topic } of held) this.#output.listChanged(topic);
  }

  /** Whether this process is cut off, or knows the others, may not be what it was. */
  connectionChanged(now: number): void {
    if (!this.#connection.isCutOff)
      for (const [peer, leavesAt] of this.#stopped)
        this.#stopped.set(peer, Math.max(leavesAt, now + RECONNECT_MS));
    this.ask(now);
    this.#output.listChanged(undefined);
  }

  /** The process stops. Its members leave at `leavesAt`, unless they have joined another process until then. */
  leaving(peer: string, leavesAt: number): void {
    if (!this.#live.has(peer) || this.#stopped.has(peer)) return;
    this.#stopped.set(peer, leavesAt);
    dropOldest(this.#stopped);
    this.#live.delete(peer);
    this.#questions.forget(peer);
  }
}

function dropOldest(remembered: Set<string> | Map<string, number>): void {
  if (remembered.size <= MAX_REMEMBERED) return;
  for (const oldest of remembered.keys()) if (remembered.delete(oldest)) break;
}
