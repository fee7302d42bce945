/** The Bun adapter: serves a router on `Bun.serve`. */
import { later, uuidv7 } from "@halyard/base";
import { CLOSE } from "../protocol/control.ts";
import { checkOptionNames } from "../protocol/option-names.ts";
import type { ConnectionData, SendOutcome, Socket, SocketEvents } from "../router/connections/peer.ts";
import type { Server } from "../router/contracts.ts";
import type { Router } from "../router/router.ts";
import { type DrainResult, drain } from "../router/server/drain.ts";
import type { AllowedOrigins, AuthenticatedData, Authentication, Verdict } from "./admission.ts";
import { type BunPublisher, BunPubSub, bunPubSub } from "./bun-pubsub.ts";
import { createEndpoints, type EndpointOptions, type Health, healthOf } from "./endpoints.ts";
import { explainListenError } from "./listen-error.ts";
import { logHeartbeatIsOff } from "./notices.ts";
import {
  CLOSE_TIMEOUT_MS,
  createHandle,
  type DataSource,
  DEFAULT_CLIENT_ID_HEADER,
  DEFAULT_DRAIN_TIMEOUT_MS,
  DEFAULT_PORT,
  HANDLER_OPTIONS,
  type HandlerOptions,
  type OptionsFor,
  SERVE_OPTIONS,
  type ServeOptions,
  type ServerHandle,
  toServerOptions,
} from "./serve-options.ts";
import { drainOnSignal } from "./signals.ts";
import { Upgrades, type WhenPeerLeaves } from "./upgrades.ts";

// --- types ---

export type { WsError } from "../protocol/error.ts";
export type { CarryOptions, PublishResult, PubSub } from "../pubsub/pubsub.ts";
export type { Peer, ServerContext } from "../router/connections/peer.ts";
export type { Router } from "../router/router.ts";
export type { ServerCounters } from "../router/server/counters.ts";
export type { BroadcastMessage } from "../router/server/server-options.ts";
export type {
  AllowedOrigins,
  AuthenticatedData,
  Authentication,
  ConnectionData,
  DataSource,
  DrainResult,
  HandlerOptions,
  Health,
  OptionsFor,
  ServeOptions,
  ServerHandle,
  SocketEvents,
};
export { type BunPubSub, bunPubSub };

/** The members of Bun's server that this file uses, so that applications do not need Bun's types. */
export interface BunServer extends BunPublisher {
  /** Accepts an upgrade; false when it is not possible. */
  upgrade(request: Request, options: { data: BunSocketData; headers: Record<string, string> }): boolean;
  /** The address at the other end of the socket. */
  requestIP(request: Request): { readonly address: string } | null;
}

/** The members of Bun's `ServerWebSocket` that this file uses. */
export interface BunSocket {
  /** The data passed to `upgrade`. */
  readonly data: BunSocketData;
  /** As of a WebSocket: 1 is open. */
  readonly readyState: number;
  /** Returns the bytes sent, -1 when queued, 0 when dropped. */
  send(frame: string): number;
  /** Bytes that are not sent yet. */
  getBufferedAmount(): number;
  /** Sends a WebSocket ping. */
  ping(): number;
  /** Sends a close frame. */
  close(code?: number, reason?: string): void;
  /** Ends the connection without a close frame. */
  terminate(): void;
  /** Subscribes to a topic of the engine. */
  subscribe(topic: string): void;
  /** Ends a subscription in the engine. */
  unsubscribe(topic: string): void;
  /** Sends to every other subscriber in the engine. */
  publish(topic: string, frame: string): number;
}

/** What the handler keeps in `data` of a Bun socket. */
export interface BunSocketData {
  /** The verdict of the upgrade; removed when the socket opens, so that the connection does not keep the request. */
  upgrade:
    | {
        /** Whether the connection is accepted, or closed at once with a code. */
        readonly verdict: Exclude<Verdict, { kind: "http" }>;
        /** The id of the connection. */
        readonly clientId: string;
        /** The upgrade request. */
        readonly request: Request;
      }
    | undefined;
  /** Receives the events of the socket, once it is open. */
  events?: SocketEvents;
}

