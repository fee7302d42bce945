/** Members of channels whose connection was lost and who have not left yet. Plain data, because a platform persists it. */

/** A member of a channel without a connection, during its grace time. */
export interface AbsentMember {
  /** The topic of the channel. */
  readonly topic: string;
  /** What the member shows of itself. */
  readonly member: { readonly key: string } & Readonly<Record<string, unknown>>;
  /** When the member leaves, in ms since epoch. */
  readonly leavesAt: number;
  /** `maxMembers` of the channel. */
  readonly maxMembers: number;
  /** `leaveGraceMs` of the channel. */
  readonly leaveGraceMs: number;
}

/** Keeps absent members while the server is not in memory. */
export interface AbsentMembers {
  /** The connection of the member was lost. */
  put(absent: AbsentMember): void;
  /** The member has returned, or has left. */
  delete(topic: string, key: string): void;
  /** The members that were kept when the server was created. */
  all(): Iterable<AbsentMember>;
}
