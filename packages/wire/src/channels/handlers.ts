/** What an application registers for a channel with `router.channel()`. */
import type { ConnectionData } from "../router/connections/peer.ts";
import type { OpenContext } from "../router/context.ts";
import type { AnyChannel, ParamsOutput, PresenceInput } from "../schema/channel.ts";
import type { StandardSchema } from "../schema/standard-schema.ts";

/**
 * Whether a connection may join a channel. With `until`, in ms since epoch, `authorize` runs again at that time, and the
 * connection leaves unless it is still allowed.
 */
export type ChannelVerdict = boolean | { readonly until: number };

/** Hooks of every channel. */
export interface ChannelHooks<C extends AnyChannel, Data extends ConnectionData> {
  /**
   * Whether the connection may join, and so read the whole kept history. Runs for every join, also after a reconnection,
   * and again when the session behind the connection changes. False refuses; a throw is answered with `UNAVAILABLE`, and
   * the client retries.
   */
  readonly authorize: (
    ctx: OpenContext<Data>,
    params: ParamsOutput<C>,
  ) => ChannelVerdict | Promise<ChannelVerdict>;
  /** Runs when a connection has joined. */
  readonly onJoin?: (ctx: OpenContext<Data>, params: ParamsOutput<C>) => unknown;
  /** Runs when a connection has left, or has closed. */
  readonly onLeave?: (ctx: OpenContext<Data>, params: ParamsOutput<C>) => unknown;
}

/** Hooks and options of a channel with presence. */
export interface PresenceHooks<C extends AnyChannel, Data extends ConnectionData> {
  /**
   * What this connection shows of itself. Connections with the same `key` are one member. Default key: the client id.
   * Runs again after `ctx.assignData`, so it must not call that itself.
   */
  readonly presence: (
    ctx: OpenContext<Data>,
    params: ParamsOutput<C>,
  ) => { readonly key?: string } & PresenceInput<C>;
  /** The longest member list; beyond it, clients get the count and read pages. Default 1,000. */
  readonly maxMembers?: number;
  /** How long a member whose connection was lost stays in the list, in ms. Default 3,000. */
  readonly leaveGraceMs?: number;
}

/** The second argument of `router.channel()`. */
export type ChannelHandlers<
  C extends AnyChannel,
  Data extends ConnectionData = ConnectionData,
> = ChannelHooks<C, Data> & (C["presence"] extends StandardSchema ? PresenceHooks<C, Data> : unknown);
