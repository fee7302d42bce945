/** The options of `serve` on every platform, and the handle it returns. */
import { LONGEST_TIMER_MS } from "../protocol/checks.ts";
import type { WsError } from "../protocol/error.ts";
import type { OptionNames } from "../protocol/option-names.ts";
import type { FollowConnections } from "../router/connections/connection-follower.ts";
import type { AnyData, ConnectionData, Peer, ServerContext } from "../router/connections/peer.ts";
import type { ServerCounters } from "../router/server/counters.ts";
import type { DrainResult } from "../router/server/drain.ts";
import type { BroadcastMessage, ServerOptions } from "../router/server/server-options.ts";
import type { AdmissionOptions, AuthenticatedData, Authentication } from "./admission.ts";
import type { EndpointOptions, Health } from "./endpoints.ts";
import type { UpgradeLimits } from "./upgrade-gate.ts";

/** The options of a handler for your own server. */
export interface HandlerOptions<Data extends ConnectionData = ConnectionData>
  extends AdmissionOptions<Data>,
    UpgradeLimits {
  /** Checks a new token of an open connection; returns new data, or undefined to close it with 4401. Default: not supported. */
  readonly refresh?: (token: string, data: Data) => Authentication<Data>;
  /** The value of `ctx.context`. Default: an empty object. */
  readonly context?: ServerContext;
  /** The response header with the connection's id. Default `x-client-id`. */
  readonly clientIdHeader?: string;
  /**
   * Receives errors that belong to no message, such as those of `authenticate` and of the hooks that open and close a
   * connection; the router's `onError` receives all others. Default: hooks report to the router's `onError`; others are logged.
   */
  readonly onError?: (error: WsError, ctx: { readonly clientId?: string }) => unknown;
  /** Called once for each published message that reaches this server. */
  readonly onBroadcast?: (message: BroadcastMessage, topic: string) => unknown;
  /** Called after the upgrade, before any other hook. */
  readonly onUpgrade?: (request: Request, ws: Peer<Data>) => unknown;
  /** Called when the connection is open, before the router's `onOpen`. */
  readonly onOpen?: (ws: Peer<Data>) => unknown;
  /** Called when the connection is gone, after the router's `onClose`. */
  readonly onClose?: (ws: Peer<Data>, code: number, reason: string) => unknown;
  /**
   * How long `authenticate`, `onUpgrade` and the router's `onAuth` may each take, in ms; then the connection is closed with
   * 1013 (other clients: 503 during the upgrade). Default 10,000.
   */
  readonly handshakeTimeoutMs?: number;
  /** How long a drain waits for running requests, in ms; then it closes the remaining connections. Default 10,000. */
  readonly drainTimeoutMs?: number;
}

/** The options of `serve`. */
export interface ServeOptions<Data extends ConnectionData = ConnectionData>
  extends HandlerOptions<Data>,
    EndpointOptions {
  /** Default 3000; 0 selects a free port. */
  readonly port?: number;
  /** The address to listen on. Default: all interfaces. */
  readonly host?: string;
  /** Drain the server on SIGTERM. Default true. */
  readonly handleSignals?: boolean;
}

/** The names of the options that all platforms have. */
export const COMMON_OPTIONS: OptionNames<Omit<HandlerOptions, "drainTimeoutMs">> = {
  authenticate: true,
  data: true,
  path: true,
  allowedOrigins: true,
  allowedHosts: true,
  protocols: true,
  token: { queryParam: true, protocolPrefix: true },
  maxPendingUpgrades: true,
  maxConnections: true,
  maxUpgradesPerSecond: true,
  refresh: true,
  context: true,
  clientIdHeader: true,
  onError: true,
  onBroadcast: true,
  onUpgrade: true,
  onOpen: true,
  onClose: true,
  handshakeTimeoutMs: true,
};

export const HANDLER_OPTIONS: OptionNames<HandlerOptions> = { ...COMMON_OPTIONS, drainTimeoutMs: true };

export const SERVE_OPTIONS: OptionNames<ServeOptions> = {
  ...HANDLER_OPTIONS,
  healthPath: true,
  metricsPath: true,
  port: true,
  host: true,
  handleSignals: true,
};