/** The handlers for `Bun.serve`, and the functions to stop them. */
export interface BunHandler {
  /** For `fetch` of `Bun.serve`: handles an upgrade; other requests get status 426. */
  fetch(request: Request, server: BunServer): Promise<Response | undefined>;
  /** For `websocket` of `Bun.serve`. */
  readonly websocket: {
    /** The largest frame a peer may send, in bytes. */
    readonly maxPayloadLength: number;
    /** Unsent bytes above which Bun reports backpressure. */
    readonly backpressureLimit: number;
    /** Whether Bun closes a connection above that limit. */
    readonly closeOnBackpressureLimit: true;
    /** Compression is off. */
    readonly perMessageDeflate: false;
    /** Seconds of silence after which Bun closes a connection; 0: never. */
    readonly idleTimeout: 0;
    /** Whether Bun pings silent connections. */
    readonly sendPings: false;
    /** Called when a connection opens. */
    open(socket: BunSocket): void;
    /** Called with every frame. */
    message(socket: BunSocket, data: string | Uint8Array): void;
    /** Called when a ping arrives. */
    ping(socket: BunSocket): void;
    /** Called when a pong arrives. */
    pong(socket: BunSocket): void;
    /** Called when unsent bytes were sent. */
    drain(socket: BunSocket): void;
    /** Called when a connection has closed. */
    close(socket: BunSocket, code: number, reason: string): void;
  };
  /** The health of the server. */
  health(): Health;
  /** Announces the shutdown to clients, waits for running requests, and closes connections with 1012. */
  drain(): Promise<DrainResult>;
  /** Closes every connection with 1012. */
  stop(): Promise<void>;
}

interface RunningBun {
  readonly port: number;
  stop(closeActive: boolean): Promise<void>;
}

declare const Bun: {
  serve(options: Pick<BunHandler, "fetch" | "websocket"> & { port: number; hostname?: string }): RunningBun;
};

/** `readyState` of an open socket. */
const OPEN = 1;
/** Bun's close reasons and the codes it sent to the peer; Bun itself reports 1006. */
const SENT_CODES: Readonly<Record<string, number>> = {
  "Received too big message": CLOSE.tooBig,
  "Received invalid UTF-8": 1007,
};

// --- adapter ---

/**
 * Starts a WebSocket server for the router; resolves once it listens.
 *
 * @example
 * ```ts
 * import { createRouter } from "@halyard/wire";
 * import { serve } from "@halyard/wire/bun";
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
  const handler = createHandler(router, options);
  const { port = DEFAULT_PORT, host } = options;
  const server = await startBun(handler, { port, ...(host !== undefined && { hostname: host }) });
  if (handler.server.options.heartbeat === undefined) logHeartbeatIsOff("only when a write to them fails");
  return createHandle(
    server.port,
    handler,
    () => handler.stop().then(() => server.stop(true)),
    options.handleSignals === false ? undefined : drainOnSignal,
  );
}

async function startBun(
  handler: BunHandler,
  address: { port: number; hostname?: string },
): Promise<RunningBun> {
  try {
    return Bun.serve({ fetch: handler.fetch, websocket: handler.websocket, ...address });
  } catch (error) {
    await handler.stop();
    throw explainListenError(error, address.port, address.hostname);
  }
}

/** Creates the handlers for your own `Bun.serve`. */
export function createBunHandler<Data extends ConnectionData>(
  router: Router<Data>,
  ...[options]: OptionsFor<Data, HandlerOptions<Data>>
): BunHandler {
  checkOptionNames<HandlerOptions>("createBunHandler()", options ?? {}, HANDLER_OPTIONS);
  const { server: _, ...handler } = createHandler(router, options ?? {});
  return handler;
}

