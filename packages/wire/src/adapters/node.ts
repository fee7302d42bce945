/** The Node adapter: serves a router with `node:http` and `ws`. */
import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo, Socket as TcpSocket } from "node:net";
import { checkOptionNames } from "../protocol/option-names.ts";
import type { ConnectionData } from "../router/connections/peer.ts";
import type { Router } from "../router/router.ts";
import type { AllowedOrigins, AuthenticatedData, Authentication } from "./admission.ts";
import { createEndpoints, type Health } from "./endpoints.ts";
import { explainListenError } from "./listen-error.ts";
import { Handler } from "./node-handler.ts";
import type { NodeHandler } from "./node-listener.ts";
import { logHeartbeatIsOff } from "./notices.ts";
import {
  createHandle,
  type DataSource,
  DEFAULT_PORT,
  HANDLER_OPTIONS,
  type HandlerOptions,
  type OptionsFor,
  SERVE_OPTIONS,
  type ServeOptions,
  type ServerHandle,
} from "./serve-options.ts";
import { drainOnSignal } from "./signals.ts";

export type { WsError } from "../protocol/error.ts";
export type { Peer, ServerContext } from "../router/connections/peer.ts";
export type { Router } from "../router/router.ts";
export type { ServerCounters } from "../router/server/counters.ts";
export type { DrainResult } from "../router/server/drain.ts";
export type { BroadcastMessage } from "../router/server/server-options.ts";
export type {
  AllowedOrigins,
  AuthenticatedData,
  Authentication,
  ConnectionData,
  DataSource,
  HandlerOptions,
  Health,
  NodeHandler,
  OptionsFor,
  ServeOptions,
  ServerHandle,
};

const KEEP_ALIVE_MS = 30_000;
/**
 * Connections that wait to be accepted: as many as the system allows (Linux: `net.core.somaxconn`). The system of a client
 * beyond them tries again only after 1, 3, 7 and 15 s. Node's default is 511.
 */
const BACKLOG = 65_535;
/** How long a peer may take to send its headers, and how often Node checks that, in ms. */
const HEADERS_LIMITS = { headersTimeout: 10_000, connectionsCheckingInterval: 2_000 };

/**
 * Starts a WebSocket server for the router; resolves once it listens.
 *
 * @example
 * ```ts
 * import { createRouter } from "@halyard/wire";
 * import { serve } from "@halyard/wire/node";
 *
 * const server = await serve(createRouter(), { port: 3000 });
 * await server.stop();
 * ```
 */
export async function serve<Data extends ConnectionData>(
  router: Router<Data>,
  ...[given]: OptionsFor<Data, ServeOptions<Data>>
): Promise<ServerHandle> {
  const options: ServeOptions<Data> = given ?? {};
  checkOptionNames<ServeOptions>("serve()", options, SERVE_OPTIONS);
  const { port = DEFAULT_PORT, host } = options;
  const handler = new Handler(router, options);
  const endpoint = createEndpoints(handler.server, options, () => handler.isDraining);
  const http = createServer(HEADERS_LIMITS, (request, response) => {
    const { status, headers, body } = endpoint(request.method, request.url?.split("?")[0] ?? "/");
    response.writeHead(status, headers).end(body);
  });
  http.on("upgrade", handler.upgrade);
  if (handler.server.options.heartbeat === undefined)
    http.on("connection", (socket: TcpSocket) => socket.setKeepAlive(true, KEEP_ALIVE_MS));
  try {
    await handler.loaded;
    await listening(http, port, host);
  } catch (error) {
    await handler.stop();
    throw explainListenError(error, port, host);
  }
  if (handler.server.options.heartbeat === undefined) logHeartbeatIsOff("only by TCP keep-alive");
  return createHandle(
    (http.address() as AddressInfo).port,
    handler,
    () => Promise.all([handler.stop(), closeHttp(http)]),
    options.handleSignals === false ? undefined : drainOnSignal,
  );
}

/**
 * Serves the router on your own `http.Server`. With other listeners for upgrades on that server, set the option `path`:
 * upgrades for other paths are then left to them.
 *
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { createRouter } from "@halyard/wire";
 * import { createNodeHandler } from "@halyard/wire/node";
 *
 * const handler = createNodeHandler(createRouter(), { path: "/ws" });
 * createServer().on("upgrade", handler.upgrade).listen(3000);
 * ```
 */
export function createNodeHandler<Data extends ConnectionData>(
  router: Router<Data>,
  ...[options]: OptionsFor<Data, HandlerOptions<Data>>
): NodeHandler {
  checkOptionNames<HandlerOptions>("createNodeHandler()", options ?? {}, HANDLER_OPTIONS);
  const handler = new Handler(router, options ?? {});
  return {
    upgrade: handler.upgrade,
    health: () => handler.health(),
    drain: () => handler.drain(),
    stop: () => handler.stop(),
  };
}

function listening(http: HttpServer, port: number, host: string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    http.once("error", reject);
    http.listen({ port, ...(host !== undefined && { host }), backlog: BACKLOG }, () => {
      http.removeListener("error", reject);
      resolve();
    });
  });
}

function closeHttp(http: HttpServer): Promise<void> {
  return new Promise((resolve) => {
    http.close(() => resolve());
    http.closeIdleConnections();
  });
}