/**
 * The options of an adapter for the router's `Data`. They are required, with `authenticate` or `data`, when `Data` has
 * required members: without them, handlers would read members that are not there.
 */
export type OptionsFor<Data extends ConnectionData, Options> =
  IsComplete<Data> extends true ? [options?: Options] : [options: Options & DataSource<Data>];

/** Whether the server itself sets all required members. */
type IsComplete<Data> = Record<never, never> extends Omit<Data, "clientId" | "expiresAt"> ? true : false;

/** Where the required members of a connection's data come from. */
export type DataSource<Data extends ConnectionData> =
  | { readonly data: AuthenticatedData<Data> }
  | {
      readonly authenticate: (
        request: Request,
        credentials: { readonly token: string | undefined; readonly address: string | undefined },
      ) => Authentication<Data>;
    };

/** A running server, returned by `serve`. */
export interface ServerHandle {
  /** The port it listens on. */
  readonly port: number;
  /** Counts since the start. */
  readonly counters: Readonly<ServerCounters>;
  /** The health of the server, as at `healthPath`. */
  health(): Health;
  /** Announces the shutdown to clients, waits for running requests, closes connections with 1012, and stops. */
  drain(): Promise<DrainResult>;
  /** Closes every connection with 1012 and frees the port. */
  stop(): Promise<void>;
}

export const DEFAULT_PORT = 3000;
export const DEFAULT_CLIENT_ID_HEADER = "x-client-id";
export const DEFAULT_DRAIN_TIMEOUT_MS = 10_000;
/** How long a peer may take to answer a close frame. */
export const CLOSE_TIMEOUT_MS = 1_000;

/** The running server behind a handle, on any platform. */
interface RunningServer {
  readonly server: { readonly counters: Readonly<ServerCounters> };
  health(): Health;
  drain(): Promise<DrainResult>;
}

/**
 * Makes the handle that `serve` returns. It drains and stops the server once, however often it is called. `onSignal`
 * registers the handle for SIGTERM and returns an unregister function.
 */
export function createHandle(
  port: number,
  running: RunningServer,
  stopServer: () => Promise<unknown>,
  onSignal: ((handle: ServerHandle) => () => void) | undefined,
): ServerHandle {
  let stopped: Promise<void> | undefined;
  let drained: Promise<DrainResult> | undefined;
  const stop = (): Promise<void> => {
    stopped ??= stopServer().then(() => unregister?.());
    return stopped;
  };
  const handle: ServerHandle = {
    port,
    counters: running.server.counters,
    health: () => running.health(),
    stop,
    drain() {
      drained ??= running.drain().then((result) => stop().then(() => result));
      return drained;
    },
  };
  const unregister = onSignal?.(handle);
  return handle;
}

/** The options that the router's server handles. */
export function toServerOptions<Data extends ConnectionData>(options: HandlerOptions<Data>): ServerOptions {
  const { context, onOpen, onClose, onBroadcast, onError, refresh, handshakeTimeoutMs } = options;
  const { follow } = (options.authenticate ?? {}) as { follow?: FollowConnections };
  return {
    ...(follow && { follow }),
    ...(handshakeTimeoutMs !== undefined && { handshakeTimeoutMs: checkTimeout(handshakeTimeoutMs) }),
    ...(context && { context }),
    ...(onOpen && { onOpen: onOpen as ServerOptions["onOpen"] & object }),
    ...(onClose && { onClose: onClose as ServerOptions["onClose"] & object }),
    ...(onBroadcast && { onBroadcast }),
    ...(onError && { onError }),
    ...(refresh && { refresh: (token: string, data: AnyData) => refresh(token, data as unknown as Data) }),
  };
}

function checkTimeout(handshakeTimeoutMs: number): number {
  if (handshakeTimeoutMs > 0 && handshakeTimeoutMs <= LONGEST_TIMER_MS) return handshakeTimeoutMs;
  throw new TypeError(
    `The option handshakeTimeoutMs is ${String(handshakeTimeoutMs)}, but it must be a number of milliseconds above 0, at most ${LONGEST_TIMER_MS}.`,
  );
}