function createHandler<Data extends ConnectionData>(
  router: Router<Data>,
  options: HandlerOptions<Data> & EndpointOptions,
): BunHandler & { readonly server: Server } {
  let bound: BunServer | undefined;
  const server = router.attach({
    ...toServerOptions(options),
    nativePublish: (topic, frame) => bound?.publish(prefix + topic, frame),
  });
  const native = server.pubsub instanceof BunPubSub ? server.pubsub : undefined;
  const prefix = native?.prefix ?? new BunPubSub().prefix;
  const { onUpgrade } = options;
  const { maxPayloadBytes, socketBufferLimitBytes, maxOutboundFrameBytes } = server.options;
  const clientIdHeader = options.clientIdHeader ?? DEFAULT_CLIENT_ID_HEADER;
  const upgrades = new Upgrades(server, options);
  const endpoint = createEndpoints(server, options, () => upgrades.isRefusing);
  let drained: Promise<DrainResult> | undefined;

  return {
    server,
    async fetch(request, bun) {
      if (bound === undefined) {
        bound = bun;
        native?.bind(bun);
      }
      // Bun makes the URL of the Host header, without checking it.
      if (!URL.canParse(request.url)) return new Response(null, { status: 400 });
      const url = new URL(request.url);
      if (request.headers.get("upgrade")?.toLowerCase() !== "websocket") {
        const { status, headers, body } = endpoint(request.method, url.pathname);
        return new Response(body, { status, headers });
      }
      const header = (name: string): string | null => request.headers.get(name);
      const address = bun.requestIP(request)?.address;
      const upgrade = { url, address, header, request: () => request };
      const verdict = await upgrades.decide(upgrade, whenLeaving(request));
      if (verdict === undefined) return new Response(null, { status: 400 });
      if (verdict.kind === "http")
        return new Response(null, { status: verdict.status, headers: verdict.headers });
      const clientId = uuidv7();
      const headers: Record<string, string> = verdict.kind === "admit" ? { [clientIdHeader]: clientId } : {};
      // Without this header, Bun would select the first offered protocol, which may be a token.
      headers["sec-websocket-protocol"] = verdict.protocol ?? "";
      if (bun.upgrade(request, { data: { upgrade: { verdict, clientId, request } }, headers }))
        return undefined;
      return new Response("The WebSocket upgrade failed.\n", { status: 400 });
    },
    websocket: {
      maxPayloadLength: maxPayloadBytes,
      // The last resort: the router acts earlier, and allows one large frame above its hard limit. The publishes of
      // `bunPubSub()` do not pass the router, so there the engine itself closes slow sockets.
      backpressureLimit:
        native === undefined
          ? 4 * socketBufferLimitBytes + maxOutboundFrameBytes
          : 2 * socketBufferLimitBytes,
      closeOnBackpressureLimit: true,
      perMessageDeflate: false,
      idleTimeout: 0,
      sendPings: false,
      open(socket) {
        const { upgrade } = socket.data;
        if (upgrade === undefined) return;
        socket.data.upgrade = undefined;
        const { verdict, clientId, request } = upgrade;
        if (verdict.kind === "close") return socket.close(verdict.code, verdict.reason);
        socket.data.events = server.accept(
          new BunSocketAdapter(socket, prefix),
          { ...verdict.data, clientId },
          {
            greets: verdict.greets,
            ...(onUpgrade && { upgraded: (ws) => onUpgrade(request, ws as never) }),
          },
        );
      },
      message: (socket, data) => socket.data.events?.receive(data),
      // Bun has already replied to the ping.
      ping: (socket) => socket.data.events?.pong(),
      pong: (socket) => socket.data.events?.pong(),
      drain: (socket) => socket.data.events?.drained(),
      close(socket, code, reason) {
        const refusal = refusalOf(code, reason);
        if (refusal === CLOSE.tooBig) socket.data.events?.tooLarge();
        socket.data.events?.closed(refusal ?? code, reason);
      },
    },
    health: () => healthOf(server, upgrades.isRefusing),
    drain() {
      upgrades.refuseAll();
      drained ??= drain(server, options.drainTimeoutMs ?? DEFAULT_DRAIN_TIMEOUT_MS).then((result) =>
        server.stop().then(() => result),
      );
      return drained;
    },
    stop() {
      upgrades.refuseAll();
      return server.stop();
    },
  };
}

/** Bun aborts the signal of a request whose peer disconnects. */
function whenLeaving({ signal }: Request): WhenPeerLeaves {
  return (callback) => {
    signal.addEventListener("abort", callback);
    return () => signal.removeEventListener("abort", callback);
  };
}

/** The close code that Bun sent to a peer whose frame it refused. */
function refusalOf(code: number, reason: string): number | undefined {
  if (code !== 1006 || !reason.startsWith("Received ") || reason.includes("FIN")) return undefined;
  return SENT_CODES[reason] ?? 1002;
}

// --- socket ---

class BunSocketAdapter implements Socket {
  readonly #socket: BunSocket;
  readonly #prefix: string;

  constructor(socket: BunSocket, prefix: string) {
    this.#socket = socket;
    this.#prefix = prefix;
  }

  subscribe(topic: string): void {
    this.#socket.subscribe(this.#prefix + topic);
  }

  unsubscribe(topic: string): void {
    this.#socket.unsubscribe(this.#prefix + topic);
  }

  publish(topic: string, frame: string): void {
    this.#socket.publish(this.#prefix + topic, frame);
  }

  get bufferedBytes(): number {
    return this.#socket.getBufferedAmount();
  }

  send(frame: string): SendOutcome | "closed" {
    const result = this.#socket.send(frame);
    if (result > 0) return "sent";
    if (result === -1) return "queued";
    return this.#socket.readyState === OPEN ? "dropped" : "closed";
  }

  ping(): void {
    this.#socket.ping();
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason);
    later(() => this.#socket.terminate(), CLOSE_TIMEOUT_MS);
  }
}
