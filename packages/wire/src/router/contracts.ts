/**
 * The contracts between the router's files: a running server, its connections, and the messages they hold. The classes
 * behind them are in `server/server.ts`, `connections/connection.ts`, `calls/inbound-call.ts` and `dispatch.ts`; only
 * their owners import those. Each class uses files that use the contract, so an import of the class, even of its type,
 * would close a cycle.
 */

import type { Clock } from "@halyard/base";
import type { ChannelTarget } from "../channels/channel-target.ts";
import type { ControlType } from "../protocol/control.ts";
import type { Envelope } from "../protocol/envelope.ts";
import type { ErrorPayload } from "../protocol/error.ts";
import type { HistoryPosition } from "../pubsub/history.ts";
import type { PublishResult, PubSub, PubSubStatus } from "../pubsub/pubsub.ts";
import type { AnyChannel, MemberPage, MemberPageOptions } from "../schema/channel.ts";
import type { AnyMessageSchema, RpcSchema } from "../schema/message.ts";
import type { Timers } from "../time/timers.ts";
import type { HeldMessage, InboundMemory } from "./connections/inbound-memory.ts";
import type {
  AnyData,
  Peer,
  SendOutcome,
  ServerContext,
  SharedFrame,
  Socket,
  SocketEvents,
} from "./connections/peer.ts";
import type { PendingJoins } from "./connections/pending-joins.ts";
import type { ErrorContext, PublishOptions } from "./context.ts";
import type { LimitExceededInfo } from "./hooks.ts";
import type { ResolvedOptions } from "./options.ts";
import type { Routes } from "./routes.ts";
import type { ServerCounters } from "./server/counters.ts";
import type { Metrics } from "./server/metrics.ts";
import type { AcceptOptions, ServerOptions } from "./server/server-options.ts";
import type { Membership } from "./topics/membership.ts";
import type { Publisher } from "./topics/publisher.ts";

/** A request that outlived the turn of the event loop in which it arrived. */
export interface CallInFlight {
  /** The correlation id. */
  readonly id: string;
  /** When the caller stops waiting, in ms since epoch. */
  readonly deadline: number;
  /** Whether it has typed progress, and may take long: a drain does not wait for it. */
  readonly isStream: boolean;
  /** The caller accepts more progress items. */
  grant(items: number): void;
  /** The caller cancelled the request. */
  abort(): void;
  /** The server is stopping and does not wait for the handler. */
  abandon(): void;
  /** The connection is gone, so no response can be sent. */
  disconnect(): void;
}

/** A message that waits until an earlier message of its connection has reached its handler. */
export interface WaitingMessage {
  /** Whether the caller cancelled it, or its deadline passed, while it waited. */
  readonly isCancelled: boolean;
  /** Whether it also waits for the joins before it. */
  readonly waitsForJoins: boolean;
  proceed(): void;
  /** It will not proceed, because it was cancelled or its connection is gone. */
  drop(): void;
}

/** A request of the protocol itself, such as `$ws:join`. */
export interface ControlCall {
  readonly ws: Connection;
  readonly payload: unknown;
  /** False once it was answered or cancelled. */
  readonly isRunning: boolean;
  /** Sends the response, and ends the call. */
  answer(type: ControlType, payload: object): void;
  /** Sends an error that is not reported to `onError`, and ends the call. A join that waits for its turn has a topic. */
  failWith(error: ErrorPayload & { readonly topic?: string }): void;
}

/** The route of a request of the protocol itself. Its payload is not checked by the schema, and it has no middleware. */
export interface ControlRoute {
  readonly kind: "control";
  readonly schema: RpcSchema;
  /** Whether it waits for the joins before it, as messages do. */
  readonly waitsForJoins: boolean;
  readonly handler: (call: ControlCall) => unknown;
}

/** Gets the frames of a topic with their positions, in place of the members of the topic. */
export interface TopicWatcher {
  /** Returns the number of connections the frame was sent to. */
  deliver(frame: string, excludeClientId: string | undefined, position: HistoryPosition): number;
  /** A frame without a position, for members that do not get the frames of the topic yet. Returns their number. */
  deliverLive(frame: string, excludeClientId: string | undefined): number;
  /** Frames may be missing. */
  missed(): void;
}

