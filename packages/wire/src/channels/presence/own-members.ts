/**
 * The members that this process owns, by topic. Every published change of a topic gets the next version of the process, so
 * that another process knows from one number whether it has missed something.
 */
import { type Entry, isSame } from "./entry.ts";

/** The changes of one topic since the last batch. */
export interface TopicChange {
  readonly topic: string;
  readonly version: number;
  readonly joined: readonly Entry[];
  readonly left: readonly string[];
}

/** All changes of this process after version `previous`, up to `version`. */
export interface Batch {
  readonly previous: number;
  readonly version: number;
  readonly changes: readonly TopicChange[];
}

/** The members of some topics at one version. */
export interface States {
  readonly version: number;
  readonly topics: ReadonlyMap<string, readonly Entry[]>;
  /** Whether all topics that are not listed are empty. */
  readonly isComplete: boolean;
}

interface OwnTopic {
  /** The version of the last published change. */
  version: number;
  readonly members: Map<string, Entry>;
}

/** How many emptied topics are remembered, so that a process that missed the last leave can ask for it. */
const MAX_EMPTY_TOPICS = 10_000;

export class OwnMembers {
  #version = 0;
  readonly #topics = new Map<string, OwnTopic>();
  /** The published entries of members that have changed since the last batch. */
  readonly #before = new Map<string, Map<string, Entry | undefined>>();
  /** Versions of topics that became empty, oldest first. */
  readonly #emptied = new Map<string, number>();
  /** The newest version of an emptied topic that is no longer remembered. */
  #forgotten = 0;

  /** The version of the last batch. */
  get version(): number {
    return this.#version;
  }

  get(topic: string, key: string): Entry | undefined {
    return this.#topics.get(topic)?.members.get(key);
  }

  entries(topic: string): Iterable<Entry> {
    return this.#topics.get(topic)?.members.values() ?? [];
  }

  has(topic: string): boolean {
    return (this.#topics.get(topic)?.members.size ?? 0) > 0;
  }

  /** Sets a member of a topic, or removes it. */
  set(topic: string, key: string, entry: Entry | undefined): void {
    const { members } = this.#topics.get(topic) ?? this.#add(topic);
    const before = this.#before.get(topic) ?? new Map<string, Entry | undefined>();
    this.#before.set(topic, before);
    if (!before.has(key)) before.set(key, members.get(key));
    if (entry === undefined) members.delete(key);
    else members.set(key, entry);
  }

  #add(topic: string): OwnTopic {
    const added = { version: 0, members: new Map<string, Entry>() };
    this.#topics.set(topic, added);
    return added;
  }

  /** Takes the changes since the last batch; undefined when there are none. */
  flush(): Batch | undefined {
    const previous = this.#version;
    const changes: TopicChange[] = [];
    for (const [topic, before] of this.#before) {
      const change = this.#flushTopic(topic, before);
      if (change !== undefined) changes.push(change);
    }
    this.#before.clear();
    return changes.length === 0 ? undefined : { previous, version: this.#version, changes };
  }

  #flushTopic(topic: string, before: ReadonlyMap<string, Entry | undefined>): TopicChange | undefined {
    const own = this.#topics.get(topic);
    if (own === undefined) return undefined;
    const joined: Entry[] = [];
    const left: string[] = [];
    for (const [key, published] of before) {
      const entry = own.members.get(key);
      if (isSame(entry, published)) continue;
      if (entry === undefined) left.push(key);
      else joined.push(entry);
    }
    const hasChanged = joined.length + left.length > 0;
    if (hasChanged) own.version = ++this.#version;
    if (own.members.size === 0) this.#remove(topic, own);
    else this.#emptied.delete(topic);
    return hasChanged ? { topic, version: own.version, joined, left } : undefined;
  }

  #remove(topic: string, { version }: OwnTopic): void {
    this.#topics.delete(topic);
    if (version === 0) return;
    this.#emptied.delete(topic);
    this.#emptied.set(topic, version);
    if (this.#emptied.size <= MAX_EMPTY_TOPICS) return;
    for (const [oldest, emptiedAt] of this.#emptied) {
      this.#emptied.delete(oldest);
      this.#forgotten = Math.max(this.#forgotten, emptiedAt);
      break;
    }
  }

  /** The members of these topics. Call `flush` first: the version of a state covers published changes only. */
  statesOf(topics: Iterable<string>): States {
    const states = new Map<string, readonly Entry[]>();
    for (const topic of topics) {
      const own = this.#topics.get(topic);
      if (own !== undefined) states.set(topic, [...own.members.values()]);
    }
    return { version: this.#version, topics: states, isComplete: false };
  }

  /** The members of all topics that changed after this version. Call `flush` first. */
  statesSince(version: number): States {
    const isComplete = version < this.#forgotten;
    const states = new Map<string, readonly Entry[]>();
    for (const [topic, own] of this.#topics)
      if (isComplete || own.version > version) states.set(topic, [...own.members.values()]);
    if (!isComplete)
      for (const [topic, emptiedAt] of this.#emptied) if (emptiedAt > version) states.set(topic, []);
    return { version: this.#version, topics: states, isComplete };
  }
}
