/** The contexts that handlers, middleware and hooks receive. */

import type { ChannelTarget } from "../channels/channel-target.ts";
import type { AnyErrorCode, ErrorDetails } from "../protocol/error.ts";
import type { PublishResult } from "../pubsub/pubsub.ts";
import type { MessageArguments, MetaOption } from "../schema/arguments.ts";
import type { AnyChannel, ParamsInput } from "../schema/channel.ts";
import type { Fail } from "../schema/declared-errors.ts";
import type {
  AnyMessageSchema,
  DurableConfig,
  MetaInput,
  MetaOutput,
  PayloadInput,
  PayloadOutput,
  ProgressInput,
  RpcSchema,
  StandardMeta,
} from "../schema/message.ts";
import type { StandardSchema } from "../schema/standard-schema.ts";
import type { ConnectionData, Peer, ServerContext } from "./connections/peer.ts";

/** The meta of a message as its handler sees it. */
export type MessageMeta<S extends AnyMessageSchema = AnyMessageSchema> = Readonly<
  StandardMeta & {
    /** The id of the connection. */
    readonly clientId: string;
    /** When the server received the message, in ms since epoch. */
    readonly receivedAt: number;
  } & MetaOutput<S>
>;

/** Options of `ctx.send` and `ctx.reply`. */
export interface SendOptions<S extends AnyMessageSchema = AnyMessageSchema> {
  /** If aborted before the frame is sent, it is not sent. If aborted during `waitFor`, the result is false. */
  readonly signal?: AbortSignal;
  /** Meta fields that the schema declares. */
  readonly meta?: MetaInput<S>;
  /** Send the correlation id of the message being handled. Default false. */
  readonly inheritCorrelationId?: boolean;
  /**
   * `drain`: resolves to true once the connection's unsent bytes are below `socketBufferLimitBytes`.
   * `ack`: resolves to true once the peer has confirmed the frame, to false after `rpcTimeoutMs`.
   */
  readonly waitFor?: "drain" | "ack";
}

/** Options of `ctx.error`. */
export interface ErrorOptions {
  /** Default: depends on the code. */
  readonly retryable?: boolean;
  /** How long the caller should wait before a retry, in ms. Not allowed with a terminal code. */
  readonly retryAfterMs?: number;
}

/** Options of `ctx.fail`. */
export type FailOptions = Pick<ErrorOptions, "retryAfterMs">;

/** Options of `publish`. */
export interface PublishOptions<S extends AnyMessageSchema = AnyMessageSchema> {
  /** Do not deliver to the publishing connection. Default false. No effect on `router.publish`. */
  readonly excludeSelf?: boolean;
  /** Reserved: passed on to the pub/sub, and those of wire ignore it. */
  readonly partitionKey?: string;
  /** Meta fields that the schema declares. */
  readonly meta?: MetaInput<S>;
}

export type SendArguments<S extends AnyMessageSchema, Options = SendOptions<S>> = MessageArguments<
  S,
  Options
>;

/** The members of every context that concern its connection. */
export interface ConnectionContext<Data extends ConnectionData = ConnectionData> {
  /** The id of the connection. */
  readonly clientId: string;
  /** The connection, always the same object. */
  readonly ws: Peer<Data>;
  /** The connection's data, from `authenticate` and `assignData`. */
  readonly data: Data;
  /** The `context` option of the server. */
  readonly context: ServerContext;
  /** Merges fields into the connection's data, one level deep. `clientId` does not change. */
  assignData(partial: Partial<Data>): void;
  /** One field of the connection's data; undefined when it is not set. */
  getData<K extends keyof Data>(key: K): Data[K] | undefined;
}

/** Sending, subscribing and publishing in a context. */
export interface Messaging {
  /**
   * Sends a message to this peer. Throws `INTERNAL` and sends nothing when the payload does not match the schema. With
   * `waitFor`, resolves to whether the condition was met.
   */
  send<S extends AnyMessageSchema>(
    schema: S,
    payload: PayloadInput<S>,
    options: SendOptions<S> & MetaOption<S> & { readonly waitFor: "drain" | "ack" },
  ): Promise<boolean>;
  send<S extends AnyMessageSchema>(schema: S, ...rest: SendArguments<S>): void;
  /** Subscribes this connection. Returns a promise when `authorizeTopic` or the pub/sub is asynchronous. */
  subscribe(topic: string): void | Promise<void>;
  /** Ends a subscription; does nothing without one. */
  unsubscribe(topic: string): void | Promise<void>;
  /** The topics of this connection. */
  readonly topics: Topics;
  /** Publishes to every subscriber of the topic, including this connection unless `excludeSelf` is set. */
  publish<S extends AnyMessageSchema>(
    topic: string,
    schema: S,
    ...rest: SendArguments<S, PublishOptions<S>>
  ): Promise<PublishResult>;
  /** The channel with these parameters, to publish on it. Throws `INVALID_ARGUMENT` for invalid parameters. */
  to<C extends AnyChannel>(channel: C, params: ParamsInput<C>): ChannelTarget<C>;
  /** Whether this connection is a member of the channel with these parameters; false when they are invalid. */
  joined<C extends AnyChannel>(channel: C, params: ParamsInput<C>): boolean;
}

/** The topics of one connection. */
export interface Topics {
  /** Subscribes to a topic; resolves once the pub/sub has confirmed it. */
  subscribe(topic: string): Promise<void>;
  /** Subscribes to several topics. */
  subscribeMany(topics: Iterable<string>): Promise<void>;
  /** Ends a subscription; does nothing without one. */
  unsubscribe(topic: string): Promise<void>;
  /** Whether the connection is subscribed to the topic. */
  has(topic: string): boolean;
  /** All topics of the connection. */
  list(): readonly string[];
}

