/**
 * The life of the connection as a pure function: a link and an event in, the next link out. A link says what should
 * be: a socket or none, a timer or none. `driver.ts` makes it so. There is no clock, chance or socket here.
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
 * `closed` (at first, and when nothing more will be tried), `connecting`, `open`, `closing` (waiting for the peer's
 * close), `reconnecting` (an attempt is scheduled or under way after a failure or loss).
 */
export type ClientState = "closed" | "connecting" | "open" | "closing" | "reconnecting";

export interface Link {
  readonly state: ClientState;
  /** The socket there should be, under way or open; another object is another socket. */
  readonly socket?: object;
  /** The timer there should be; another object is another timer. */
  readonly timer?: Timer | undefined;
  /** Retries since a link last held. */
  readonly attempt: number;
  /** The wait is the server's wish: nothing cuts it short. */
  readonly held?: boolean;
  /** How long the peer may be silent before it is asked for a sign of life; 0: it never is. */
  readonly heartbeatMs?: number;
  /** How long such a sign may take; undefined: the peer has not greeted, so it may not know our pings. */
  readonly timeoutMs?: number;
  /** The peer was sent a ping, and has to show a sign of life before the timer ends. */
  readonly probing?: boolean;
  /** How to close, when closing. */
  readonly farewell?: Farewell;
  /** Why nothing more will be tried, when the client ended by itself. */
  readonly loss?: Loss;
}

export interface Timer {
  readonly ms: number;
  /** The retry whose backoff is added. */
  readonly backoff?: number;
}

export interface Farewell {
  readonly code: number;
  readonly reason: string;
}

/** How an attempt or a link ended. */
export interface Loss {
  /** The close code, unless the attempt ended without one. */
  readonly code?: number;
  readonly reason?: string;
  /** Why there was no socket to close. */
  readonly error?: Error;
}

export type LinkEvent =
  | { readonly type: "connect" }
  | ({ readonly type: "close" } & Farewell)
  /** The socket is open. `greets`: the peer will say hello, and only then is the link open. */
  | { readonly type: "opened"; readonly greets: boolean }
  | { readonly type: "hello"; readonly heartbeatMs: number; readonly timeoutMs: number }
  | ({ readonly type: "lost" } & Loss)
  /** The timer has ended. */
  | { readonly type: "timer" }
  /** The network or the page has come back. */
  | { readonly type: "wake" };

/** What the driver sees at the moment of an event. */
export interface Sight {
  /** How long the link has been open, when it is. */
  readonly openMs: number;
  /** How long the peer has been silent; Infinity: it has not been heard since the ping. */
  readonly silentMs: number;
}

export const CLOSED: Link = { state: "closed", attempt: 0 };

/** Close codes after which another attempt would end the same way, and the error they stand for. */
export const FATAL: Readonly<Record<number, ErrorCode>> = {
  [CLOSE_POLICY]: "PERMISSION_DENIED",
  [CLOSE_UNAUTHENTICATED]: "UNAUTHENTICATED",
  [CLOSE_FORBIDDEN]: "PERMISSION_DENIED",
};

export function reduce(link: Link, event: LinkEvent, sight: Sight, reconnect: ReconnectOptions): Link {
  const { state, socket, probing, heartbeatMs = 0 } = link;
  const { silentMs } = sight;
  const isOpen = state === "open";
  const isWaiting = state === "reconnecting" && !socket;
  const isDialing = socket && !isOpen && state !== "closing";
  switch (event.type) {
    case "connect":
      return state === "closed" ? dial({ ...CLOSED, state: "connecting" }) : link;
    case "close":
      if (isOpen) return { ...link, state: "closing", farewell: event, timer: { ms: CLOSE_TIMEOUT_MS } };
      return state === "closing" ? link : CLOSED;
    case "opened":
      if (!isDialing) return link;
      return event.greets
        ? { ...link, timer: { ms: ATTEMPT_TIMEOUT_MS } }
        : { ...link, state: "open", timer: undefined };
    case "hello":
      if (!isDialing && !isOpen) return link;
      return rest({ ...link, state: "open", heartbeatMs: event.heartbeatMs, timeoutMs: event.timeoutMs }, 0);
    case "lost":
      return lose(link, event, sight, reconnect);
    case "timer":
      if (isWaiting) return dial(link);
      if (!isOpen || (probing && !Number.isFinite(silentMs))) return lose(link, {}, sight, reconnect);
      return probing || silentMs < heartbeatMs ? rest(link, silentMs) : probe(link);
    case "wake": {
      const fresh = { ...link, attempt: 0 };
      if (isWaiting && !link.held) return dial(fresh);
      return isOpen && !probing ? probe(fresh) : fresh;
    }
  }
}

function dial(link: Link): Link {
  return { ...link, socket: {}, timer: { ms: ATTEMPT_TIMEOUT_MS } };
}

/** Waits until the peer has been silent for its heartbeat. */
function rest(link: Link, silentMs: number): Link {
  const { heartbeatMs = 0 } = link;
  const ms = Math.max(SHORTEST_REST_MS, heartbeatMs - silentMs);
  return { ...link, probing: false, timer: heartbeatMs > 0 ? { ms } : undefined };
}

function probe(link: Link): Link {
  const { timeoutMs } = link;
  return timeoutMs === undefined ? link : { ...link, probing: true, timer: { ms: timeoutMs } };
}

function lose(link: Link, loss: Loss, { openMs }: Sight, reconnect: ReconnectOptions): Link {
  const {
    enabled = true,
    maxAttempts = Number.POSITIVE_INFINITY,
    maxDelayMs = DEFAULT_MAX_DELAY_MS,
  } = reconnect;
  if (link.state === "closing") return CLOSED;
  if (!link.socket) return link;
  const backoff = link.state === "open" && openMs >= maxDelayMs ? 0 : link.attempt;
  if (FATAL[loss.code ?? 0] || !enabled || backoff >= maxAttempts) return { ...CLOSED, loss };
  const ms = retryAfterOf(loss);
  return { state: "reconnecting", attempt: backoff + 1, held: ms > 0, timer: { ms, backoff } };
}

function retryAfterOf({ code, reason = "" }: Loss): number {
  const delay = /^retryAfterMs=(\d+)$/.exec(reason);
  const isAsked = delay && (code === CLOSE_RESTARTING || code === CLOSE_TRY_LATER);
  return isAsked ? Math.min(Number(delay[1]), LONGEST_RETRY_AFTER_MS) : 0;
}
