/** What `serve` takes on every platform, and what it gives back. */
import type { WsError } from "../protocol/error.ts";
import type { AnyData } from "../router/connection.ts";
import type { ServerCounters } from "../router/counters.ts";
import type { DrainResult } from "../router/drain.ts";
import type { ConnectionData, Peer, ServerContext } from "../router/peer.ts";
import type { BroadcastMessage, ServerOptions } from "../router/server-options.ts";
import type { AdmissionOptions } from "./admission.ts";
import type { EndpointOptions, Health } from "./endpoints.ts";
import type { UpgradeLimits } from "./upgrade-gate.ts";

/** The data `authenticate` gives: everything but the id, which the server chooses. */
export type AuthenticatedData<Data extends ConnectionData> = Omit<Data, "clientId" | "expiresAt"> & {
  /** When the authentication ends, in ms since epoch: the connection is closed with 4401 then. */
  readonly expiresAt?: number;
};

/** Options of a handler for a server of your own. */
export interface HandlerOptions<Data extends ConnectionData = ConnectionData>
  extends AdmissionOptions<Data>,
    UpgradeLimits {
  /** Checks a token sent on an open connection; gives new data, or undefined to close it with 4401. */
  readonly refresh?: (
    token: string,
    data: Data,
  ) => AuthenticatedData<Data> | undefined | Promise<AuthenticatedData<Data> | undefined>;
  /** Becomes `ctx.context`. */
  readonly context?: ServerContext;
  /** Names the response header that carries the connection's id. Default `x-client-id`. */
  readonly clientIdHeader?: string;
  /** Gets errors outside any message; the router's `onError` gets all others. */
  readonly onError?: (error: WsError, ctx: { readonly clientId?: string }) => unknown;
  /** Called once for each publish that reaches this server. */
  readonly onBroadcast?: (message: BroadcastMessage, topic: string) => unknown;
  /** Called after the upgrade, before any other hook. */
  readonly onUpgrade?: (request: Request, ws: Peer<Data>) => unknown;
  readonly onOpen?: (ws: Peer<Data>) => unknown;
  readonly onClose?: (ws: Peer<Data>, code: number, reason: string) => unknown;
  /** How long a drain waits before it forces the rest. Default 10,000. */
  readonly drainTimeoutMs?: number;
}

export interface ServeOptions<Data extends ConnectionData = ConnectionData>
  extends HandlerOptions<Data>,
    EndpointOptions {
  /** Default 3000; 0 takes a free port. */
  readonly port?: number;
  /** Default: all interfaces. */
  readonly host?: string;
  /** Drain on SIGTERM. Default true. */
  readonly handleSignals?: boolean;
}

export interface ServerHandle {
  readonly port: number;
  /** What was not delivered, since the start. */
  readonly counters: Readonly<ServerCounters>;
  /** Whether the server is well, as told at `healthPath`. */
  health(): Health;
  /** Tells clients to go elsewhere, answers what they asked, closes them with 1012, and stops. */
  drain(): Promise<DrainResult>;
  /** Closes every connection with 1012 and frees the port. */
  stop(): Promise<void>;
}

export const DEFAULT_PORT = 3000;
export const DEFAULT_CLIENT_ID_HEADER = "x-client-id";
export const DEFAULT_DRAIN_TIMEOUT_MS = 10_000;

/** The part of the options that the router's server looks after. */
export function toServerOptions<Data extends ConnectionData>(options: HandlerOptions<Data>): ServerOptions {
  const { context, onOpen, onClose, onBroadcast, onError, refresh } = options;
  return {
    ...(context && { context }),
    ...(onOpen && { onOpen: onOpen as ServerOptions["onOpen"] & object }),
    ...(onClose && { onClose: onClose as ServerOptions["onClose"] & object }),
    ...(onBroadcast && { onBroadcast }),
    ...(onError && { onError }),
    ...(refresh && { refresh: (token: string, data: AnyData) => refresh(token, data as unknown as Data) }),
  };
}