interface MessageContext<S extends AnyMessageSchema, Data extends ConnectionData>
  extends ConnectionContext<Data>,
    Messaging {
  /** The message type. */
  readonly type: S["type"];
  /** The validated payload; undefined when the schema has none. */
  readonly payload: PayloadOutput<S>;
  /** The validated meta. */
  readonly meta: MessageMeta<S>;
  /** When the server received the message, in ms since epoch. */
  readonly receivedAt: number;
  /** Sends an error to the peer. Ends a request. */
  error(code: AnyErrorCode, message?: string, details?: ErrorDetails, options?: ErrorOptions): void;
  /** The time until the deadline in ms; `Infinity` for events. */
  timeRemaining(): number;
}

/** The context of handlers registered with `on`. */
export interface EventContext<
  S extends AnyMessageSchema = AnyMessageSchema,
  Data extends ConnectionData = ConnectionData,
> extends MessageContext<S, Data> {
  /** False: the sender expects no response. */
  readonly isRpc: false;
}

/** The context of handlers registered with `rpc`. The first `reply` or `error` ends the call. */
export interface RpcContext<S extends RpcSchema = RpcSchema, Data extends ConnectionData = ConnectionData>
  extends MessageContext<S, Data> {
  /** True: the caller waits for a response. */
  readonly isRpc: true;
  /** The validated meta, with the correlation id of the request. */
  readonly meta: MessageMeta<S> & { readonly correlationId: string };
  /** When the caller stops waiting, in ms since epoch. */
  readonly deadline: number;
  /** The id of a durable call, by which its owner can read it; undefined for other requests. */
  readonly callId: S extends { readonly durable: DurableConfig } ? string : undefined;
  /** Sends the response. Later calls are ignored. */
  reply(
    schema: S["response"],
    payload: PayloadInput<S["response"]>,
    options: SendOptions<S["response"]> & MetaOption<S["response"]> & { readonly waitFor: "drain" | "ack" },
  ): Promise<boolean>;
  reply(schema: S["response"], ...rest: SendArguments<S["response"]>): void;
  /** Sends a progress update. */
  readonly progress: SendProgress<S>;
  /** Throws an error that the schema declares, which ends the request with it. */
  readonly fail: Fail<S, FailOptions>;
  /**
   * Called once if the call is cancelled: by the caller, a disconnect, the deadline, the idle limit or a forced drain.
   * Returns a function that removes the callback.
   */
  onCancel(callback: () => unknown): () => void;
  /** Aborted when the call is cancelled. */
  readonly abortSignal: AbortSignal;
}

/**
 * With typed progress: sends an item, and resolves once it is sent. It waits while 64 items wait for the reader, or while
 * too many bytes are unsent. Await it: more than 64 items at once throw. Rejects when the call has ended.
 *
 * Without: returns false when the update was dropped, because the call has ended or the peer reads too slowly.
 */
export type SendProgress<S extends RpcSchema> = S extends { readonly progress: StandardSchema }
  ? (item: ProgressInput<S>) => Promise<void>
  : (data?: unknown) => boolean;

/** The context of middleware: the connection and the message, but not its payload. */
export interface MiddlewareContext<Data extends ConnectionData = ConnectionData>
  extends ConnectionContext<Data> {
  /** The message type. */
  readonly type: string;
  /** The validated meta. */
  readonly meta: MessageMeta;
  /** When the server received the message, in ms since epoch. */
  readonly receivedAt: number;
  /** Whether the message is a request with a handler of `rpc`. */
  readonly isRpc: boolean;
  /** Sends an error. Do not call `next()` after it. */
  error(code: AnyErrorCode, message?: string, details?: ErrorDetails, options?: ErrorOptions): void;
  /** The time until the deadline in ms; `Infinity` for events. */
  timeRemaining(): number;
  /** Calls the router's `onLimitExceeded` hooks with a limit of type `rate`. */
  reportRateLimit(exceeded: { observed: number; limit: number; retryAfterMs: number | null }): void;
}

/**
 * A function that runs around a handler. The handler runs only if the middleware calls `next()`. `Out` is the connection
 * data that it guarantees to handlers, for example `Middleware<Session, Session & { role: string }>`.
 */
export interface Middleware<In extends ConnectionData = ConnectionData, Out extends ConnectionData = In> {
  (ctx: MiddlewareContext<In>, next: () => Promise<void>): unknown;
  /** For the compiler only. */
  readonly "~guarantees"?: Out;
}

/** The connection data that handlers see behind middleware. */
export type Narrowed<Data, Out> = Data extends Out ? Data : Out extends Data ? Out : Data & Out;

/** The context of `onOpen`. */
export interface OpenContext<Data extends ConnectionData = ConnectionData>
  extends ConnectionContext<Data>,
    Messaging {}

/** The context of `onClose`. */
export interface CloseContext<Data extends ConnectionData = ConnectionData> extends ConnectionContext<Data> {
  /** The close code. */
  readonly code: number;
  /** The reason in the close frame; may be empty. */
  readonly reason: string;
}

/**
 * The context of `onError`. For a refused frame it has only `clientId` and, if it could be read, `type`; for a message
 * that could not be published, `clientId` and its `type`.
 */
export interface ErrorContext<Data extends ConnectionData = ConnectionData> {
  /** The id of the connection; empty when `router.publish` failed, which belongs to none. */
  readonly clientId: string;
  /** The type of the message. */
  readonly type?: string | undefined;
  /** The connection's data. */
  readonly data?: Data;
  /** The connection. */
  readonly ws?: Peer<Data>;
}