/** The channels of a running server. */
export interface Channels {
  /** The route of a control type that a client sends for channels. */
  routeOf(type: string): ControlRoute | undefined;
  /** Runs `authorize` again for every membership of the connection, and ends those it refuses. */
  recheck(connection: Connection): void;
  /** Fields of the connection's data were assigned: runs `presence` again for its memberships, once per tick. */
  dataChanged(connection: Connection): void;
  /** Restores the memberships of a connection: neither `authorize` nor `onJoin` runs. */
  restore(connection: Connection, memberships: readonly Membership[]): void;
  /** The connection is gone. */
  closed(connection: Connection): void;
  /**
   * Ends the memberships of matching connections in the topic; returns their number. With `ageMs`, only those whose
   * authorization began longer ago.
   */
  withdraw(matches: (connection: Connection) => boolean, topic: string, ageMs: number): number;
  /** Whether the connection is a member of the channel with these parameters; false when they are invalid. */
  isMember(connection: Connection, channel: AnyChannel, params: unknown): boolean;
  /** Throws `INVALID_ARGUMENT` for invalid parameters. `from` is the publishing connection. */
  target(channel: AnyChannel, params: unknown, from?: Connection): ChannelTarget<AnyChannel>;
  /** A page of the members of a channel with presence, over all processes. */
  readMembers(channel: AnyChannel, topic: string, page: MemberPageOptions): Promise<MemberPage>;
  /** The server stops. Resolves once the other processes were told. */
  stop(): Promise<void>;
}

/** One peer: its socket, its data, its calls and topics, and the frames on their way to it. */
export interface Connection extends Peer<AnyData>, SocketEvents {
  readonly server: Server;
  readonly socket: Socket;
  readonly context: ServerContext;
  /** Whether the peer offered this protocol, and so understands its control frames. */
  readonly greets: boolean;
  readonly isOpen: boolean;
  /** Whether a request has no response yet, or a message has not reached its handler. */
  readonly isBusy: boolean;
  /** Whether more bytes are unsent than `socketBufferLimitBytes`. */
  readonly isSlow: boolean;
  /** The close code and reason the server sent, while the peer has not answered the close frame. */
  readonly closing: { readonly code: number; readonly reason: string } | undefined;
  /** Calls in flight by correlation id. */
  calls: Map<string, CallInFlight> | undefined;
  topics: Set<string> | undefined;
  /** Memberships in channels, by topic. */
  memberships: Map<string, Membership> | undefined;
  /** Messages in the order of arrival; see `blocked`. */
  waiting: WaitingMessage[] | undefined;
  /** Whether the `onAuth` hooks admitted this connection; true when there are none. */
  admitted: boolean;
  /** Increased when `authorizeTopic` must run again: a verdict that began before does not count. */
  authorization: number;
  /** While true, new messages wait: a handler must not start before the handler of an earlier message. */
  blocked: boolean;
  /** Joins without an answer: messages that arrive after them wait. */
  joins: PendingJoins | undefined;
  /** Whether a new token is being checked. */
  refreshing: boolean;
  /** How many event handlers returned a promise that is still pending. */
  unsettledEvents: number;
  /** How many of these events have a correlation id, so that their sender waits for an answer. */
  unansweredEvents: number;
  /** Monotonic time of the last frame from the peer, in ms; kept only with a heartbeat. */
  lastSeenAt: number;
  /** Time of the ping that has no reply yet, in ms, by the clock of the heartbeat. */
  pingedAt: number | undefined;

  /** Throws `RESOURCE_EXHAUSTED` when there is no memory for the frame that is being received. */
  checkMemory(): void;
  /** Counts the frame that is being received as held, until `release`, or until this time in ms since epoch. */
  hold(until: number): HeldMessage;
  release(message: HeldMessage): void;
  /** Whether the platform can send a WebSocket ping. */
  readonly canPing: boolean;
  ping(): void;
  assignData(partial: Record<string, unknown>): void;
  /**
   * Sends a frame that must not be lost: the connection is closed when the frame cannot be kept. Throws when an
   * application frame is larger than `maxOutboundFrameBytes`.
   */
  send(type: string, payload?: unknown, correlationId?: string, timestamp?: number): SendOutcome;
  /** `send` for a frame that is encoded already; `shared` if other connections get it too. */
  sendFrame(frame: string, shared?: SharedFrame): SendOutcome;
  sendError(error: ErrorPayload, correlationId: string | undefined): void;
  /** Delivers a published frame; false when the peer reads too slowly and the frame was shed. */
  deliver(frame: SharedFrame): boolean;
  /** Resolves to true once the unsent bytes are within the limit; false on abort or close. */
  whenDrained(signal: AbortSignal | undefined): Promise<boolean>;
  /** Resolves to true once the peer has confirmed every frame sent until now; false on abort, timeout or close. */
  whenAcknowledged(signal: AbortSignal | undefined): Promise<boolean>;
  /** The peer confirmed the marker with this id. */
  acknowledge(id: string): void;
  /** The client answered the request with this id. */
  answered(id: string, envelope: Envelope): void;
  /** Closes the connection with 4401 at this wall time in ms, unless called again; undefined: never. */
  expireAt(expiresAt: unknown): void;
}

