/** Node: serves a router on `node:http` and `ws`. */
import { createServer, type IncomingMessage, STATUS_CODES } from "node:http";
import type { AddressInfo, Socket as TcpSocket } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { WsError } from "../protocol/error.ts";
import { uuidv7 } from "../protocol/uuid.ts";
import { type DrainResult, drain } from "../router/drain.ts";
import type { ConnectionData } from "../router/peer.ts";
import type { Router } from "../router/router.ts";
import type { Server } from "../router/server.ts";
import { judge, overloaded, RETRY_AFTER_MS, type Upgrade, type Verdict } from "./admission.ts";
import { createEndpoints, type Health, healthOf } from "./endpoints.ts";
import { FanOut } from "./fan-out.ts";
import { listen, NodeSocket, TellingWebSocket } from "./node-socket.ts";
import { sayHeartbeatIsOff } from "./notices.ts";
import {
  DEFAULT_CLIENT_ID_HEADER,
  DEFAULT_DRAIN_TIMEOUT_MS,
  DEFAULT_PORT,
  type HandlerOptions,
  type ServeOptions,
  type ServerHandle,
  toServerOptions,
} from "./serve-options.ts";
import { drainOnSignal } from "./signals.ts";
import { UpgradeGate } from "./upgrade-gate.ts";

// --- types ---

export type { HandlerOptions, Health, ServeOptions, ServerHandle };

/** For a `node:http` server of your own: pass its `upgrade` events here. */
export interface NodeHandler {
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Whether the server is well. */
  health(): Health;
  /** Tells clients to go elsewhere, answers what they asked, and closes them with 1012. */
  drain(): Promise<DrainResult>;
  /** Closes every connection with 1012. */
  stop(): Promise<void>;
}

const CLOSE_TIMEOUT_MS = 1_000;
const KEEP_ALIVE_MS = 30_000;
/** A peer has this long to send its headers; Node looks for late ones no more often than told. */
const HEADERS_LIMITS = { headersTimeout: 10_000, connectionsCheckingInterval: 2_000 };
const MAX_FRAGMENTS = 1_024;

// --- adapter ---

/** Starts a WebSocket server for the router; resolves once it listens. */
export async function serve<Data extends ConnectionData>(
  router: Router<Data>,
  options: ServeOptions<Data> = {},
): Promise<void & ServerHandle> {
  const handler = new Handler(router, options);
  const endpoint = createEndpoints(handler.server, options, () => handler.isDraining);
  const http = createServer(HEADERS_LIMITS, (request, response) => {
    const { status, headers, body } = endpoint(request.method, request.url?.split("?")[0] ?? "/");
    response.writeHead(status, headers).end(body);
  });
  http.on("upgrade", (request, socket, head) => handler.upgrade(request, socket, head));
  if (handler.server.options.heartbeat === undefined) {
    http.on("connection", (socket: TcpSocket) => socket.setKeepAlive(true, KEEP_ALIVE_MS));
    sayHeartbeatIsOff("by TCP keep-alive only");
  }
  await listening(http, options.port ?? DEFAULT_PORT, options.host).catch(async (error: unknown) => {
    await handler.stop();
    throw error;
  });
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopped ??= Promise.all([handler.stop(), closeHttp(http)]).then(() => stopWaiting());
    return stopped;
  };
  const handle: ServerHandle = {
    port: (http.address() as AddressInfo).port,
    counters: handler.server.counters,
    health: () => handler.health(),
    stop,
    async drain() {
      const result = await handler.drain();
      await stop();
      return result;
    },
  };
  const stopWaiting = options.handleSignals === false ? () => undefined : drainOnSignal(handle);
  // The contract promises a `Promise<void>`; a handle is more than that, and assignable to it.
  return handle as void & ServerHandle;
}

/** Serves the router on an `http.Server` of your own. */
export function createNodeHandler<Data extends ConnectionData>(
  router: Router<Data>,
  options: HandlerOptions<Data> = {},
): NodeHandler {
  const handler = new Handler(router, options);
  return {
    upgrade: (request, socket, head) => handler.upgrade(request, socket, head),
    health: () => handler.health(),
    drain: () => handler.drain(),
    stop: () => handler.stop(),
  };
}

class Handler<Data extends ConnectionData> implements NodeHandler {
  readonly server: Server;
  readonly #options: HandlerOptions<Data>;
  readonly #websockets: InstanceType<typeof WebSocketServer<typeof TellingWebSocket>>;
  readonly #fanOut = new FanOut();
  readonly #gate: UpgradeGate;
  /** What the handshake of a request being upgraded must say. */
  readonly #answers = new WeakMap<
    IncomingMessage,
    { protocol: string | undefined; clientId: string | undefined }
  >();
  /** Peers that are being authenticated. */
  readonly #pending = new Set<Duplex>();
  #refusing = false;

  constructor(router: Router<Data>, options: HandlerOptions<Data>) {
    this.#options = options;
    this.server = router.attach({ ...toServerOptions(options), sharedWriter: this.#fanOut });
    this.#gate = new UpgradeGate(options, () => this.server.connections.size);
    const settings = {
      noServer: true,
      WebSocket: TellingWebSocket,
      clientTracking: false,
      perMessageDeflate: false,
      // Answered below, within the buffer limit.
      autoPong: false,
      maxPayload: this.server.options.maxPayloadBytes,
      maxFragments: MAX_FRAGMENTS,
      closeTimeout: CLOSE_TIMEOUT_MS,
      handleProtocols: (_offered: Set<string>, request: IncomingMessage) =>
        this.#answers.get(request)?.protocol ?? false,
    };
    this.#websockets = new WebSocketServer(settings);
    this.#websockets.on("headers", (headers, request) => {
      const clientId = this.#answers.get(request)?.clientId;
      if (clientId !== undefined)
        headers.push(`${options.clientIdHeader ?? DEFAULT_CLIENT_ID_HEADER}: ${clientId}`);
    });
  }

