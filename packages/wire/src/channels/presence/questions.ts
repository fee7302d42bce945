/** What a process asks others about rooms: who holds them, and which members each holder has. Without I/O, clock or randomness. */
import type { PeerState } from "../../peers/peer-state.ts";
import type { Holder } from "./holder.ts";
import type { MemberList, MemberLists } from "./member-lists.ts";
import { type Answer, type PresenceMessage, type Question, splitQuestions } from "./presence-message.ts";
import { Search } from "./search.ts";

/** What is not answered is asked again after this time, then after twice as long each time, up to the longest. */
export const ASK_AGAIN_MS = 1_000;
const LONGEST_MS = 16_000;
/** How long answers to a question count: an answer of a busy process may come after the question was repeated. */
const KEEP_ASKED_MS = 20_000;

/** Sends questions. */
export interface QuestionOutput {
  /** Subscribes to the room's topic and asks there. Tells `sought` whether another process has received it, or `refused`. */
  seek(topic: string, id: number, search: Search): void;
  ask(id: number, rooms: readonly Question[], to: string): void;
  /** The list of this topic, or whether it is complete, may have changed. Undefined: of all topics. */
  listChanged(topic: string | undefined): void;
}

/** A question whose answers count. */
interface Asked {
  readonly topics: readonly string[];
  readonly search: Search | undefined;
  readonly at: number;
}

/** A message with questions for one process. */
interface Ask {
  readonly id: number;
  readonly rooms: readonly Question[];
  readonly peer: string;
}

/** The parts of an answer that have arrived. */
interface Collected {
  /** Parts of two answers to one question do not mix. */
  readonly version: number;
  readonly parts: Set<number>;
  readonly rooms: Map<string, Answer>;
}

/** A whole answer: what the process tells of each topic that it was asked for. */
export interface Answered {
  readonly topics: readonly string[];
  readonly rooms: ReadonlyMap<string, Answer>;
}

export class Questions {
  readonly #lists: MemberLists;
  readonly #output: QuestionOutput;
  readonly #connection: Pick<PeerState, "isCutOff" | "isSettled">;
  readonly #live: ReadonlySet<string>;
  readonly #searches = new Set<Search>();
  /** Holders whose members must be requested. */
  readonly #unknown = new Set<Holder>();
  /** Oldest first. */
  readonly #asked = new Map<number, Asked>();
  readonly #collected = new Map<string, Collected>();
  #lastId = 0;

  /** `live`: the other processes that live. */
  constructor(
    lists: MemberLists,
    output: QuestionOutput,
    connection: Pick<PeerState, "isCutOff" | "isSettled">,
    live: ReadonlySet<string>,
  ) {
    this.#lists = lists;
    this.#output = output;
    this.#connection = connection;
    this.#live = live;
  }

  /** The number of the last question. */
  get lastId(): number {
    return this.#lastId;
  }

  // --- searches: who holds a room ---

  begin(topics: Iterable<string>, now: number): Search {
    const search = new Search(topics, now + ASK_AGAIN_MS);
    this.#searches.add(search);
    for (const topic of search.topics) this.#lists.get(topic)?.searches.add(search);
    return search;
  }

  /** Asks on the room's own topic. */
  seek(topic: string, now: number): void {
    const search = this.begin([topic], now);
    this.#output.seek(topic, this.#remember([topic], search, now), search);
  }

