/** The upgrades of a `node:http` server: takes those for the router, and opens their connections. */

import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { ignore, uuidv7 } from "@halyard/base";
import type { WebSocketServer } from "ws";
import { SUBPROTOCOL } from "../protocol/control.ts";
import { WsError } from "../protocol/error.ts";
import { offeredProtocols } from "../protocol/handshake.ts";
import type { ConnectionData } from "../router/connections/peer.ts";
import type { Server } from "../router/contracts.ts";
import type { Router } from "../router/router.ts";
import { type DrainResult, drain } from "../router/server/drain.ts";
import type { Upgrade, Verdict } from "./admission.ts";
import { type Health, healthOf } from "./endpoints.ts";
import { FanOut } from "./fan-out.ts";
import type { NodeHandler } from "./node-listener.ts";
import type { FlushingWebSocket } from "./node-socket.ts";
import { parseHost } from "./origin.ts";
import {
  CLOSE_TIMEOUT_MS,
  DEFAULT_CLIENT_ID_HEADER,
  DEFAULT_DRAIN_TIMEOUT_MS,
  type HandlerOptions,
  toServerOptions,
} from "./serve-options.ts";
import { claimOf, pathnameOf, registerListener, upgradeListeners } from "./shared-server.ts";
import { Upgrades, type WhenPeerLeaves } from "./upgrades.ts";
import { loadWs, type WsLibrary } from "./ws-library.ts";

type Sockets = WsLibrary & {
  readonly websockets: InstanceType<typeof WebSocketServer<typeof FlushingWebSocket>>;
};

const MAX_FRAGMENTS = 1_024;

export class Handler<Data extends ConnectionData> implements NodeHandler {
  readonly server: Server;
  /** Rejects when `ws` is not installed. */
  readonly loaded: Promise<Sockets>;
  /** An own property, so that it can be passed as a listener and recognised among the listeners of a server. */
  readonly upgrade: NodeHandler["upgrade"];
  readonly #options: HandlerOptions<Data>;
  readonly #fanOut = new FanOut();
  readonly #upgrades: Upgrades<Data>;
  /** The response headers for each request that is being upgraded. */
  readonly #handshakes = new WeakMap<
    IncomingMessage,
    { protocol: string | undefined; clientId: string | undefined }
  >();
  /** Sockets of peers that are being authenticated. */
  readonly #pending = new Set<Duplex>();
  #drained: Promise<DrainResult> | undefined;
  /** Mistakes in the setup of the HTTP server that were reported; each is reported once. */
  readonly #reported = new Set<string>();

