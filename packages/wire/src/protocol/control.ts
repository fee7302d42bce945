/** The names both ends reserve: control types and their bodies, meta keys, subprotocols and close codes. */

// Close codes one by one, and before all else: only so a bundler inlines them, where it would carry all of `CLOSE`.
export const CLOSE_POLICY = 1008;
export const CLOSE_RESTARTING = 1012;
export const CLOSE_TRY_LATER = 1013;
export const CLOSE_UNAUTHENTICATED = 4401;
export const CLOSE_FORBIDDEN = 4403;

export const SUBPROTOCOL = "halyard.v1.json";
export const SUBPROTOCOL_FAMILY = "halyard.";

/** Frames of the protocol itself; none of them ever reaches a handler of the application. */
export const CONTROL = {
  /** Server: the first frame to a peer that speaks this protocol. Payload: `Hello`. */
  hello: "$ws:hello",
  /** Server: a failure. Payload: `ErrorPayload`; meta has the request's `correlationId`, if it answers one. */
  error: "$ws:error",
  /** Server: news of a running request. Payload: whatever the handler gave. */
  progress: "$ws:rpc-progress",
  /** Server: something published to this peer was not delivered. Payload: `Gap`. */
  gap: "$ws:gap",
  /** Server: this server is going away. Payload: `Drain`. */
  drain: "$ws:drain",
  /** Server: a marker for the client to echo. Payload: `{ id }`. */
  sync: "$ws:sync",
  /** Client: the echo, which proves that all frames before the marker arrived. Payload: `{ id }`. */
  synced: "$ws:synced",
  /** Client: gives up the request with this `correlationId`. */
  abort: "$ws:abort",
  /** Client: asks for a pong. */
  ping: "$ws:ping",
  pong: "$ws:pong",
  /** Client: a new token, payload `{ token }`. Server: how long it holds, payload `{ expiresAt? }`. */
  auth: "$ws:auth",
} as const;

/** Any of them; the client writes them out, checked by this type, so that it carries only those it knows. */
export type ControlType = (typeof CONTROL)[keyof typeof CONTROL];

export interface Hello {
  readonly v: 1;
  readonly clientId: string;
  /** How long a client may be idle before it pings; 0 when the server watches nobody. */
  readonly heartbeatMs: number;
  /** How long a client waits for a sign of life after that. */
  readonly timeoutMs: number;
  readonly maxPayloadBytes: number;
  /** When the server will close this connection unless a new token comes, in ms since epoch. */
  readonly expiresAt?: number;
}

export interface Gap {
  readonly topic?: string;
  readonly reason: "shed" | "retention" | "epoch" | "bus" | "reconnect";
}

export interface Drain {
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

/** A message type that belongs to the protocol. */
export function isReservedType(type: string): boolean {
  return type.startsWith("$ws:");
}

/** A meta key that no application may declare: only the server, or the protocol, sets it. */
export function isReservedMetaKey(key: string): boolean {
  return key === "clientId" || key === "receivedAt" || key.startsWith("$");
}

/** A meta key every message may carry without declaring it. */
export function isStandardMetaKey(key: string): boolean {
  return key === "correlationId" || key === "timestamp" || key === "timeoutMs";
}
