/** The options of a client and their defaults. */
import type { AnyMessageSchema, MetaInput } from "../schema/message.ts";
import type { SocketLike } from "./environment.ts";

/** How the client reconnects. */
export interface ReconnectOptions {
  /** Reconnect when the connection is lost or an attempt fails. Default true. */
  readonly enabled?: boolean;
  /** Reconnection attempts before the client ends in `closed`. Default Infinity. */
  readonly maxAttempts?: number;
  /** The delay before the first attempt, in ms; it doubles with every attempt. Default 300. */
  readonly initialDelayMs?: number;
  /** The longest delay, in ms. A connection open for this long resets the backoff. Default 10,000. */
  readonly maxDelayMs?: number;
  /** `full` waits a random part of each delay, so that clients do not reconnect at the same time. Default `full`. */
  readonly jitter?: "full" | "none";
}

/** How the client authenticates. */
export interface AuthOptions {
  /** Called for every connection attempt, and before the token expires. A throw fails the attempt; null sends no token. */
  readonly getToken: () => string | null | Promise<string | null>;
  /** Send the token in the query string or as a subprotocol. Default `query`. */
  readonly attach?: "query" | "protocol";
  /** The name of the query parameter. Default `access_token`. */
  readonly queryParam?: string;
  /** The prefix of the subprotocol with the token. Default `bearer.`. */
  readonly protocolPrefix?: string;
  /** Offer the token before or after the other subprotocols. Default `append`. */
  readonly protocolPosition?: "prepend" | "append";
}

/** The options of `wsClient()`. */
export interface ClientOptions {
  /** The address of the server. In a page it may be relative. */
  readonly url: string | URL;
  /** Subprotocols of the application, offered before the subprotocol of wire. */
  readonly protocols?: string | readonly string[];
  /** How the client reconnects. */
  readonly reconnect?: ReconnectOptions;
  /** Which message is dropped when the queue is full while disconnected; `off` queues nothing. Default `drop-newest`. */
  readonly queue?: "drop-oldest" | "drop-newest" | "off";
  /** The most messages that wait for a connection. Default 1,000. */
  readonly queueSize?: number;
  /** Connect at the first `send` or `request`. Default false. */
  readonly autoConnect?: boolean;
  /** The most requests without a response, including queued ones. Default 1,000. */
  readonly pendingRequestsLimit?: number;
  /** How the client authenticates. Default: not at all. */
  readonly auth?: AuthOptions;
  /** For keys that a message's schema does not declare: reject the message, or remove the keys. Default `reject`. */
  readonly unknownKeys?: "reject" | "strip";
  /** Creates the socket; for tests and runtimes without a global WebSocket. */
  readonly wsFactory?: (url: string, protocols: string[]) => SocketLike;
}

/** Options of `client.send`. */
export interface SendOptions<S extends AnyMessageSchema = AnyMessageSchema> {
  /** Meta fields the schema declares. `clientId`, `receivedAt` and keys beginning with `$` are left out. */
  readonly meta?: MetaInput<S>;
  /** The correlation id of the message. Default: none for `send`, a new one for `request`. */
  readonly correlationId?: string;
  /**
   * With false, a message that cannot be sent immediately is dropped: `send` returns false, and reports nothing. For what
   * is outdated a moment later. Default true.
   */
  readonly queue?: boolean;
}

/** Options of `client.request`. */
export interface RequestOptions<S extends AnyMessageSchema = AnyMessageSchema>
  extends Omit<SendOptions<S>, "queue"> {
  /**
   * Time from the call to the response, in ms; also sent to the server. Default 30,000. With typed progress, it is the
   * longest silence: each item begins it again, and it does not count while items wait for the application.
   */
  readonly timeoutMs?: number;
  /** With typed progress: time from the call to the response, in ms; also sent to the server. Default: no limit. */
  readonly deadlineMs?: number;
  /** Aborting it rejects the request with `CANCELLED` and cancels it on the server. */
  readonly signal?: AbortSignal;
}

/** When `connect()` gives up. The client is then `closed`, and requests in its queue reject with `UNAVAILABLE`. */
export interface ConnectOptions {
  /** Attempts before `connect()` rejects with the error of the last one. Default: `reconnect.maxAttempts` decides. */
  readonly attempts?: number;
  /** Time until the client is open, in ms; then `connect()` rejects with `DEADLINE_EXCEEDED`. Default: no limit. */
  readonly timeoutMs?: number;
  /** Aborting it before the client is open rejects `connect()` with `CANCELLED`. */
  readonly signal?: AbortSignal;
}

/** Options of `client.close`. */
export interface CloseOptions {
  /** 1000, or 3000 to 4999. Default 1000. */
  readonly code?: number;
  /** At most 123 bytes of UTF-8. Default empty. */
  readonly reason?: string;
}
