/** Another process that holds a room, as this process knows it: the members it has there, complete up to a version. */
import type { Entry } from "./entry.ts";

export class Holder {
  readonly peer: string;
  readonly topic: string;
  readonly members: Map<string, Entry> = new Map();
  /** All changes up to this version have been received. */
  version = 0;
  /** False once it holds the room no more: late messages of before must not count. */
  holds = true;
  /** Set while the members must be requested: the version that they must have at least. */
  least: number | undefined = undefined;
  /** When they are requested, in monotonic ms, and how often they were. */
  dueAt = 0;
  attempts = 0;

  constructor(peer: string, topic: string) {
    this.peer = peer;
    this.topic = topic;
  }
}
