/** The interface of `router.to(Room, params)` and `ctx.to(Room, params)`. */
import type { PublishResult } from "../pubsub/pubsub.ts";
import type { MessageArguments } from "../schema/arguments.ts";
import type { AnyChannel, Member, MemberPage, MemberPageOptions } from "../schema/channel.ts";
import type { AnyMessageSchema, MetaInput } from "../schema/message.ts";

/** Options of a publish on a channel. */
export interface ChannelPublishOptions<S extends AnyMessageSchema = AnyMessageSchema> {
  /** Do not deliver to the publishing connection. Default false. No effect on `router.to`. */
  readonly excludeSelf?: boolean;
  /** Reserved: passed on to the pub/sub, and those of wire ignore it. No effect on a channel with history. */
  readonly partitionKey?: string;
  /** Of a channel with history: an idempotency key. A message with the id of a kept one is not published again. */
  readonly id?: string;
  /** Meta fields that the schema declares. */
  readonly meta?: MetaInput<S>;
}

/** A channel with its parameters. */
export interface ChannelTarget<C extends AnyChannel> {
  /** Publishes one of the channel's events to every member. */
  publish<S extends C["events"][number]>(
    event: S,
    ...rest: MessageArguments<S, ChannelPublishOptions<S>>
  ): Promise<PublishResult>;
  /**
   * The members over all processes: all of them, or the first `maxMembers` in the order of their keys. Waits up to 500 ms
   * for the other processes. Rejects when the channel declares no presence.
   */
  members(): Promise<readonly Member<C>[]>;
  /** A page of the members, with their number, and whether members of other processes may be missing. */
  memberPage(options?: MemberPageOptions): Promise<MemberPage<Member<C>>>;
}
