/** Makes what the link says so: one socket, one timer. The only file that holds a socket. */
import { SUBPROTOCOL_FAMILY } from "../protocol/control.ts";
import { WsError } from "../protocol/error.ts";
import { address, tokenOf } from "./auth.ts";
import { backoffMs } from "./backoff.ts";
import { type Environment, later, onWake, type SocketLike } from "./environment.ts";
import { failure } from "./failures.ts";
import { CLOSED, type ClientState, type Link, type LinkEvent, reduce, type Timer } from "./link.ts";
import type { ClientOptions } from "./options.ts";

export interface Driver {
  state(): ClientState;
  /** The socket, as long as the link is open and the socket is not on its way down. */
  socket(): SocketLike | undefined;
  /** One event at a time, each to its end: a callback that causes another event does not interrupt this one. */
  dispatch(event: LinkEvent): void;
}

/** `failed` hears of attempts that ended before there was a socket. */
export function createDriver(
  options: ClientOptions,
  environment: Environment,
  changed: (link: Link) => void,
  received: (frame: unknown) => void,
  failed: (error: WsError) => void,
): Driver {
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
      cancelTimer = timer && later(environment, () => dispatch({ type: "timer" }), delayMs(timer));
    }
    if (link.probing && !before.probing) {
      heardAt = Number.NEGATIVE_INFINITY;
      socket?.send('{"type":"$ws:ping"}');
    }
    if (state === before.state) return;
    if (before.state === "closed") stopWaking = onWake(environment, () => dispatch({ type: "wake" }));
    if (state === "open") openedAt = at;
    if (farewell) socket?.close(farewell.code, farewell.reason);
    if (state === "closed") stopWaking?.();
    changed(link);
  }

  function delayMs({ ms, backoff }: Timer): number {
    return backoff === undefined ? ms : ms + backoffMs(reconnect, backoff, environment.Math.random());
  }

  async function dial(wanted: object): Promise<void> {
    /** Once another attempt counts, this one does nothing any more. */
    const isWanted = (): boolean => wanted === link.socket;
    try {
      const token = auth ? await tokenOf(auth) : null;
      if (!isWanted()) return;
      const made = wsFactory(...address(options, environment, token));
      socket = made;
      const listen = <Event>(type: string, act: (event: Event) => void): void =>
        made.addEventListener(type as never, ((event: Event) => isWanted() && act(event)) as never);
      listen("open", () =>
        dispatch({ type: "opened", greets: `${made.protocol}`.startsWith(SUBPROTOCOL_FAMILY) }),
      );
      listen("message", ({ data }: MessageEvent) => {
        heardAt = performance.now();
        if (link.state !== "closing") received(data);
      });
      // Some sockets throw an error that nobody listens for; the close that follows is what counts.
      listen("error", () => undefined);
      listen("close", ({ code, reason }: CloseEvent) => dispatch({ type: "lost", code, reason }));
    } catch (thrown) {
      if (!isWanted()) return;
      const error = attemptError(thrown);
      failed(error);
      dispatch({ type: "lost", error });
    }
  }

  return {
    state: () => link.state,
    socket: () => (link.state === "open" && socket && !(socket.readyState > 1) ? socket : undefined),
    dispatch,
  };
}

/** What a socket's constructor throws may quote the URL, and with it the token: only the error's name is kept. */
function attemptError(error: unknown): WsError {
  return WsError.isWsError(error)
    ? error
    : failure("UNAVAILABLE", `No socket could be made: ${(error as Error | null)?.name}.`);
}
