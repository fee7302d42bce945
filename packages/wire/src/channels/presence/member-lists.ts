/**
 * The members of all watched rooms: the union of what this process owns and what it knows of the other processes. A late
 * leave of one process therefore never removes a member that another process has.
 */
import type { Entry } from "./entry.ts";
import { Holder } from "./holder.ts";
import { OwnMembers } from "./own-members.ts";
import { Roster, type RosterChange } from "./roster.ts";
import type { Search } from "./search.ts";

/** Of the members of other processes, as JSON text. */
const MAX_HELD_LENGTH = 64 * 1024 * 1024;
const NO_CHANGE: RosterChange = { joined: [], left: [] };

/** A room that is watched here. */
export class MemberList {
  readonly topic: string;
  readonly roster: Roster = new Roster();
  /** The other processes that hold the room, or did. */
  readonly holders: Map<string, Holder> = new Map();
  /** Those that must end before all holders are known. */
  readonly searches: Set<Search> = new Set();
  /** Answers to this question and earlier ones do not count: changes after them may be missing. */
  missedAfter = 0;

  constructor(topic: string) {
    this.topic = topic;
  }
}

export class MemberLists {
  readonly own: OwnMembers = new OwnMembers();
  readonly #id: string;
  readonly #changed: (topic: string) => void;
  readonly #lists = new Map<string, MemberList>();
  /** The topics in which each other process is a holder. */
  readonly #held = new Map<string, Set<string>>();
  #heldLength = 0;

  /** `changed` is called with the topic of each change that peers can see. */
  constructor(id: string, changed: (topic: string) => void) {
    this.#id = id;
    this.#changed = changed;
  }

  get topics(): Iterable<string> {
    return this.#lists.keys();
  }

  get(topic: string): MemberList | undefined {
    return this.#lists.get(topic);
  }

  /** The new list; undefined when the topic was watched already. */
  watch(topic: string): MemberList | undefined {
    if (this.#lists.has(topic)) return undefined;
    const list = new MemberList(topic);
    for (const entry of this.own.entries(topic)) list.roster.changed(entry.key, undefined, entry);
    this.#lists.set(topic, list);
    this.own.hold(topic);
    return list;
  }

  unwatch(topic: string): void {
    const list = this.#lists.get(topic);
    if (list === undefined) return;
    this.#lists.delete(topic);
    this.own.release(topic);
    for (const { peer, members } of list.holders.values()) {
      for (const { text } of members.values()) this.#heldLength -= text.length;
      const topics = this.#held.get(peer);
      if (topics?.delete(topic) && topics.size === 0) this.#held.delete(peer);
    }
  }

  count(topic: string): number {
    return this.#lists.get(topic)?.roster.count ?? 0;
  }

  /** The length of all members of the topic as JSON text. */
  lengthOf(topic: string): number {
    return this.#lists.get(topic)?.roster.length ?? 0;
  }

  /** What has changed in the list of the topic since the last call. */
  take(topic: string): RosterChange {
    return this.#lists.get(topic)?.roster.take((key) => this.shown(topic, key)) ?? NO_CHANGE;
  }

  /** The members of a topic over all processes, in no order. */
  list(topic: string): ReadonlyMap<string, Entry> {
    const members = new Map<string, Entry>();
    const add = (entries: Iterable<Entry>): void => {
      for (const { key } of entries) {
        const entry = members.has(key) ? undefined : this.shown(topic, key);
        if (entry !== undefined) members.set(key, entry);
      }
    };
    add(this.own.entries(topic));
    for (const holder of this.#lists.get(topic)?.holders.values() ?? []) add(holder.members.values());
    return members;
  }

  /** Of several processes with the key, the later join is shown, and at equal times the larger id: the same everywhere. */
  shown(topic: string, key: string): Entry | undefined {
    let owner = this.#id;
    let found = this.own.get(topic, key);
    for (const { peer, members } of this.#lists.get(topic)?.holders.values() ?? []) {
      const entry = members.get(key);
      if (entry === undefined) continue;
      const isLater = found === undefined || entry.at > found.at || (entry.at === found.at && peer > owner);
      if (!isLater) continue;
      found = entry;
      owner = peer;
    }
    return found;
  }

  /** Sets a member of this process, or removes it. */
  setOwn(topic: string, key: string, entry: Entry | undefined): void {
    this.#change(topic, key, () => this.own.set(topic, key, entry));
  }

  // --- other processes ---

  /** The process, as a holder of the room. */
  holderOf(list: MemberList, peer: string): Holder {
    const known = list.holders.get(peer);
    if (known !== undefined) return known;
    const holder = new Holder(peer, list.topic);
    list.holders.set(peer, holder);
    const topics = this.#held.get(peer) ?? new Set<string>();
    this.#held.set(peer, topics.add(list.topic));
    return holder;
  }

  /** The rooms that the process holds, or did. */
  heldBy(peer: string): Holder[] {
    return [...(this.#held.get(peer) ?? [])].flatMap(
      (topic) => this.#lists.get(topic)?.holders.get(peer) ?? [],
    );
  }

  /** Sets a member of another process, or removes it. Returns false above the limit of memory. */
  setHeld({ topic, members }: Holder, key: string, entry: Entry | undefined): boolean {
    const added = (entry?.text.length ?? 0) - (members.get(key)?.text.length ?? 0);
    if (added > 0 && this.#heldLength + added > MAX_HELD_LENGTH) return false;
    this.#heldLength += added;
    this.#change(topic, key, () => {
      if (entry === undefined) members.delete(key);
      else members.set(key, entry);
    });
    return true;
  }

  /** Removes another process with all its members. */
  remove(peer: string): void {
    for (const holder of this.heldBy(peer)) {
      for (const key of [...holder.members.keys()]) this.setHeld(holder, key, undefined);
      this.#lists.get(holder.topic)?.holders.delete(peer);
    }
    this.#held.delete(peer);
  }

  #change(topic: string, key: string, apply: () => void): void {
    const roster = this.#lists.get(topic)?.roster;
    if (roster === undefined) return apply();
    const before = this.shown(topic, key);
    apply();
    const after = this.shown(topic, key);
    if (before === after) return;
    roster.changed(key, before, after);
    this.#changed(topic);
  }
}
