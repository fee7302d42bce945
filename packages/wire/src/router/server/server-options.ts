/** The options an adapter passes to the server it creates, and to each connection it accepts. */
import type { Clock } from "@halyard/base";
import type { WsError } from "../../protocol/error.ts";
import type { PubSub } from "../../pubsub/pubsub.ts";
import type { Timers } from "../../time/timers.ts";
import type { FollowConnections } from "../connections/connection-follower.ts";
import type { AnyData, Peer, ServerContext, SharedWriter } from "../connections/peer.ts";
import type { AbsentMembers } from "../topics/absent-members.ts";
import type { Membership } from "../topics/membership.ts";

/** Publishes to every socket that is subscribed to the topic in the platform's engine. */
export type NativePublish = (topic: string, frame: string) => void;

/** The options of `router.attach()`. */
export interface ServerOptions {
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: a timer wheel on the clock. */
  readonly timers?: Timers;
  /** False when the platform detects dead peers itself. Clients still get the router's heartbeat settings. */
  readonly heartbeat?: false;
  /** The server has its own topics, unless the router has the option `pubsub`. Default false. */
  readonly isolated?: boolean;
  /** Creates the pub/sub of an isolated server. Default: one in memory. */
  readonly isolatedPubSub?: () => PubSub;
  /** The value of `ctx.context`. Default: an empty object. */
  readonly context?: ServerContext;
  /** Set when the platform has its own topics. */
  readonly nativePublish?: NativePublish;
  /** Set when the platform writes published frames in batches. */
  readonly sharedWriter?: SharedWriter;
  /** Follows the connections of the server. */
  readonly follow?: FollowConnections;
  /** Called when a connection has opened. */
  readonly onOpen?: (ws: Peer) => unknown;
  /** Called when a connection has closed. */
  readonly onClose?: (ws: Peer, code: number, reason: string) => unknown;
  /** Called once for each published message that reaches this server. */
  readonly onBroadcast?: (message: BroadcastMessage, topic: string) => unknown;
  /** Receives errors that belong to no message; the router's `onError` receives all others. */
  readonly onError?: (error: WsError, ctx: { readonly clientId?: string }) => unknown;
  /** Checks a new token of an open connection; returns new data, or undefined to refuse. */
  readonly refresh?: (token: string, data: AnyData) => unknown;
  /** Persists members of channels whose connection was lost, where the server may be evicted from memory. */
  readonly absentMembers?: AbsentMembers;
  /** How long `onAuth` and the adapter's `onUpgrade` may take, in ms; then the connection is closed. Default 10,000. */
  readonly handshakeTimeoutMs?: number;
}

/** A published message as `onBroadcast` receives it. */
export interface BroadcastMessage {
  /** The message type. */
  readonly type: string;
  /** The meta of the message. */
  readonly meta: Readonly<Record<string, unknown>>;
  /** The payload, if there is one. */
  readonly payload?: unknown;
}

/** Options of one accepted connection. */
export interface AcceptOptions {
  /** Whether the peer offered this protocol, so that the server sends hello. Default true. */
  readonly greets?: boolean;
  /** Set for a connection that is restored, with its topics: the server sends no hello and does not run `onOpen`. */
  readonly resumedTopics?: readonly string[];
  /** For a restored connection: its memberships in channels. */
  readonly resumedChannels?: readonly Membership[];
  /** For a restored connection: whether `onAuth` had admitted it. Default true. */
  readonly admitted?: boolean;
  /** For a restored connection: the close frame that was sent, if any. */
  readonly closing?: { readonly code: number; readonly reason: string };
  /** Called with the new connection before any hook. */
  readonly upgraded?: (ws: Peer) => unknown;
}
