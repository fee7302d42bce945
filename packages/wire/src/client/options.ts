/** What a client can be told: its options, with their defaults. */
import type { AnyMessageSchema, MetaInput } from "../schema/message.ts";
import type { SocketLike } from "./environment.ts";

export interface ReconnectOptions {
  /** Come back by itself when the link is lost or an attempt fails. Default true. */
  readonly enabled?: boolean;
  /** Attempts after the first failure or loss, until the client ends in `closed`. Default Infinity. */
  readonly maxAttempts?: number;
  /** The first wait; it doubles with every attempt. Default 300. */
  readonly initialDelayMs?: number;
  /** The longest wait, and how long a link must hold before the waits start over. Default 10,000. */
  readonly maxDelayMs?: number;
  /** `full` waits a random part of each delay, so that clients do not come back all at once. Default `full`. */
  readonly jitter?: "full" | "none";
}

export interface AuthOptions {
  /** Asked on every connect, and before the server's `expiresAt`. A throw is a failed attempt; null is no token. */
  readonly getToken: () => string | null | Promise<string | null>;
  /** Where the token goes: the query string or the offered subprotocols. Default `query`. */
  readonly attach?: "query" | "protocol";
  /** Default `access_token`. */
  readonly queryParam?: string;
  /** Default `bearer.`. */
  readonly protocolPrefix?: string;
  /** Before or after the other subprotocols. Default `append`. */
  readonly protocolPosition?: "prepend" | "append";
}

export interface ClientOptions {
  /** Where the server is. In a page it may be relative. */
  readonly url: string | URL;
  /** Subprotocols of the application, offered before wire's own. */
  readonly protocols?: string | readonly string[];
  readonly reconnect?: ReconnectOptions;
  /** What becomes of messages while there is no open link, once `queueSize` wait. Default `drop-newest`. */
  readonly queue?: "drop-oldest" | "drop-newest" | "off";
  /** Default 1000. */
  readonly queueSize?: number;
  /** Connect with the first `send` or `request`. Default false. */
  readonly autoConnect?: boolean;
  /** Requests without an answer, queued ones included. Default 1000. */
  readonly pendingRequestsLimit?: number;
  readonly auth?: AuthOptions;
  /** Keys in a server's message that its schema does not know: refuse the message, or drop them. Default `reject`. */
  readonly unknownKeys?: "reject" | "strip";
  /** Makes the socket; for tests and for runtimes without a global WebSocket. */
  readonly wsFactory?: (url: string, protocols: string[]) => SocketLike;
}

export interface SendOptions<S extends AnyMessageSchema = AnyMessageSchema> {
  /** Meta fields the schema declares. `clientId`, `receivedAt` and keys beginning with `$` are left out. */
  readonly meta?: MetaInput<S>;
  readonly correlationId?: string;
}

export interface RequestOptions<S extends AnyMessageSchema = AnyMessageSchema> extends SendOptions<S> {
  /** Counted from the call, and told to the server. Default 30,000. */
  readonly timeoutMs?: number;
  /** Aborting it rejects the request with `CANCELLED` and tells the server. */
  readonly signal?: AbortSignal;
}

export interface CloseOptions {
  /** 1000, or one from 3000 to 4999. Default 1000. */
  readonly code?: number;
  /** At most 123 bytes. */
  readonly reason?: string;
}
