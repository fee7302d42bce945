/**
 * The members that this process owns, by room. Every published change of a room gets a version, and names the one before
 * it, so that another process knows whether it has missed something.
 */
import { type Entry, isSame } from "./entry.ts";

/** The changes of one room since it was last published. */
export interface RoomChange {
  readonly topic: string;
  readonly previous: number;
  readonly version: number;
  readonly joined: readonly Entry[];
  readonly left: readonly string[];
  /** The process holds the room no more. */
  readonly isLast: boolean;
}

/** The published members of a room that this process holds. */
export interface OwnState {
  readonly version: number;
  readonly entries: readonly Entry[];
}

interface OwnRoom {
  /** The version of the last published change. */
  version: number;
  isHeld: boolean;
  readonly members: Map<string, Entry>;
  /** The published entries of members that have changed since. */
  readonly before: Map<string, Entry | undefined>;
}

export class OwnMembers {
  /** Versions grow over all rooms, so that a room which is held again continues. */
  #version = 0;
  readonly #rooms = new Map<string, OwnRoom>();
  readonly #changed = new Set<string>();

  /** The newest version of any room. */
  get version(): number {
    return this.#version;
  }

  get(topic: string, key: string): Entry | undefined {
    return this.#rooms.get(topic)?.members.get(key);
  }

  entries(topic: string): Iterable<Entry> {
    return this.#rooms.get(topic)?.members.values() ?? [];
  }

  hold(topic: string): void {
    const known = this.#rooms.get(topic);
    if (known !== undefined) known.isHeld = true;
    else
      this.#rooms.set(topic, {
        version: ++this.#version,
        isHeld: true,
        members: new Map(),
        before: new Map(),
      });
  }

  release(topic: string): void {
    const room = this.#rooms.get(topic);
    if (room === undefined) return;
    room.isHeld = false;
    this.#changed.add(topic);
  }

  /** Sets a member of a room that is held, or removes it. */
  set(topic: string, key: string, entry: Entry | undefined): void {
    const room = this.#rooms.get(topic);
    if (room === undefined) return;
    if (!room.before.has(key)) room.before.set(key, room.members.get(key));
    if (entry === undefined) room.members.delete(key);
    else room.members.set(key, entry);
    this.#changed.add(topic);
  }

  /** Takes the changes since the last call. */
  flush(): RoomChange[] {
    const changes: RoomChange[] = [];
    for (const topic of this.#changed) {
      const change = this.#flushRoom(topic);
      if (change !== undefined) changes.push(change);
    }
    this.#changed.clear();
    return changes;
  }

  #flushRoom(topic: string): RoomChange | undefined {
    const room = this.#rooms.get(topic);
    if (room === undefined) return undefined;
    const joined: Entry[] = [];
    const left: string[] = [];
    for (const [key, published] of room.before) {
      const entry = room.members.get(key);
      if (isSame(entry, published)) continue;
      if (entry === undefined) left.push(key);
      else joined.push(entry);
    }
    room.before.clear();
    const isLast = !room.isHeld;
    if (isLast) this.#rooms.delete(topic);
    if (joined.length + left.length === 0 && !isLast) return undefined;
    const previous = room.version;
    room.version = ++this.#version;
    return { topic, previous, version: room.version, joined, left, isLast };
  }

  /** The members of a room; undefined when it is not held. Call `flush` first: a version covers published changes only. */
  stateOf(topic: string): OwnState | undefined {
    const room = this.#rooms.get(topic);
    return room && { version: room.version, entries: [...room.members.values()] };
  }
}
