/** The public interface of a joined channel. */
import type { Gap } from "../protocol/control.ts";
import type { WsError } from "../protocol/error.ts";
import type { AnyChannel, Member, MemberPage, MemberPageOptions } from "../schema/channel.ts";
import type { PayloadOutput, ReceivedMessage } from "../schema/message.ts";

/**
 * `joining` (also after a lost connection), `joined`, `refused` (the server does not allow it), `left` (by `leave()`, or
 * because the server ended the membership). The client does not join again after `refused` and `left`.
 */
export type RoomState = "joining" | "joined" | "refused" | "left";

/** Options of `joinChannel()`. */
export interface JoinOptions {
  /** Of a channel with history: receive up to this many of the newest kept messages first. Default 0. */
  readonly last?: number;
}

/** A channel that the client joins, created by `joinChannel()`. */
export interface ChannelRoom<C extends AnyChannel = AnyChannel> {
  /** The state of the membership. */
  readonly state: RoomState;
  /** Resolves when the client has joined for the first time; rejects when the server refuses, or `leave()` was called before. */
  readonly joined: Promise<void>;
  /** Why the last join failed, or why the server ended the membership; undefined while joined. */
  readonly error: WsError | undefined;
  /**
   * With presence: the members, a new array after each change. Empty when there are more than `maxMembers`: see
   * `memberCount` and `memberPage()`. While the client is not joined, the last known ones.
   */
  readonly members: readonly Member<C>[];
  /** With presence: the number of all members. */
  readonly memberCount: number;
  /** With presence: whether members of other server processes may be missing. */
  readonly isPartial: boolean;
  /** Called when the members, their number or `isPartial` changed; returns a function that stops it. */
  onMembers(callback: (members: readonly Member<C>[]) => void): () => void;
  /** With presence: reads members in the order of their keys, when there are too many for a list. */
  memberPage(options?: MemberPageOptions): Promise<MemberPage<Member<C>>>;
  /**
   * Adds a handler for one of the channel's events; returns a function that removes it. The first handler of an event also
   * gets, in a microtask, the messages that arrived before it: up to 1,000 and 1,000,000 characters per room. If there
   * were more, a gap follows them. Throws in development when the channel does not declare the event.
   */
  on<S extends C["events"][number]>(
    event: S,
    handler: (payload: PayloadOutput<S>, meta: ReceivedMessage<S>["meta"]) => unknown,
  ): () => void;
  /** Called with every new state; returns a function that stops it. */
  onState(callback: (state: RoomState) => void): () => void;
  /**
   * Called when messages of this channel are missing: of a channel without history after every reconnection, else only
   * when the history no longer has them, or when more arrived before the first handler than the room holds. A gap before
   * the first callback is told to it. Returns a function that stops it.
   */
  onGap(callback: (gap: Gap) => void): () => void;
  /** Leaves the channel. Join it again with `joinChannel()`. */
  leave(): void;
}
