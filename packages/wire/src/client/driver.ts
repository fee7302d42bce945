/** Makes what the link says so: one socket, one timer. The only file that holds a socket. */
import { CONTROL, SUBPROTOCOL_FAMILY } from "../protocol/control.ts";
import { WsError } from "../protocol/error.ts";
import { address } from "./auth.ts";
import { backoffMs } from "./backoff.ts";
import { type Environment, later, onWake, type SocketLike } from "./environment.ts";
import { failure } from "./failures.ts";
import { CLOSED, type Link, type LinkEvent, reduce } from "./link.ts";
import type { AuthOptions, ClientOptions } from "./options.ts";

/** What the driver tells the client. */
export interface LinkListener {
  changed(link: Link): void;
  received(frame: unknown): void;
  /** An attempt failed before there was a socket to fail. */
  failed(error: WsError): void;
}

export interface Driver {
  link(): Link;
  /** The socket, as long as the link is open and the socket is not on its way down. */
  socket(): SocketLike | undefined;
  /** One event at a time, each to its end: a callback that causes another event does not interrupt this one. */
  dispatch(event: LinkEvent): void;
}

export function createDriver(options: ClientOptions, environment: Environment, client: LinkListener): Driver {
  const { performance } = environment;
  const {
    auth,
    reconnect = {},
    wsFactory = (url, protocols) => new environment.WebSocket(url, protocols),
  } = options;
  const events: LinkEvent[] = [];
  let isRunning = false;
  let link = CLOSED;
  let socket: SocketLike | undefined;
  let cancelTimer: (() => void) | undefined;
  let openedAt = 0;
  let heardAt = 0;
  let stopWaking: (() => void) | undefined;

  function dispatch(event: LinkEvent): void {
    events.push(event);
    if (isRunning) return;
    isRunning = true;
    try {
      for (let next = events.shift(); next; next = events.shift()) step(next);
    } finally {
      isRunning = false;
    }
  }

  function step(event: LinkEvent): void {
    const before = link;
    const at = performance.now();
    link = reduce(before, event, { openMs: at - openedAt, silentMs: at - heardAt }, reconnect);
    const { state, socket: wanted, timer, farewell } = link;
    if (wanted !== before.socket) {
      socket?.close();
      socket = undefined;
      if (wanted) void dial(wanted);
    }
    if (timer !== before.timer) {
      cancelTimer?.();
      if (timer) {
        const { ms, backoff } = timer;
        const spreadMs = backoff === undefined ? 0 : backoffMs(reconnect, backoff, environment.Math.random());
        cancelTimer = later(environment, () => dispatch({ type: "timer" }), ms + spreadMs);
      }
    }
    if (link.probing && !before.probing) {
      heardAt = Number.NEGATIVE_INFINITY;
      socket?.send(`{"type":"${CONTROL.ping}"}`);
    }
    if (state === before.state) return;
    if (before.state === "closed") stopWaking = onWake(environment, () => dispatch({ type: "wake" }));
    if (state === "open") openedAt = at;
    if (farewell) socket?.close(farewell.code, farewell.reason);
    if (state === "closed") stopWaking?.();
    client.changed(link);
  }

  async function dial(wanted: object): Promise<void> {
    /** Wraps what belongs to this attempt: once another counts, it does nothing. */
    const whileWanted =
      <A>(act: (argument: A) => void) =>
      (argument: A): void => {
        if (wanted === link.socket) act(argument);
      };
    const connect = whileWanted((token: string | null) => {
      const made = wsFactory(...address(options, environment, token));
      socket = made;
      const listen = (type: string, act: (event: never) => void): void =>
        made.addEventListener(type as never, whileWanted(act) as never);
      listen("open", () =>
        dispatch({ type: "opened", greets: `${made.protocol}`.startsWith(SUBPROTOCOL_FAMILY) }),
      );
      listen("message", ({ data }: MessageEvent) => {
        heardAt = performance.now();
        if (link.state !== "closing") client.received(data);
      });
      // Some sockets throw an error that nobody listens for; the close that follows is what counts.
      listen("error", () => undefined);
      listen("close", ({ code, reason }: CloseEvent) => dispatch({ type: "lost", code, reason }));
    });
    try {
      connect(auth ? await tokenOf(auth) : null);
    } catch (thrown) {
      whileWanted((error: WsError) => {
        client.failed(error);
        dispatch({ type: "lost", error });
      })(attemptError(thrown));
    }
  }

  return {
    link: () => link,
    socket: () => (link.state === "open" && socket && !(socket.readyState > 1) ? socket : undefined),
    dispatch,
  };
}

async function tokenOf(auth: AuthOptions): Promise<string | null> {
  try {
    return await auth.getToken();
  } catch (cause) {
    throw failure("UNAVAILABLE", "getToken failed.", cause);
  }
}

/** What a socket's constructor throws may quote the URL, and with it the token: only the error's name is kept. */
function attemptError(error: unknown): WsError {
  return WsError.isWsError(error)
    ? error
    : failure("UNAVAILABLE", `No socket could be made: ${(error as Error | null)?.name}.`);
}
