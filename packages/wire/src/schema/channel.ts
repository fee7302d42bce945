/** The types of channel declarations, and what they say about parameters, events and presence. */
import type { AnyMessageSchema } from "./message.ts";
import type { InferInput, InferOutput, StandardSchema } from "./standard-schema.ts";

/** What a channel keeps of its messages, so that clients can resume after a lost connection. */
export interface ChannelHistory {
  /** How many messages are kept. */
  readonly size: number;
  /** How long a message is kept, in ms. */
  readonly ttlMs: number;
}

/** A channel with any parameters and events. */
export interface AnyChannel {
  /** The name with its parameters in braces, such as `room:{id}`. */
  readonly pattern: string;
  /** The names of the parameters, in the order of the pattern. */
  readonly paramNames: readonly string[];
  /** The schema of the parameters; undefined when there are none. */
  readonly params: StandardSchema | undefined;
  /** The messages that may be published on the channel. */
  readonly events: readonly AnyMessageSchema[];
  /** The types of the events that are never kept: `live()`. */
  readonly liveTypes: ReadonlySet<string>;
  /** The schema of what a member shows of itself; undefined without presence. */
  readonly presence: StandardSchema | undefined;
  /** Undefined when no messages are kept. */
  readonly history: ChannelHistory | undefined;
}

/** Describes a channel. Created by `channel()`, shared by server and client. */
export interface Channel<
  Params extends StandardSchema | undefined = StandardSchema | undefined,
  Events extends readonly AnyMessageSchema[] = readonly AnyMessageSchema[],
  Presence extends StandardSchema | undefined = StandardSchema | undefined,
> extends AnyChannel {
  /** The schema of the parameters; undefined when there are none. */
  readonly params: Params;
  /** The messages that may be published on the channel. */
  readonly events: Events;
  /** The schema of what a member shows of itself; undefined without presence. */
  readonly presence: Presence;
}

/** The parameters as a caller passes them; an empty object when the channel has none. */
export type ParamsInput<C extends AnyChannel> = C["params"] extends StandardSchema
  ? InferInput<C["params"]>
  : Readonly<Record<string, never>>;

/** The parameters after validation. */
export type ParamsOutput<C extends AnyChannel> = C["params"] extends StandardSchema
  ? InferOutput<C["params"]>
  : Readonly<Record<string, never>>;

/** What a member shows of itself, as the server passes it. */
export type PresenceInput<C extends AnyChannel> = C["presence"] extends StandardSchema
  ? InferInput<C["presence"]>
  : never;

/** What a member shows of itself, as clients get it. */
export type PresenceOutput<C extends AnyChannel> = C["presence"] extends StandardSchema
  ? InferOutput<C["presence"]>
  : never;

/** A member of a channel with presence: its key, and what it shows of itself. */
export type Member<C extends AnyChannel> = { readonly key: string } & Readonly<PresenceOutput<C>>;

/** A member of any channel. */
export type AnyMember = { readonly key: string } & Readonly<Record<string, unknown>>;

/** Which members to read. */
export interface MemberPageOptions {
  /** The key after which the page begins: `next` of the page before. Default: from the start. */
  readonly after?: string;
  /** The most members on the page. Default and maximum: `maxMembers` of the channel. */
  readonly limit?: number;
}

/** Members of a channel in the order of their keys. */
export interface MemberPage<M = AnyMember> {
  /** The members of this page. */
  readonly members: readonly M[];
  /** The number of all members. */
  readonly count: number;
  /** Whether members of other processes may be missing, because the broker or a process does not answer. */
  readonly partial: boolean;
  /** Pass it as `after` for the next page; absent on the last page. */
  readonly next?: string;
}
