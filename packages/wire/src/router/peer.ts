/** What a connection is to the application, and to the adapter that carries it. */

/**
 * Fields every connection's data has. Declare your own once, for all routers:
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
  /** UUID v7, chosen by the server. An identifier, never a credential. */
  readonly clientId: string;
}

/** The object in `ServeOptions.context`. Declare its fields once to type `ctx.context`. */
export interface ServerContext {
  [key: string]: unknown;
}

/** The connection as hooks and handlers see it: the same object every time. */
export interface Peer<Data extends ConnectionData = ConnectionData> {
  readonly clientId: string;
  readonly data: Data;
  /** Bytes accepted for this peer that the platform has not sent yet. */
  readonly bufferedBytes: number;
  /** Ends the connection; `onClose` gets this code. Default 1000. */
  close(code?: number, reason?: string): void;
}

/** What became of a frame: gone, waiting in the platform's buffer, or lost. */
export type SendOutcome = "sent" | "queued" | "dropped";

/** One frame for many connections: a platform may keep with it what it made of the text. */
export interface SharedFrame {
  readonly topic: string;
  readonly text: string;
  encoded: unknown;
}

/** What there is to remember of a connection; `state` is whether it is admitted, and whether it is closing. */
export type ConnectionPart = "data" | "topics" | "calls" | "state";

/** Where a platform writes the frames of a topic together: one may follow another without asking each peer again. */
export interface SharedWriter {
  /** Sends the frame to all who took the topic's last one just now; false unless they are so many, and none of them slow. */
  follow(frame: SharedFrame, takers: number): boolean;
  /** Others are subscribed to the topic from now on. */
  regroup(topic: string): void;
}

/** What a platform adapter gives for each connection. An absent member is an absent capability. */
export interface Socket {
  readonly bufferedBytes: number;
  send(frame: string): SendOutcome;
  /** Sends a frame that many connections get. */
  sendShared?(frame: SharedFrame): SendOutcome;
  /** Starts to close; the platform ends a peer that does not answer within a second. */
  close(code: number, reason: string): void;
  /** Hands over what the adapter still holds back, so that `bufferedBytes` says what the peer has not taken. */
  flush?(): void;
  /** The platform does not tell `bufferedBytes`; what waits for a drain then waits for the peer's acknowledgement. */
  readonly hidesBuffer?: true;
  /** A part of the connection has changed: for platforms that have to remember it. */
  changed?(part: ConnectionPart): void;
  /** Sends a WebSocket ping. */
  ping?(): void;
  /** Subscribes the socket to a topic of the platform's engine. */
  subscribe?(topic: string): void;
  unsubscribe?(topic: string): void;
  /** Publishes to every socket subscribed in the engine but this one. */
  publish?(topic: string, frame: string): void;
}

/** What the adapter gets back, to report each event of the socket. */
export interface SocketEvents {
  /** A text frame as string, a binary frame as bytes. */
  receive(frame: string | Uint8Array): void;
  /** A WebSocket ping or pong came: a sign of life. */
  pong(): void;
  /** The platform's buffer is empty again. */
  drained(): void;
  /** A frame was larger than the limit; the adapter closes with 1009. */
  tooLarge(observedBytes?: number): void;
  /** The connection is gone. */
  closed(code: number, reason: string): void;
}
