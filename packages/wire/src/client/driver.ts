/** Creates and closes the socket and the timer that the state machine (`connection.ts`) requires. The only file that holds a socket. */
import { CLOSE_UNAUTHENTICATED } from "../protocol/control.ts";
import { WsError } from "../protocol/error.ts";
import { address, tokenOf } from "./auth.ts";
import { backoffMs } from "./backoff.ts";
import { CLOSED, type ClientState, type Connection, type ConnectionEvent, reduce } from "./connection.ts";
import { type Environment, later, onWake, type SocketLike } from "./environment.ts";
import { failure } from "./failures.ts";
import type { ClientOptions } from "./options.ts";
import { text } from "./texts.ts";

export interface Driver {
  state(): ClientState;
  /** The socket, while the connection is open and the socket is not closing. */
  socket(): SocketLike | undefined;
  /** Handles an event. An event that a callback causes is handled after the current one. */
  dispatch(event: ConnectionEvent): void;
}

/**
 * `changed` is called for every new state, and for every attempt that failed; `retryMs` is the delay before the next
 * attempt. `isExpired` tells whether the token of the open connection has expired.
 */
export function createDriver(
  options: ClientOptions,
  environment: Environment,
  changed: (connection: Connection, before: ClientState, retryMs: number | undefined) => void,
  received: (frame: unknown) => void,
  isExpired: () => boolean,
): Driver {
  const { performance } = environment;
  const {
    auth,
    reconnect = {},
    wsFactory = (url, protocols) => new environment.WebSocket(url, protocols),
  } = options;
  const events: ConnectionEvent[] = [];
  let isRunning = false;
  let connection = CLOSED;
  let socket: SocketLike | undefined;
  let cancelTimer: (() => void) | undefined;
  let openedAt = 0;
  let lastFrameAt = 0;
  let stopWaking: (() => void) | undefined;

  function dispatch(event: ConnectionEvent): void {
    events.push(event);
    if (isRunning) return;
    isRunning = true;
    try {
      for (let next = events.shift(); next; next = events.shift()) step(next);
    } finally {
      isRunning = false;
    }
  }

  function step(event: ConnectionEvent): void {
    const before = connection;
    const at = performance.now();
    connection = reduce(before, event, { openMs: at - openedAt, silentMs: at - lastFrameAt }, reconnect);
    const { state, socket: wanted, timer, closing } = connection;
    if (wanted !== before.socket) {
      socket?.close();
      socket = undefined;
      if (wanted) void dial(wanted);
    }
    let ms: number | undefined;
    if (timer !== before.timer) {
      cancelTimer?.();
      cancelTimer = undefined;
      if (timer) {
        ms = timer.ms;
        if (timer.backoff !== undefined) ms += backoffMs(reconnect, timer.backoff, environment.Math.random());
        cancelTimer = later(environment, () => dispatch({ type: "timer" }), ms);
      }
    }
    if (connection.probing && !before.probing) {
      lastFrameAt = Number.NaN;
      socket?.send('{"type":"$ws:ping"}');
    }
    if (state === before.state && connection.loss === before.loss) return;
    if (before.state === "closed") stopWaking = onWake(environment, () => dispatch({ type: "wake" }));
    if (state === "open") openedAt = at;
    if (closing) socket?.close(closing.code, closing.reason);
    if (state === "closed") stopWaking?.();
    changed(connection, before.state, ms);
  }

  async function dial(wanted: object): Promise<void> {
    /** False once the attempt has been replaced or cancelled. */
    const isWanted = (): boolean => wanted === connection.socket;
    try {
      const token = auth ? await tokenOf(auth) : null;
      if (!isWanted()) return;
      const created = wsFactory(...address(options, environment, token));
      let error: Error | undefined;
      socket = created;
      const listen = <Event>(type: string, act: (event: Event) => void): void =>
        created.addEventListener(type as never, ((event: Event) => isWanted() && act(event)) as never);
      // The client offers the subprotocol of wire, so a server that selected one sends hello, unless it refuses the client.
      listen("open", () => dispatch({ type: "opened", greets: Boolean(created.protocol) }));
      listen("message", ({ data }: MessageEvent) => {
        lastFrameAt = performance.now();
        if (connection.state !== "closing") received(data);
      });
      const lost = ({ code, reason }: Pick<CloseEvent, "code" | "reason">): void =>
        dispatch({
          type: "lost",
          code,
          reason,
          error,
          retryable: code === CLOSE_UNAUTHENTICATED && isExpired(),
        });
      // The close event follows. Some socket libraries throw an error event without a listener.
      listen("error", (event: ErrorEvent) => {
        // Not one whose text may contain the URL, and so the token.
        if (!event.message?.includes("?")) error = event.error;
        // Node 22 leaves the socket of a failed attempt in the state CONNECTING, without a close event.
        if (created.readyState === 0) lost({ code: 1006, reason: "" });
      });
      listen("close", lost);
    } catch (thrown) {
      // Only the name of an error of the socket's constructor: its message may contain the URL, and so the token.
      const error = WsError.isWsError(thrown)
        ? thrown
        : failure("UNAVAILABLE", text("socket", (thrown as Error | null)?.name));
      if (isWanted()) dispatch({ type: "lost", error });
    }
  }

  return {
    state: () => connection.state,
    socket: () => (connection.state === "open" && socket && !(socket.readyState > 1) ? socket : undefined),
    dispatch,
  };
}
