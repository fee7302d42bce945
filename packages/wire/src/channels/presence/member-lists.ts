/**
 * The members of all watched topics: the union of what this process owns and what it knows of the other processes. A late
 * leave of one process therefore never removes a member that another process has.
 */
import type { Entry } from "./entry.ts";
import { OwnMembers } from "./own-members.ts";
import type { PeerProcess } from "./peer-process.ts";
import { Roster, type RosterChange } from "./roster.ts";

/** Of the members of other processes, as JSON text. */
const MAX_HELD_LENGTH = 64 * 1024 * 1024;
const NO_CHANGE: RosterChange = { joined: [], left: [] };

export class MemberLists {
  readonly own: OwnMembers = new OwnMembers();
  readonly peers: Map<string, PeerProcess> = new Map();
  readonly #id: string;
  readonly #changed: (topic: string) => void;
  readonly #rosters = new Map<string, Roster>();
  #heldLength = 0;

  /** `changed` is called with the topic of each change that peers can see. */
  constructor(id: string, changed: (topic: string) => void) {
    this.#id = id;
    this.#changed = changed;
  }

  get topics(): Iterable<string> {
    return this.#rosters.keys();
  }

  isWatched(topic: string): boolean {
    return this.#rosters.has(topic);
  }

  /** Returns false when the topic was watched already. */
  watch(topic: string): boolean {
    if (this.#rosters.has(topic)) return false;
    const roster = new Roster();
    for (const entry of this.own.entries(topic)) roster.changed(entry.key, undefined, entry);
    this.#rosters.set(topic, roster);
    return true;
  }

  unwatch(topic: string): void {
    if (!this.#rosters.delete(topic)) return;
    for (const peer of this.peers.values()) {
      for (const { text } of peer.entries(topic)) this.#heldLength -= text.length;
      peer.drop(topic);
    }
  }

  count(topic: string): number {
    return this.#rosters.get(topic)?.count ?? 0;
  }

  /** The length of all members of the topic as JSON text. */
  lengthOf(topic: string): number {
    return this.#rosters.get(topic)?.length ?? 0;
  }

  /** What has changed in the list of the topic since the last call. */
  take(topic: string): RosterChange {
    return this.#rosters.get(topic)?.take((key) => this.shown(topic, key)) ?? NO_CHANGE;
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
    for (const peer of this.peers.values()) add(peer.entries(topic));
    return members;
  }

  /** Of several processes with the key, the later join is shown, and at equal times the larger id: the same everywhere. */
  shown(topic: string, key: string): Entry | undefined {
    let owner = this.#id;
    let found = this.own.get(topic, key);
    for (const peer of this.peers.values()) {
      const entry = peer.get(topic, key);
      if (entry === undefined) continue;
      const isLater =
        found === undefined || entry.at > found.at || (entry.at === found.at && peer.id > owner);
      if (!isLater) continue;
      found = entry;
      owner = peer.id;
    }
    return found;
  }

  /** Sets a member of this process, or removes it. */
  setOwn(topic: string, key: string, entry: Entry | undefined): void {
    this.#change(topic, key, () => this.own.set(topic, key, entry));
  }

  /** Sets a member of another process, or removes it. Returns false above the limit of memory. */
  setHeld(peer: PeerProcess, topic: string, key: string, entry: Entry | undefined): boolean {
    const added = (entry?.text.length ?? 0) - (peer.get(topic, key)?.text.length ?? 0);
    if (added > 0 && this.#heldLength + added > MAX_HELD_LENGTH) return false;
    this.#heldLength += added;
    this.#change(topic, key, () => peer.set(topic, key, entry));
    return true;
  }

  /** Removes another process with all its members. */
  remove(peer: PeerProcess): void {
    for (const topic of [...peer.topics])
      for (const { key } of [...peer.entries(topic)]) this.setHeld(peer, topic, key, undefined);
    this.peers.delete(peer.id);
  }

  #change(topic: string, key: string, apply: () => void): void {
    const roster = this.#rosters.get(topic);
    if (roster === undefined) return apply();
    const before = this.shown(topic, key);
    apply();
    const after = this.shown(topic, key);
    if (before === after) return;
    roster.changed(key, before, after);
    this.#changed(topic);
  }
}