  /** Whether another process has received the question; undefined when the broker cannot tell. */
  sought(search: Search, hasOthers: boolean | undefined, now: number): void {
    if (!this.#searches.has(search)) return;
    search.isAsked = true;
    if (hasOthers === false) this.#end(search);
    else if (hasOthers === undefined) this.#repeat(search, now);
  }

  /** Asks these processes for all rooms of the search. */
  askAll(search: Search, peers: Iterable<string>, now: number): void {
    if (!this.#searches.has(search)) return;
    search.isAsked = true;
    search.dueAt = now + backoff(search.attempts++);
    const before = search.waiting;
    search.waiting = new Map();
    const messages = [...peers].flatMap((peer) => {
      const unanswered = before?.get(peer);
      if (unanswered === undefined) return this.#messages(peer, search.topics, search, now);
      return [...unanswered].flatMap(([id, topics]) => this.#messages(peer, topics, search, now, id));
    });
    for (const { id, rooms, peer } of messages) {
      const unanswered = search.waiting.get(peer) ?? new Map<number, readonly string[]>();
      const topics = rooms.map(({ topic }) => topic);
      search.waiting.set(peer, unanswered.set(id, topics));
    }
    for (const { id, rooms, peer } of messages) this.#output.ask(id, rooms, peer);
    if (search.waiting.size === 0) this.#end(search);
  }

  /** Asks the processes that have not answered. */
  #repeat(search: Search, now: number): void {
    search.dueAt = now;
    // Who lives is not known yet.
    if (!this.#connection.isSettled || this.#connection.isCutOff) return;
    this.askAll(search, search.waiting?.keys() ?? this.#live, now);
  }

  #end(search: Search): void {
    this.#searches.delete(search);
    for (const topic of search.topics)
      if (this.#lists.get(topic)?.searches.delete(search)) this.#output.listChanged(topic);
  }

  /** The list does not wait for its searches any more. */
  abandon(list: MemberList): void {
    for (const search of list.searches) {
      list.searches.delete(search);
      search.topics.delete(list.topic);
      if (search.topics.size === 0) this.#searches.delete(search);
    }
  }

  /** Nothing is expected of the process any more. */
  forget(peer: string): void {
    for (const holder of this.#lists.heldBy(peer)) this.known(holder);
    for (const search of [...this.#searches]) this.#hasAnswered(search, peer);
  }

  #hasAnswered(search: Search, peer: string): void {
    if (search.waiting?.delete(peer) && search.waiting.size === 0) this.#end(search);
  }

  // --- holders: which members a process has ---

  /** The members of the holder must be requested. A state that is older than this version does not count. */
  need(holder: Holder, dueAt: number, version: number = holder.version): void {
    if (holder.least === undefined) {
      holder.dueAt = dueAt;
      holder.attempts = 0;
      this.#unknown.add(holder);
      this.#output.listChanged(holder.topic);
    } else if (holder.attempts === 0) holder.dueAt = Math.min(holder.dueAt, dueAt);
    holder.least = Math.max(holder.least ?? 0, version);
    holder.holds = true;
  }

  known(holder: Holder): void {
    if (holder.least === undefined) return;
    holder.least = undefined;
    this.#unknown.delete(holder);
    this.#output.listChanged(holder.topic);
  }

  /** Asks the holders that are due, with one message for each process. */
  askHolders(now: number): void {
    const due = new Map<string, string[]>();
    for (const holder of this.#unknown) {
      if (holder.dueAt > now) continue;
      holder.dueAt = now + backoff(holder.attempts++);
      const topics = due.get(holder.peer);
      if (topics === undefined) due.set(holder.peer, [holder.topic]);
      else topics.push(holder.topic);
    }
    for (const [peer, topics] of due)
      for (const { id, rooms } of this.#messages(peer, topics, undefined, now))
        this.#output.ask(id, rooms, peer);
  }

  // --- questions and answers ---

  /** With an id, the message is repeated: a late answer to the first one counts. */
  #messages(
    peer: string,
    topics: Iterable<string>,
    search: Search | undefined,
    now: number,
    id?: number,
  ): Ask[] {
    const questions: Question[] = [];
    for (const topic of topics) {
      const question = this.question(topic, peer);
      if (question !== undefined) questions.push(question);
    }
    const parts = splitQuestions(questions);
    return parts.map((rooms) => {
      const asked = rooms.map(({ topic }) => topic);
      const repeated = parts.length === 1 ? id : undefined;
      return { id: this.#remember(asked, search, now, repeated), rooms, peer };
    });
  }

  #remember(topics: readonly string[], search: Search | undefined, now: number, repeated?: number): number {
    const id = repeated ?? ++this.#lastId;
    // Oldest first.
    this.#asked.delete(id);
    this.#asked.set(id, { topics, search, at: now });
    return id;
  }

  /** The question about a room for one holder, or for all, as of now. */
  question(topic: string, peer?: string): Question | undefined {
    const list = this.#lists.get(topic);
    const own = this.#lists.own.stateOf(topic);
    if (list === undefined || own === undefined) return undefined;
    const holders = peer === undefined ? [...list.holders.values()] : [list.holders.get(peer)];
    const known = holders.flatMap((holder) =>
      holder?.holds && holder.version > 0 ? [[holder.peer, holder.version] as const] : [],
    );
    return { topic, version: own.version, isEmpty: own.entries.length === 0, known };
  }

  /** The answer once all its parts are there; undefined also when it was not asked for. */
  collect(message: PresenceMessage & { is: "answer" }): Answered | undefined {
    const { from, id, part, parts, version } = message;
    const asked = this.#asked.get(id);
    if (asked === undefined) return undefined;
    const name = `${id} ${from}`;
    const known = this.#collected.get(name);
    if (known !== undefined && known.version > version) return undefined;
    const collected: Collected =
      known?.version === version ? known : { version, parts: new Set(), rooms: new Map() };
    if (collected.parts.has(part)) return undefined;
    this.#collected.set(name, collected);
    collected.parts.add(part);
    for (const answer of message.rooms) {
      const before = collected.rooms.get(answer.topic)?.entries;
      const entries = before && answer.entries ? [...before, ...answer.entries] : answer.entries;
      collected.rooms.set(answer.topic, { ...answer, entries });
    }
    if (collected.parts.size < parts) return undefined;
    this.#collected.delete(name);
    return { topics: asked.topics, rooms: collected.rooms };
  }

  /** What the answer tells has been learnt. */
  answered({ from, id }: PresenceMessage & { is: "answer" }, isHeld: boolean): void {
    const search = this.#asked.get(id)?.search;
    if (search === undefined) return;
    const unanswered = search.waiting?.get(from);
    // On the room's own topic, one holder knows the others.
    if (search.waiting === undefined && isHeld) this.#end(search);
    else if (unanswered?.delete(id) && unanswered.size === 0) this.#hasAnswered(search, from);
  }

  /** Asks again what has no answer. */
  tick(now: number): void {
    for (const [id, { at }] of this.#asked) {
      if (now - at < KEEP_ASKED_MS) break;
      this.#asked.delete(id);
    }
    for (const name of this.#collected.keys())
      if (!this.#asked.has(Number(name.slice(0, name.indexOf(" "))))) this.#collected.delete(name);
    for (const search of [...this.#searches])
      if (search.isAsked && search.dueAt <= now) this.#repeat(search, now);
  }
}

function backoff(attempts: number): number {
  return Math.min(ASK_AGAIN_MS * 2 ** attempts, LONGEST_MS);
}
