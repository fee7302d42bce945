/** The members of another process, of the topics that are watched here. */
import type { Entry } from "./entry.ts";

/** The members of one topic in the other process, complete up to `version`. */
interface Held {
  version: number;
  readonly members: Map<string, Entry>;
}

/** The parts of an answer that have arrived. */
interface Collected {
  readonly parts: Set<number>;
  readonly topics: Map<string, Entry[]>;
}

export class PeerProcess {
  readonly id: string;
  /** All changes up to this version have been received. */
  version: number;
  /** Whether changes may have been missed while this process was cut off from the broker. */
  isStale = false;
  /** The request for missed changes that has no answer yet, and when it was sent. */
  catchUp: { readonly id: number; readonly at: number } | undefined = undefined;
  /** Set when the process has stopped: when its members leave, in monotonic ms. */
  leavesAt: number | undefined = undefined;
  /** Watched topics whose state is not known, with the version that it must have at least. */
  readonly unknown: Map<string, number> = new Map();
  /** When topics were last requested from this process, in monotonic ms. */
  askedAt: number = Number.NEGATIVE_INFINITY;
  readonly #held = new Map<string, Held>();
  readonly #answers = new Map<number, Collected>();

  constructor(id: string, version: number) {
    this.id = id;
    this.version = version;
  }

  get(topic: string, key: string): Entry | undefined {
    return this.#held.get(topic)?.members.get(key);
  }

  entries(topic: string): Iterable<Entry> {
    return this.#held.get(topic)?.members.values() ?? [];
  }

  get topics(): Iterable<string> {
    return this.#held.keys();
  }

  /** The version up to which the topic is known here. A topic without an entry is empty at the version of the process. */
  versionOf(topic: string): number {
    return this.#held.get(topic)?.version ?? this.version;
  }

  /** The state of the topic must be requested. One that is older than what is known now does not count. */
  needs(topic: string): void {
    this.unknown.set(topic, this.version);
  }

  /** Removes a member, or sets it. */
  set(topic: string, key: string, entry: Entry | undefined): void {
    if (entry === undefined) this.#held.get(topic)?.members.delete(key);
    else this.#hold(topic).members.set(key, entry);
  }

  /** The topic is known up to this version. An empty topic is not stored once all earlier changes were received. */
  setVersion(topic: string, version: number): void {
    const held = this.#hold(topic);
    held.version = version;
    if (held.members.size === 0 && version <= this.version) this.#held.delete(topic);
  }

  #hold(topic: string): Held {
    const held = this.#held.get(topic) ?? { version: 0, members: new Map<string, Entry>() };
    this.#held.set(topic, held);
    return held;
  }

  /** The topic is no longer watched. */
  drop(topic: string): void {
    this.#held.delete(topic);
    this.unknown.delete(topic);
  }

  /** Adds a part of an answer; returns the topics once all parts are there. */
  collect(
    id: number,
    part: number,
    parts: number,
    topics: Iterable<readonly [string, readonly Entry[]]>,
  ): ReadonlyMap<string, readonly Entry[]> | undefined {
    const collected: Collected = this.#answers.get(id) ?? { parts: new Set(), topics: new Map() };
    this.#answers.set(id, collected);
    if (collected.parts.has(part)) return undefined;
    collected.parts.add(part);
    for (const [topic, entries] of topics) {
      const known = collected.topics.get(topic);
      if (known === undefined) collected.topics.set(topic, [...entries]);
      else for (const entry of entries) known.push(entry);
    }
    if (collected.parts.size < parts) return undefined;
    this.#answers.delete(id);
    return collected.topics;
  }

  /** Drops incomplete answers: the topics are requested again. */
  dropAnswers(isPending: (id: number) => boolean): void {
    for (const id of this.#answers.keys()) if (!isPending(id)) this.#answers.delete(id);
  }
}
