/** The interfaces of a connection towards the application (`Peer`) and towards the platform adapter (`Socket`). */
import type { MessageArguments } from "../../schema/arguments.ts";
import type { ReceivedMessage, RpcSchema } from "../../schema/message.ts";

/**
 * The fields of every connection's data. Declare your own once, for all routers:
 *
 * ```ts
 * declare module "@halyard/wire" {
 *   interface ConnectionData {
 *     userId?: string;
 *   }
 * }
 * ```
 */
export interface ConnectionData {
  /** A UUID v7 chosen by the server. An identifier, not a credential. */
  readonly clientId: string;
}

/** A connection's data as the router keeps it; only the application knows the type of its own fields. */
export type AnyData = { readonly clientId: string } & Record<string, unknown>;

/** The object in `ServeOptions.context`. Declare its fields once to type `ctx.context`. */
export interface ServerContext {
  /** Fields of the application. */
  [key: string]: unknown;
}

/** A connection as hooks and handlers see it; always the same object for one connection. */
export interface Peer<Data extends ConnectionData = ConnectionData> {
  /** The id of the connection. */
  readonly clientId: string;
  /** The connection's data. */
  readonly data: Data;
  /** Bytes accepted for this peer that the platform has not sent yet. */
  readonly bufferedBytes: number;
  /** Closes the connection; `onClose` gets this code. Default 1000 with an empty reason. */
  close(code?: number, reason?: string): void;
  /**
   * Sends a request to this client, which answers it with `handle()`, and resolves to the response `{ type, meta,
   * payload }`. Rejects with the code of the client's error, `UNIMPLEMENTED` without a handler, `DEADLINE_EXCEEDED` after
   * `timeoutMs`, and `UNAVAILABLE` when the client leaves.
   */
  request<S extends RpcSchema & { readonly meta: undefined }>(
    schema: S,
    ...args: MessageArguments<S, AskOptions>
  ): Promise<ReceivedMessage<S["response"]>>;
}

/** Options of `ctx.ws.request`. */
export interface AskOptions {
  /** Time from the call to the response, in ms; at most 300,000. Default: `rpcTimeoutMs` of the router. */
  readonly timeoutMs?: number;
  /** Aborting it rejects the request with `CANCELLED` and cancels it at the client. */
  readonly signal?: AbortSignal;
}

/** The result of sending a frame: sent, waiting in the platform's buffer, or dropped. */
export type SendOutcome = "sent" | "queued" | "dropped";

/** One frame for many connections. The platform may store its encoded form in `encoded`. */
export interface SharedFrame {
  /** The topic it was published to; empty for a message of `send` with the option `shared`. */
  readonly topic: string;
  /** The frame as JSON. */
  readonly text: string;
  /** The platform's own form of the frame. */
  encoded: unknown;
  /** Called with a slow connection instead of dropping the frame: the connection gets it later, from the history. */
  readonly fallBehind?: ((connection: object) => void) | undefined;
}

/** A part of a connection that platforms with hibernation persist; `state`: whether it is admitted or closing. */
export type ConnectionPart = "data" | "topics" | "channels" | "calls" | "state";

/** A platform that writes the frames of a topic in batches: a frame may follow another without checking each peer again. */
export interface SharedWriter {
  /** Sends the frame to all connections that took the topic's last frame. Returns false if their number is not `takers`, one is slow, or the batch is full. */
  follow(frame: SharedFrame, takers: number): boolean;
  /** The subscribers of the topic have changed. */
  regroup(topic: string): void;
}

/** The socket of one connection, implemented by the platform adapter. Optional members are capabilities. */
export interface Socket {
  /** Bytes that the platform has not sent yet. */
  readonly bufferedBytes: number;
  /**
   * Bytes that the operating system has taken so far, so that progress within one large frame is visible. A platform
   * without it calls `SocketEvents.drained` whenever some bytes were sent.
   */
  readonly sentBytes?: number;
  /** Sends a text frame. Returns `closed` when the peer has closed the connection, and its end was not reported yet. */
  send(frame: string): SendOutcome | "closed";
  /** Sends a frame that many connections get. */
  sendShared?(frame: SharedFrame): SendOutcome | "closed";
  /** Sends a close frame; the platform terminates a peer that does not answer it within a second. */
  close(code: number, reason: string): void;
  /** Writes the frames that the adapter holds back, so that `bufferedBytes` counts only what the peer has not read. */
  flush?(): void;
  /** Set when the platform does not report `bufferedBytes`; `waitFor: "drain"` then waits for the peer's acknowledgement. */
  readonly hidesBuffer?: true;
  /** A part of the connection has changed; for platforms that persist it. */
  changed?(part: ConnectionPart): void;
  /** Sends a WebSocket ping. */
  ping?(): void;
  /** Subscribes the socket to a topic of the platform's engine. */
  subscribe?(topic: string): void;
  /** Ends a subscription in the platform's engine. */
  unsubscribe?(topic: string): void;
  /** Publishes to every other socket that is subscribed in the engine. */
  publish?(topic: string, frame: string): void;
}

/** The events of a socket, which the adapter reports to the connection. */
export interface SocketEvents {
  /** A text frame as string, a binary frame as bytes. */
  receive(frame: string | Uint8Array): void;
  /** A WebSocket ping or pong arrived. */
  pong(): void;
  /** Bytes were sent from the platform's buffer, which may be empty again. */
  drained(): void;
  /** A frame was larger than the limit; the adapter closes with 1009. */
  tooLarge(observedBytes?: number): void;
  /** The connection is gone. */
  closed(code: number, reason: string): void;
}