  get isDraining(): boolean {
    return this.#refusing;
  }

  health(): Health {
    return healthOf(this.server, this.#refusing);
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    // The peer may go away while it is being authenticated.
    socket.on("error", ignore);
    const upgrade = toUpgrade(request);
    if (upgrade === undefined) return answer(socket, { kind: "http", status: 400, headers: {} });
    if (this.#refusing)
      return this.#complete(request, socket, head, upgrade, overloaded(upgrade, RETRY_AFTER_MS));
    const refusal = this.#gate.enter();
    if (refusal !== undefined) {
      this.server.counters.refusedUpgrades++;
      const retryAfterMs = refusal.kind === "later" ? refusal.retryAfterMs : undefined;
      return this.#complete(request, socket, head, upgrade, overloaded(upgrade, retryAfterMs));
    }
    this.#pending.add(socket);
    void judge(upgrade, this.#options, (error) => this.#refused(error))
      .then((verdict) => this.#complete(request, socket, head, upgrade, verdict))
      .catch((error: unknown) => {
        socket.destroy();
        this.server.reportOutside(error);
      })
      .finally(() => {
        this.#pending.delete(socket);
        this.#gate.leave();
      });
  }

  /** Only the application's own hook hears of refusals: a log line each would be the attacker's to fill. */
  #refused(error: unknown): void {
    if (this.#options.onError !== undefined)
      this.server.reportOutside(WsError.wrap(error, "UNAUTHENTICATED"));
  }

  #complete(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    upgrade: Upgrade,
    verdict: Verdict,
  ): void {
    if (socket.destroyed) return;
    if (verdict.kind === "http") return answer(socket, verdict);
    if (this.#refusing && verdict.kind === "admit") {
      return this.#complete(request, socket, head, upgrade, overloaded(upgrade, RETRY_AFTER_MS));
    }
    const clientId = verdict.kind === "admit" ? uuidv7() : undefined;
    this.#answers.set(request, { protocol: verdict.protocol, clientId });
    this.#websockets.handleUpgrade(request, socket, head, (websocket) => {
      if (verdict.kind === "close") {
        websocket.on("error", ignore);
        websocket.close(verdict.code, verdict.reason);
      } else {
        this.#open(websocket, socket, upgrade, verdict, clientId ?? uuidv7());
      }
    });
  }

  #open(
    websocket: TellingWebSocket,
    tcp: Duplex,
    upgrade: Upgrade,
    verdict: Verdict & { kind: "admit" },
    clientId: string,
  ): void {
    const { onUpgrade } = this.#options;
    const { socketBufferLimitBytes } = this.server.options;
    const socket = new NodeSocket(websocket, tcp, this.#fanOut, socketBufferLimitBytes);
    const events = this.server.accept(
      socket,
      { ...verdict.data, clientId },
      {
        greets: verdict.greets,
        ...(onUpgrade && { upgraded: (ws) => onUpgrade(upgrade.request(), ws as never) }),
      },
    );
    listen(websocket, socket, events);
  }

  async drain(): Promise<DrainResult> {
    this.#refusing = true;
    const result = await drain(this.server, this.#options.drainTimeoutMs ?? DEFAULT_DRAIN_TIMEOUT_MS);
    await this.stop();
    return result;
  }

  stop(): Promise<void> {
    this.#refusing = true;
    // An `authenticate` that never settles must not keep the port.
    for (const socket of this.#pending) socket.destroy();
    return this.server.stop();
  }
}

function toUpgrade(request: IncomingMessage): Upgrade | undefined {
  const { headers } = request;
  const scheme = "encrypted" in request.socket ? "https" : "http";
  const address = `${scheme}://${headers.host ?? "localhost"}${request.url ?? "/"}`;
  if (!URL.canParse(address)) return undefined;
  const url = new URL(address);
  let made: Request | undefined;
  return {
    url,
    header: (name) => {
      const value = headers[name];
      return value === undefined ? null : Array.isArray(value) ? value.join(", ") : value;
    },
    request: () => (made ??= new Request(url, { headers: pairsOf(request.rawHeaders) })),
  };
}

function pairsOf(raw: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) pairs.push([raw[i] ?? "", raw[i + 1] ?? ""]);
  return pairs;
}

function answer(socket: Duplex, { status, headers }: Verdict & { kind: "http" }): void {
  const lines = Object.entries({ connection: "close", "content-length": "0", ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  socket.once("finish", () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n`);
}

function listening(
  http: ReturnType<typeof createServer>,
  port: number,
  host: string | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    http.once("error", reject);
    http.listen(port, host, () => {
      http.removeListener("error", reject);
      resolve();
    });
  });
}

function closeHttp(http: ReturnType<typeof createServer>): Promise<void> {
  return new Promise((resolve) => {
    http.close(() => resolve());
    http.closeIdleConnections();
  });
}

function ignore(): void {}
