/** What handlers, middleware and hooks are given: the interfaces are the documentation. */
import type { AnyErrorCode, ErrorDetails } from "../protocol/error.ts";
import type { PublishResult } from "../pubsub/pubsub.ts";
import type {
  AnyMessageSchema,
  MessageArguments,
  MetaInput,
  MetaOption,
  MetaOutput,
  PayloadInput,
  PayloadOutput,
  RpcSchema,
  StandardMeta,
} from "../schema/message.ts";
import type { ConnectionData, Peer, ServerContext } from "./peer.ts";

/** The meta of a message as its handler sees it. */
export type MessageMeta<S extends AnyMessageSchema = AnyMessageSchema> = Readonly<
  StandardMeta & {
    readonly clientId: string;
    /** When the server got the message, in ms since epoch. */
    readonly receivedAt: number;
  } & MetaOutput<S>
>;

export interface SendOptions<S extends AnyMessageSchema = AnyMessageSchema> {
  /** Aborted before the frame is handed over: it is not sent. Aborted while waiting: `waitFor` gives false. */
  readonly signal?: AbortSignal;
  readonly meta?: MetaInput<S>;
  /** Carry the correlation id of the message being handled. */
  readonly inheritCorrelationId?: boolean;
  /**
   * `drain`: true once the connection's unsent bytes are under `socketBufferLimitBytes`.
   * `ack`: true once the peer proved that it got the frame, false after `rpcTimeoutMs`.
   */
  readonly waitFor?: "drain" | "ack";
}

export interface ErrorOptions {
  readonly retryable?: boolean;
  /** Not allowed with a terminal code. */
  readonly retryAfterMs?: number;
}

export interface PublishOptions<S extends AnyMessageSchema = AnyMessageSchema> {
  /** Leave the publishing connection out. Without effect on `router.publish`. */
  readonly excludeSelf?: boolean;
  /** Passed on to the pub/sub. */
  readonly partitionKey?: string;
  readonly meta?: MetaInput<S>;
}

export type SendArguments<S extends AnyMessageSchema, Options = SendOptions<S>> = MessageArguments<
  S,
  Options
>;

/** What every context can do with its connection. */
export interface ConnectionContext<Data extends ConnectionData = ConnectionData> {
  readonly clientId: string;
  readonly ws: Peer<Data>;
  readonly data: Data;
  /** The `context` option of the server. */
  readonly context: ServerContext;
  /** Merges fields into the connection's data, shallowly. `clientId` stays as it is. */
  assignData(partial: Partial<Data>): void;
  /** One field of the connection's data; undefined when unset. */
  getData<K extends keyof Data>(key: K): Data[K] | undefined;
}

export interface Messaging {
  /**
   * Sends a message to this peer. A payload that does not fit throws `INTERNAL` and sends nothing.
   * With `waitFor`, resolves to whether it got there.
   */
  send<S extends AnyMessageSchema>(
    schema: S,
    payload: PayloadInput<S>,
    options: SendOptions<S> & MetaOption<S> & { readonly waitFor: "drain" | "ack" },
  ): Promise<boolean>;
  send<S extends AnyMessageSchema>(schema: S, ...rest: SendArguments<S>): void;
  /** Returns a promise where the authorizer or the pub/sub is asynchronous. */
  subscribe(topic: string): void | Promise<void>;
  unsubscribe(topic: string): void | Promise<void>;
  readonly topics: Topics;
  /** Publishes to every subscriber of the topic, this connection too unless `excludeSelf`. */
  publish<S extends AnyMessageSchema>(
    topic: string,
    schema: S,
    ...rest: SendArguments<S, PublishOptions<S>>
  ): Promise<PublishResult>;
}

/** The topics of one connection. */
export interface Topics {
  subscribe(topic: string): Promise<void>;
  subscribeMany(topics: Iterable<string>): Promise<void>;
  unsubscribe(topic: string): Promise<void>;
  has(topic: string): boolean;
  list(): readonly string[];
}

interface MessageContext<S extends AnyMessageSchema, Data extends ConnectionData>
  extends ConnectionContext<Data>,
    Messaging {
  readonly type: S["type"];
  /** Checked against the schema; undefined when it has no payload. */
  readonly payload: PayloadOutput<S>;
  readonly meta: MessageMeta<S>;
  /** When the server got the message, in ms since epoch. */
  readonly receivedAt: number;
  /** Sends an error to the peer; ends a request. */
  error(code: AnyErrorCode, message?: string, details?: ErrorDetails, options?: ErrorOptions): void;
  /** How long the caller still waits, in ms: `Infinity` for events. */
  timeRemaining(): number;
}

/** Given to handlers registered with `on`. */
export interface EventContext<
  S extends AnyMessageSchema = AnyMessageSchema,
  Data extends ConnectionData = ConnectionData,
> extends MessageContext<S, Data> {
  readonly isRpc: false;
}

/** Given to handlers registered with `rpc`. The call ends with the first `reply` or `error`. */
export interface RpcContext<S extends RpcSchema = RpcSchema, Data extends ConnectionData = ConnectionData>
  extends MessageContext<S, Data> {
  readonly isRpc: true;
  readonly meta: MessageMeta<S> & { readonly correlationId: string };
  /** When the caller gives up, in ms since epoch. */
  readonly deadline: number;
  /** Answers the request. Later answers are ignored. */
  reply(
    schema: S["response"],
    payload: PayloadInput<S["response"]>,
    options: SendOptions<S["response"]> & MetaOption<S["response"]> & { readonly waitFor: "drain" | "ack" },
  ): Promise<boolean>;
  reply(schema: S["response"], ...rest: SendArguments<S["response"]>): void;
  /** Sends news of the running call. False when it was dropped: the call is over, or the peer reads too slowly. */
  progress(data?: unknown): boolean;
  /** Runs once if the call is cancelled: by abort, disconnect, deadline, idleness or a forced drain. Gives back an unregister function. */
  onCancel(callback: () => unknown): () => void;
  /** Aborted when the call is cancelled. */
  readonly abortSignal: AbortSignal;
}

/** Given to middleware: who and what, but not the payload. */
export interface MiddlewareContext<Data extends ConnectionData = ConnectionData>
  extends ConnectionContext<Data> {
  readonly type: string;
  readonly meta: MessageMeta;
  readonly receivedAt: number;
  readonly isRpc: boolean;
  /** Answers with an error; do not call `next()` then. */
  error(code: AnyErrorCode, message?: string, details?: ErrorDetails, options?: ErrorOptions): void;
  timeRemaining(): number;
  /** Runs the router's `onLimitExceeded` hooks with a limit of type `rate`. */
  reportRateLimit(exceeded: { observed: number; limit: number; retryAfterMs: number | null }): void;
}

/** Runs around a handler. Without `next()` the handler does not run. */
export type Middleware<Data extends ConnectionData = ConnectionData> = (
  ctx: MiddlewareContext<Data>,
  next: () => Promise<void>,
) => unknown;

export interface OpenContext<Data extends ConnectionData = ConnectionData>
  extends ConnectionContext<Data>,
    Messaging {}

export interface CloseContext<Data extends ConnectionData = ConnectionData> extends ConnectionContext<Data> {
  readonly code: number;
  readonly reason: string;
}

/** What is known of a failure. A frame that was refused has no more than `clientId` and, if it could be read, `type`. */
export interface ErrorContext<Data extends ConnectionData = ConnectionData> {
  readonly clientId: string;
  readonly type?: string | undefined;
  readonly data?: Data;
  readonly ws?: Peer<Data>;
}
