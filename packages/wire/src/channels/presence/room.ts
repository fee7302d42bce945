/** One topic with presence in this server: its connections by member, and what they were last sent. */
import type { AnyMember } from "../../schema/channel.ts";
import type { Timeout } from "../../time/timers.ts";
import type { SortedKeys } from "./pages.ts";

/** A connection that is sent the changes of a list. */
export interface Viewer {
  sendFrame(frame: string): unknown;
}

/** Options of `router.channel()` for a channel with presence. */
export interface PresenceOptions {
  readonly maxMembers: number;
  readonly leaveGraceMs: number;
}

/** A member with connections to this server, or one whose last connection was lost. */
interface LocalMember {
  readonly connections: Set<Viewer>;
  /** Runs while there is no connection. */
  grace: Timeout | undefined;
}

/** A list is sent as a whole again only when it has become this much shorter than its limit. */
const LIST_AGAIN = 0.9;

export class Room {
  readonly topic: string;
  readonly options: PresenceOptions;
  readonly members: Map<string, LocalMember> = new Map();
  /** The key of each connection that has joined. */
  readonly keys: Map<Viewer, string> = new Map();
  /** Connections that were sent the list, and get its changes. */
  readonly viewers: Set<Viewer> = new Set();
  /** Set while the list is read without a member in this server. */
  lease: Timeout | undefined = undefined;
  /** Whether the viewers were sent the whole list; else they were sent the count. */
  isListed = true;
  /** What the viewers were last told; undefined when they were told different things. */
  isPartial: boolean | undefined = false;
  /** The count that the viewers were last sent. */
  count = 0;
  /** Monotonic time of the last change that was sent, in ms. */
  sentAt: number = Number.NEGATIVE_INFINITY;
  /** The parsed list, until it changes. */
  list: readonly AnyMember[] | undefined = undefined;
  /** All keys in order. */
  sorted: SortedKeys | undefined = undefined;

  constructor(topic: string, options: PresenceOptions) {
    this.topic = topic;
    this.options = options;
  }

  /** The list has changed. */
  changed(): void {
    this.list = undefined;
    if (this.sorted !== undefined) this.sorted.isOld = true;
  }

  get isUnused(): boolean {
    return this.members.size === 0 && this.lease === undefined;
  }

  /** Whether a list of this size is sent as a whole. */
  lists(count: number): boolean {
    const { maxMembers } = this.options;
    return count <= (this.isListed || this.viewers.size === 0 ? maxMembers : maxMembers * LIST_AGAIN);
  }
}