/** A running server of a router: its connections and topics. */
export interface Server {
  /** The time of this server. */
  readonly clock: Clock;
  /** The deadlines of this server. */
  readonly timers: Timers;
  /** The options of the router, with defaults. */
  readonly options: ResolvedOptions;
  /** The routing table of the router. */
  readonly routes: Routes;
  /** The value of `ctx.context`. */
  readonly context: ServerContext;
  /** The open connections. */
  readonly connections: ReadonlySet<Connection>;
  /** Counts since the start. */
  readonly counters: ServerCounters;
  /** Collects metrics, if the router has them. */
  readonly metrics: Metrics | undefined;
  /** Checks a new token of an open connection. */
  readonly refresh: ServerOptions["refresh"];
  /** How long each step of the handshake may take, in ms. */
  readonly handshakeTimeoutMs: number;
  /** Carries the topics of this server. */
  readonly pubsub: PubSub;
  /** The state of the broker, where the router was given a pub/sub with one. */
  readonly brokerStatus: PubSubStatus | undefined;
  /** The process-wide budget of unsent bytes. */
  readonly buffers: { grew(bytes: number): void };
  /** Bytes of messages that wait or are being handled. */
  readonly inbound: InboundMemory;
  /** Set from the first connection on, when the router has a heartbeat. */
  readonly heartbeat: { sawLife(connection: Connection): void } | undefined;
  /** Set when the platform's engine has its own topics. */
  readonly native: { slow(connection: Connection): void; drained(connection: Connection): void } | undefined;

  /** Joins, memberships and publishing of channels. */
  readonly channels: Channels;

  /** Takes over a connected socket. The adapter chooses `data.clientId`. */
  accept(socket: Socket, data: AnyData, options?: AcceptOptions): Connection;
  /** Removes a connection that is gone, and runs the close hooks. */
  forget(connection: Connection, code: number, reason: string): void;
  /** Runs the `onAuth` hooks in order; a hook that throws refuses. */
  authorize(message: ErrorContext<AnyData>): boolean | Promise<boolean>;
  /** Applies the verdict of `authorize`: a refused connection is closed with 4401. */
  admit(connection: Connection, admitted: boolean): void;
  /** Adds the connection to the topic. When it rejects, the caller removes it with `unsubscribe`. */
  subscribe(connection: Connection, topic: string): void | Promise<void>;
  /** Resolves once the pub/sub has confirmed the topic; undefined when there is nothing to wait for. */
  confirmed(topic: string): Promise<void> | undefined;
  /** Ends a subscription of a connection. */
  unsubscribe(connection: Connection, topic: string): void | Promise<void>;
  /** Subscribes to a topic whose frames have positions; resolves once the pub/sub has confirmed it. */
  watch(topic: string, watcher: TopicWatcher): Promise<void> | undefined;
  /** Ends a subscription of `watch`. */
  unwatch(topic: string): void;
  /** How many connections get the frames of the topic when they are published. */
  memberCount(topic: string): number;
  /** Sends a frame to the members of its topic; returns their number. */
  broadcast(frame: SharedFrame): number;
  /** Sends a control frame to the members of the topic. */
  sendToMembers(topic: string, type: ControlType, payload: object): void;
  /** Publishes to every subscriber of the topic. */
  publish(
    topic: string,
    schema: AnyMessageSchema,
    payload: unknown,
    options: PublishOptions,
    from?: Connection,
  ): Promise<PublishResult>;
  /** What publishing needs; `from` is the publishing connection. */
  publisher(from?: Connection): Publisher;
  /** Passes a failure to the `onError` hooks; true when one of them suppresses the error frame. */
  report(thrown: unknown, ctx: ErrorContext<AnyData>): boolean;
  /** Reports a failure that belongs to no message, but perhaps to a connection. */
  reportOutside(thrown: unknown, clientId?: string): void;
  /** Runs the `onLimitExceeded` hooks. */
  limitExceeded(info: LimitExceededInfo<AnyData>): void;
  /** Warns once per message type about a request handler that ended without a response. */
  warnIncomplete(type: string): void;
  /** Logs once per message type, in development, that a client cancelled a request. */
  noteAbort(type: string): void;
  /** Closes every connection with 1012; resolves when all are gone. */
  stop(reason?: string): Promise<void>;
}