  constructor(router: Router<Data>, options: HandlerOptions<Data>) {
    this.#options = options;
    this.server = router.attach({ ...toServerOptions(options), sharedWriter: this.#fanOut });
    this.#upgrades = new Upgrades(this.server, options);
    this.upgrade = (request, socket, head) => this.#receive(request, socket, head);
    registerListener(this.upgrade, options.path);
    this.loaded = loadWs().then((library) => ({ ...library, websockets: this.#createWebSockets(library) }));
  }

  #createWebSockets({ WebSocketServer, FlushingWebSocket }: WsLibrary): Sockets["websockets"] {
    const { clientIdHeader = DEFAULT_CLIENT_ID_HEADER } = this.#options;
    const settings = {
      noServer: true,
      WebSocket: FlushingWebSocket,
      clientTracking: false,
      perMessageDeflate: false,
      // `NodeSocket` replies to pings, within the buffer limit.
      autoPong: false,
      maxPayload: this.server.options.maxPayloadBytes,
      maxFragments: MAX_FRAGMENTS,
      closeTimeout: CLOSE_TIMEOUT_MS,
      handleProtocols: (_offered: Set<string>, request: IncomingMessage) =>
        this.#handshakes.get(request)?.protocol ?? false,
    };
    const websockets = new WebSocketServer(settings);
    websockets.on("headers", (headers, request) => {
      const clientId = this.#handshakes.get(request)?.clientId;
      if (clientId !== undefined) headers.push(`${clientIdHeader}: ${clientId}`);
    });
    return websockets;
  }

  get isDraining(): boolean {
    return this.#upgrades.isRefusing;
  }

  health(): Health {
    return healthOf(this.server, this.isDraining);
  }

  /** Writes nothing to the socket of an upgrade that another listener of the server may handle. */
  #receive(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { path } = this.#options;
    const listeners = upgradeListeners(request);
    const claim = claimOf(pathnameOf(request.url), path, this.upgrade, listeners);
    if (claim === "unclear") this.#reportMissingPath(listeners.length);
    if (claim === "others" || (claim === "unclear" && !offersWire(request))) return;
    // The peer may disconnect while it is being authenticated.
    socket.on("error", ignore);
    const upgrade = claim === "unclear" ? undefined : toUpgrade(request);
    if (upgrade !== undefined) return this.#admit(request, socket, head, upgrade);
    respond(socket, claim === "unclear" ? 500 : 400);
  }

  #admit(request: IncomingMessage, socket: Duplex, head: Buffer, upgrade: Upgrade): void {
    this.#pending.add(socket);
    this.#decide(request, socket, head, upgrade)
      .catch((error: unknown) => {
        socket.destroy();
        this.server.reportOutside(error);
      })
      .finally(() => this.#pending.delete(socket));
  }

  async #decide(request: IncomingMessage, socket: Duplex, head: Buffer, upgrade: Upgrade): Promise<void> {
    const verdict = await this.#upgrades.decide(upgrade, whenLeaving(socket));
    if (socket.writableEnded) this.#reportEndedByOther();
    if (verdict === undefined) socket.destroy();
    else if (verdict.kind === "http") respond(socket, verdict.status, verdict.headers);
    else this.#accept(await this.loaded, request, socket, head, upgrade, verdict);
  }

  #accept(
    sockets: Sockets,
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    upgrade: Upgrade,
    verdict: Exclude<Verdict, { kind: "http" }>,
  ): void {
    if (socket.destroyed) return;
    const clientId = verdict.kind === "admit" ? uuidv7() : undefined;
    this.#handshakes.set(request, { protocol: verdict.protocol, clientId });
    sockets.websockets.handleUpgrade(request, socket, head, (websocket) => {
      if (verdict.kind === "close") {
        websocket.on("error", ignore);
        websocket.close(verdict.code, verdict.reason);
      } else {
        this.#open(sockets, websocket, socket, upgrade, verdict, clientId ?? uuidv7());
      }
    });
  }

  #open(
    { NodeSocket, listen }: WsLibrary,
    websocket: FlushingWebSocket,
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

  #reportMissingPath(listeners: number): void {
    this.#reportOnce(
      `createNodeHandler() has no option path, but its HTTP server has ${listeners} listeners for upgrades, so it cannot tell which upgrades are its own. It refuses those of wire clients with status 500 and ignores all others. Set the option path, such as createNodeHandler(router, { path: "/ws" }), and connect clients to that path.`,
    );
  }

  #reportEndedByOther(): void {
    this.#reportOnce(
      `Another listener for upgrades on the same HTTP server ended the socket of an upgrade of "${this.#options.path ?? "/"}" while authenticate ran. Socket.IO and Engine.IO do that after 1 s: set their option destroyUpgrade to false.`,
    );
  }

  #reportOnce(text: string): void {
    if (this.#reported.has(text)) return;
    this.#reported.add(text);
    this.server.reportOutside(new WsError("FAILED_PRECONDITION", text));
  }

  drain(): Promise<DrainResult> {
    this.#upgrades.refuseAll();
    this.#drained ??= drain(this.server, this.#options.drainTimeoutMs ?? DEFAULT_DRAIN_TIMEOUT_MS).then(
      (result) => this.stop().then(() => result),
    );
    return this.#drained;
  }

  stop(): Promise<void> {
    this.#upgrades.refuseAll();
    // A pending `authenticate` must not keep the port.
    for (const socket of this.#pending) socket.destroy();
    return this.server.stop();
  }
}

/** Undefined when the target or the Host header is not valid. */
function toUpgrade(request: IncomingMessage): Upgrade | undefined {
  const { headers, url: target = "" } = request;
  const { host = "localhost" } = headers;
  const scheme = "encrypted" in request.socket ? "https" : "http";
  const address = `${scheme}://${host}${target}`;
  if (!target.startsWith("/") || parseHost(host) === undefined || !URL.canParse(address)) return undefined;
  const url = new URL(address);
  let webRequest: Request | undefined;
  return {
    url,
    address: request.socket.remoteAddress,
    header: (name) => {
      const value = headers[name];
      return value === undefined ? null : Array.isArray(value) ? value.join(", ") : value;
    },
    request: () => (webRequest ??= new Request(url, { headers: pairsOf(request.rawHeaders) })),
  };
}

function pairsOf(raw: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) pairs.push([raw[i] ?? "", raw[i + 1] ?? ""]);
  return pairs;
}

function offersWire({ headers }: IncomingMessage): boolean {
  return offeredProtocols(headers["sec-websocket-protocol"]).includes(SUBPROTOCOL);
}

/** Node's HTTP sockets stay half open after the peer's end, so `end` counts too. */
function whenLeaving(socket: Duplex): WhenPeerLeaves {
  return (callback) => {
    socket.once("end", callback);
    socket.once("close", callback);
    return () => {
      socket.removeListener("end", callback);
      socket.removeListener("close", callback);
    };
  };
}

function respond(socket: Duplex, status: number, headers: Readonly<Record<string, string>> = {}): void {
  if (!socket.writable) return;
  const lines = Object.entries({ connection: "close", "content-length": "0", ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  socket.once("finish", () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n`);
}
