/** The names both ends reserve: control types and their bodies, meta keys, subprotocols and close codes. */

// Separate constants at the top of the file: a bundler inlines them, and the client does not carry all of `CLOSE`.
export const CLOSE_POLICY = 1008;
export const CLOSE_RESTARTING = 1012;
export const CLOSE_TRY_LATER = 1013;
export const CLOSE_UNAUTHENTICATED = 4401;
export const CLOSE_FORBIDDEN = 4403;

export const SUBPROTOCOL = "halyard.v1.json";
export const SUBPROTOCOL_FAMILY = "halyard.";

/** The control types: frames of the protocol itself, which never reach an application handler. */
export const CONTROL = {
  /** Server: the first frame to a peer that offered this protocol. Payload: `Hello`. */
  hello: "$ws:hello",
  /** Server: an error. Payload: `ErrorPayload`; meta has the `correlationId` of the request it ends, if any. */
  error: "$ws:error",
  /** Server: progress of a running request. Payload: the value the handler passed. */
  progress: "$ws:rpc-progress",
  /** Server: published messages were not delivered to this peer. Payload: `Gap`. */
  gap: "$ws:gap",
  /** Server: the server is draining and will close the connection. Payload: `Drain`. */
  drain: "$ws:drain",
  /** Server: a marker for the client to echo. Payload: `{ id }`. */
  sync: "$ws:sync",
  /** Client: the echo of a marker, which proves that all frames before it arrived. Payload: `{ id }`. */
  synced: "$ws:synced",
  /** Client: cancels the request with this `correlationId`. */
  abort: "$ws:abort",
  /** Client: requests a pong. */
  ping: "$ws:ping",
  pong: "$ws:pong",
  /** Client: a new token, payload `{ token }`. Server: when it expires, payload `{ expiresAt? }`, in ms since epoch. */
  auth: "$ws:auth",
} as const;

/** Any control type. The client uses string literals checked by this type, so that it does not carry the whole table. */
export type ControlType = (typeof CONTROL)[keyof typeof CONTROL];

/** The payload of `$ws:hello`. */
export interface Hello {
  readonly v: 1;
  readonly clientId: string;
  /** How long the connection may be idle before the client pings, in ms; 0: the client does not ping. */
  readonly heartbeatMs: number;
  /** How long the client waits for a frame after its ping, in ms. */
  readonly timeoutMs: number;
  readonly maxPayloadBytes: number;
  /** When the server closes this connection unless it receives a new token, in ms since epoch. */
  readonly expiresAt?: number;
}

/** The payload of `$ws:gap`: published messages may be missing. */
export interface Gap {
  /** Absent: all topics of the connection. */
  readonly topic?: string;
  /** `shed`: the peer read too slowly. `bus`: the broker connection was interrupted. The others are reserved. */
  readonly reason: "shed" | "retention" | "epoch" | "bus" | "reconnect";
}

/** The payload of `$ws:drain`. */
export interface Drain {
  /** How long the client should wait before it reconnects, in ms. */
  readonly retryAfterMs: number;
}

type CloseReason =
  | "policy"
  | "tooBig"
  | "restarting"
  | "tryLater"
  | "unauthenticated"
  | "forbidden"
  | "heartbeatLost";

export const CLOSE: Readonly<Record<CloseReason, number>> = {
  policy: CLOSE_POLICY,
  tooBig: 1009,
  restarting: CLOSE_RESTARTING,
  tryLater: CLOSE_TRY_LATER,
  unauthenticated: CLOSE_UNAUTHENTICATED,
  forbidden: CLOSE_FORBIDDEN,
  heartbeatLost: 4408,
};

/** Whether a message type belongs to the protocol. */
export function isReservedType(type: string): boolean {
  return type.startsWith("$ws:");
}

/** Whether a meta key is set by the server or the protocol, so that applications may not declare it. */
export function isReservedMetaKey(key: string): boolean {
  return key === "clientId" || key === "receivedAt" || key.startsWith("$");
}

/** Whether a meta key is allowed in every message without a declaration. */
export function isStandardMetaKey(key: string): boolean {
  return key === "correlationId" || key === "timestamp" || key === "timeoutMs";
}
