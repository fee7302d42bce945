/**
 * The state machine of the connection as a pure function: `reduce(connection, event)` returns the next connection. A
 * connection describes the socket and the timer that should exist; `driver.ts` creates them. No clock, random number or
 * socket is used here.
 */
import {
  CLOSE_FORBIDDEN,
  CLOSE_POLICY,
  CLOSE_RESTARTING,
  CLOSE_TRY_LATER,
  CLOSE_UNAUTHENTICATED,
} from "../protocol/control.ts";
import type { ErrorCode } from "../protocol/error.ts";
import {
  ATTEMPT_TIMEOUT_MS,
  CLOSE_TIMEOUT_MS,
  DEFAULT_MAX_DELAY_MS,
  LONGEST_RETRY_AFTER_MS,
  SHORTEST_REST_MS,
} from "./bounds.ts";
import type { ReconnectOptions } from "./options.ts";

/**
 * `closed` (at first, and when no further attempt will be made), `connecting`, `open`, `closing` (waiting for the
 * server's close frame), `reconnecting` (an attempt is scheduled or running after a failure or loss).
 */
export type ClientState = "closed" | "connecting" | "open" | "closing" | "reconnecting";

export interface Connection {
  readonly state: ClientState;
  /** Identifies the socket that should exist, connecting or open; a new object means a new socket. */
  readonly socket?: object | undefined;
  /** The timer that should exist; a new object means a new timer. */
  readonly timer?: Timer | undefined;
  /** Failures since a connection was last stable: failed attempts, and the loss before them. */
  readonly attempt: number;
  /** Replaces `reconnect.maxAttempts` until the connection is open. */
  readonly maxAttempts?: number | undefined;
  /** The server asked for this delay, so `wake` does not shorten it. */
  readonly held?: boolean;
  /** How long the server may be silent before the client pings it, in ms; 0: never. */
  readonly heartbeatMs?: number;
  /** How long the reply to a ping may take, in ms; undefined without a hello: the server may not understand pings. */
  readonly timeoutMs?: number;
  /** A ping was sent, and a frame must arrive before the timer ends. */
  readonly probing?: boolean;
  /** The close frame to send, when closing. */
  readonly closing?: CloseFrame;
  /** How the last attempt or connection ended; undefined when open, or closed by the application. */
  readonly loss?: Loss;
}

export interface Timer {
  readonly ms: number;
  /** The number of the retry whose backoff is added to `ms`. */
  readonly backoff?: number;
}

export interface CloseFrame {
  readonly code: number;
  readonly reason: string;
}

/** How an attempt or a connection ended. */
export interface Loss {
  /** The close code; undefined when there was none. */
  readonly code?: number;
  readonly reason?: string;
  /** The error of the socket, or why no socket could be created. */
  readonly error?: Error | undefined;
  /** Another attempt may succeed after a fatal close code, because the token has expired. */
  readonly retryable?: boolean;
}

export type ConnectionEvent =
  | { readonly type: "connect"; readonly attempts?: number | undefined }
  | ({ readonly type: "close" } & CloseFrame)
  /** The socket is open. `greets`: the server will send hello, and the connection is open only after that. */
  | { readonly type: "opened"; readonly greets: boolean }
  | { readonly type: "hello"; readonly heartbeatMs: number; readonly timeoutMs: number }
  | ({ readonly type: "lost" } & Loss)
  /** The timer has ended. */
  | { readonly type: "timer" }
  /** The network is online again, or the page is visible again. */
  | { readonly type: "wake" };

/** Durations at the time of an event. */
export interface Elapsed {
  /** How long the connection has been open, in ms. */
  readonly openMs: number;
  /** How long the server has been silent, in ms; not finite: no frame arrived since the ping. */
  readonly silentMs: number;
}

export const CLOSED: Connection = { state: "closed", attempt: 0 };

/** Close codes after which another attempt would fail the same way, and the error for each. */
export const FATAL: Readonly<Record<number, ErrorCode>> = {
  [CLOSE_POLICY]: "PERMISSION_DENIED",
  [CLOSE_UNAUTHENTICATED]: "UNAUTHENTICATED",
  [CLOSE_FORBIDDEN]: "PERMISSION_DENIED",
};

