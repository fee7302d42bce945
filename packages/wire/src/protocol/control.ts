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
  /** Client: cancels the request with this `correlationId`. Server: cancels its `$ws:ask` with this `correlationId`. */
  abort: "$ws:abort",
  /** Client: the server may send this many more progress items to the request with this `correlationId`. Payload: `Credit`. */
  credit: "$ws:credit",
  /** Server: a request to the client, with a `correlationId` of the server. Payload: `Ask`. */
  ask: "$ws:ask",
  /** Client: the end of the ask with this `correlationId`. Payload: `Answer`. */
  answer: "$ws:answer",
  /** Client: requests a pong. */
  ping: "$ws:ping",
  pong: "$ws:pong",
  /** Client: a new token, payload `{ token }`. Server: when it expires, payload `{ expiresAt? }`, in ms since epoch. */
  auth: "$ws:auth",
  /** Client: joins a channel. Payload: `{ channel, params, position?, last? }`; meta has a `correlationId`. */
  join: "$ws:join",
  /** Server: the response to a join. Payload: `Joined`. */
  joined: "$ws:joined",
  /** Client: leaves a channel. Payload: `{ channel, params }`; meta has a `correlationId`. */
  leave: "$ws:leave",
  /** Server: the connection is no longer a member. Payload: `Left`; the response to a leave, or the server's decision. */
  left: "$ws:left",
  /**
   * Server: the members of a channel have changed. Payload: `MembersChange`. Client: requests a page of the members.
   * Payload: `{ channel, params, after?, limit? }`; meta has a `correlationId`, which the response repeats. Its payload:
   * `MembersPage`.
   */
  members: "$ws:members",
} as const;

/** Any control type. The client uses string literals checked by this type, so that it does not carry the whole table. */
export type ControlType = (typeof CONTROL)[keyof typeof CONTROL];

/** How long either end waits for a frame after its ping. */
export const DEFAULT_HEARTBEAT_TIMEOUT_MS = 5_000;

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

/**
 * The payload of `$ws:gap`: published messages may be missing. `shed`: the peer read too slowly. `bus`: the broker
 * connection was interrupted. `reconnect`: the client reconnected. `retention`: the channel's history no longer has them.
 * `epoch`: the channel's history was lost.
 */
export interface Gap {
  /** Absent: all topics of the connection. */
  readonly topic?: string;
  /** Why messages may be missing. */
  readonly reason: "shed" | "retention" | "epoch" | "bus" | "reconnect";
  /** Of a channel with history: the position from which messages follow. */
  readonly position?: Position;
}

/** A place in the history of a channel. Offsets are contiguous within an epoch. */
export interface Position {
  /** Changes when the history was lost. */
  readonly epoch: string;
  /** The offset of the last message before this place; 0 before the first one. */
  readonly offset: number;
}

/** The payload of `$ws:joined`. */
export interface Joined {
  /** `$t` in the meta of the channel's messages. */
  readonly topic: string;
  /** Of a channel with history: the position from which messages follow. */
  readonly position?: Position;
  /** Of a channel with presence: all members, unless they are too many. */
  readonly members?: readonly object[];
  /** Of a channel with presence: the number of members, when they are too many for a list. */
  readonly count?: number;
  /** Whether members of other processes may be missing. */
  readonly partial?: boolean;
}

/** The payload of `$ws:members` from the server: the whole list, or what changed in it, or the number of members. */
export interface MembersChange {
  readonly topic: string;
  /** The whole list. */
  readonly members?: readonly object[];
  /** Members who joined, or show something else of themselves. */
  readonly joined?: readonly object[];
  /** The keys of members who left. */
  readonly left?: readonly string[];
  /** The number of members, when they are too many for a list. */
  readonly count?: number;
  /** Whether members of other processes may be missing. */
  readonly partial: boolean;
}

/** The payload of the response to `$ws:members`. */
export interface MembersPage {
  readonly topic: string;
  /** In the order of their keys. */
  readonly members: readonly object[];
  /** The number of all members. */
  readonly count: number;
  /** Whether members of other processes may be missing. */
  readonly partial: boolean;
  /** `after` for the next page; absent on the last page. */
  readonly next?: string;
}

/** The payload of `$ws:left`. */
export interface Left {
  readonly topic: string;
  /** `PERMISSION_DENIED`: do not join again. `UNAVAILABLE`: join again later. Absent in the response to a leave. */
  readonly code?: string;
}

/** The payload of `$ws:credit`. */
export interface Credit {
  /** A positive integer. */
  readonly n: number;
}

/** The payload of `$ws:ask`: a message for a handler of the client. */
export interface Ask {
  readonly type: string;
  readonly payload?: unknown;
}

/** The payload of `$ws:answer`: the response message, or the code of an error. */
export type Answer =
  | { readonly type: string; readonly payload?: unknown; readonly code?: undefined }
  | { readonly code: string };

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