export function reduce(
  connection: Connection,
  event: ConnectionEvent,
  elapsed: Elapsed,
  reconnect: ReconnectOptions,
): Connection {
  const { state, socket, probing, heartbeatMs = 0 } = connection;
  const { silentMs } = elapsed;
  const isOpen = state === "open";
  const isWaiting = state === "reconnecting" && !socket;
  const isDialing = socket && !isOpen && state !== "closing";
  switch (event.type) {
    case "connect": {
      const { attempts } = event;
      const next = state === "closed" ? dial({ ...CLOSED, state: "connecting" }) : connection;
      return attempts ? { ...next, maxAttempts: next.attempt + attempts - 1 } : next;
    }
    case "close":
      if (isOpen) return { ...connection, state: "closing", closing: event, timer: { ms: CLOSE_TIMEOUT_MS } };
      return state === "closing" ? connection : CLOSED;
    case "opened":
      if (!isDialing) return connection;
      return event.greets ? { ...connection, timer: { ms: ATTEMPT_TIMEOUT_MS } } : open(connection);
    case "hello":
      if (!isDialing && !isOpen) return connection;
      return rest({ ...open(connection), heartbeatMs: event.heartbeatMs, timeoutMs: event.timeoutMs }, 0);
    case "lost":
      return lose(connection, event, elapsed, reconnect);
    case "timer":
      if (isWaiting) return dial(connection);
      if (!isOpen || (probing && !Number.isFinite(silentMs))) return lose(connection, {}, elapsed, reconnect);
      return probing || silentMs < heartbeatMs ? rest(connection, silentMs) : probe(connection);
    case "wake": {
      const reset = { ...connection, attempt: 0 };
      if (isWaiting && !connection.held) return dial(reset);
      return isOpen && !probing ? probe(reset) : reset;
    }
  }
}

function dial(connection: Connection): Connection {
  return { ...connection, socket: {}, timer: { ms: ATTEMPT_TIMEOUT_MS } };
}

function open({ socket, attempt }: Connection): Connection {
  return { state: "open", socket, attempt };
}

/** Waits until the server has been silent for `heartbeatMs`. */
function rest(connection: Connection, silentMs: number): Connection {
  const { heartbeatMs = 0 } = connection;
  const ms = Math.max(SHORTEST_REST_MS, heartbeatMs - silentMs);
  return { ...connection, probing: false, timer: heartbeatMs > 0 ? { ms } : undefined };
}

function probe(connection: Connection): Connection {
  const { timeoutMs } = connection;
  return timeoutMs === undefined ? connection : { ...connection, probing: true, timer: { ms: timeoutMs } };
}

function lose(
  connection: Connection,
  loss: Loss,
  { openMs }: Elapsed,
  reconnect: ReconnectOptions,
): Connection {
  const { state, socket, maxAttempts } = connection;
  if (state === "closing") return CLOSED;
  if (!socket) return connection;
  const { enabled = true, maxDelayMs = DEFAULT_MAX_DELAY_MS } = reconnect;
  const backoff = state === "open" && openMs >= maxDelayMs ? 0 : connection.attempt;
  const attempt = backoff + 1;
  // Without a limit there is always another attempt.
  const limit = maxAttempts ?? reconnect.maxAttempts ?? attempt;
  if ((FATAL[loss.code ?? 0] && !loss.retryable) || !enabled || backoff >= limit)
    return { ...CLOSED, attempt, loss };
  const ms = retryAfterOf(loss);
  return { state: "reconnecting", attempt, maxAttempts, held: ms > 0, timer: { ms, backoff }, loss };
}

function retryAfterOf({ code, reason = "" }: Loss): number {
  const isAsked = code === CLOSE_RESTARTING || code === CLOSE_TRY_LATER;
  const delay = isAsked && /^retryAfterMs=(\d+)$/.exec(reason);
  return delay ? Math.min(Number(delay[1]), LONGEST_RETRY_AFTER_MS) : 0;
}
