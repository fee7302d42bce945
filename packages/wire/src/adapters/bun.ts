/** Bun: serves a router on `Bun.serve`. */
import { CLOSE } from "../protocol/control.ts";
import { WsError } from "../protocol/error.ts";
import { uuidv7 } from "../protocol/uuid.ts";
import { type DrainResult, drain } from "../router/drain.ts";
import type { ConnectionData, SendOutcome, Socket, SocketEvents } from "../router/peer.ts";
import type { Router } from "../router/router.ts";
import type { Server } from "../router/server.ts";
import { judge, overloaded, RETRY_AFTER_MS, type Upgrade, type Verdict } from "./admission.ts";
import { type BunPublisher, BunPubSub, bunPubSub } from "./bun-pubsub.ts";
import { createEndpoints, type EndpointOptions, type Health, healthOf } from "./endpoints.ts";
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
export { type BunPubSub, bunPubSub };

/** The members of Bun's server that are used here, so that no consumer needs Bun's types. */
export interface BunServer extends BunPublisher {
  upgrade(request: Request, options: { data: BunSocketData; headers: Record<string, string> }): boolean;
}

export interface BunSocket {
  readonly data: BunSocketData;
  readonly readyState: number;
  /** Bytes sent, -1 when queued behind others, 0 when dropped. */
  send(frame: string): number;
  getBufferedAmount(): number;
  ping(): number;
  close(code?: number, reason?: string): void;
  terminate(): void;
  subscribe(topic: string): void;
  unsubscribe(topic: string): void;
  publish(topic: string, frame: string): number;
}

export interface BunSocketData {
  /** What the upgrade decided; gone once the socket is open, so that no connection keeps its request alive. */
  upgrade:
    | {
        readonly verdict: Exclude<Verdict, { kind: "http" }>;
        readonly clientId: string;
        readonly request: Request;
      }
    | undefined;
  events?: SocketEvents;
}

/** What `Bun.serve` takes, and how to end it. */
export interface BunHandler {
  fetch(request: Request, server: BunServer): Promise<Response | undefined>;
  readonly websocket: {
    readonly maxPayloadLength: number;
    readonly backpressureLimit: number;
    readonly closeOnBackpressureLimit: true;
    readonly perMessageDeflate: false;
    readonly idleTimeout: 0;
    readonly sendPings: false;
    open(socket: BunSocket): void;
    message(socket: BunSocket, data: string | Uint8Array): void;
    ping(socket: BunSocket): void;
    pong(socket: BunSocket): void;
    drain(socket: BunSocket): void;
    close(socket: BunSocket, code: number, reason: string): void;
  };
  /** Whether the server is well. */
  health(): Health;
  /** Tells clients to go elsewhere, answers what they asked, and closes them with 1012. */
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

const CLOSE_TIMEOUT_MS = 1_000;
/** How Bun says why it closed a connection; the code it gives is 1006, another than it sent to the peer. */
const REFUSALS: Readonly<Record<string, number>> = {
  "Received too big message": CLOSE.tooBig,
  "Received invalid UTF-8": 1007,
};

// --- adapter ---

/** Starts a WebSocket server for the router; resolves once it listens. */
export async function serve<Data extends ConnectionData>(
  router: Router<Data>,
  options: ServeOptions<Data> = {},
): Promise<void & ServerHandle> {
  const handler = createHandler(router, options);
  const { port = DEFAULT_PORT, host } = options;
  const server = await startBun(handler, { port, ...(host !== undefined && { hostname: host }) });
  if (handler.server.options.heartbeat === undefined) sayHeartbeatIsOff("when a write to them fails");
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopped ??= handler.stop().then(async () => {
      await server.stop(true);
      stopWaiting();
    });
    return stopped;
  };
  const handle: ServerHandle = {
    port: server.port,
    counters: handler.server.counters,
    health: handler.health,
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

async function startBun(
  handler: BunHandler,
  address: { port: number; hostname?: string },
): Promise<RunningBun> {
  try {
    return Bun.serve({ fetch: handler.fetch, websocket: handler.websocket, ...address });
  } catch (error) {
    await handler.stop();
    throw error;
  }
}

/** The handlers for a `Bun.serve` of your own. */
export function createBunHandler<Data extends ConnectionData>(
  router: Router<Data>,
  options: HandlerOptions<Data> = {},
): BunHandler {
  const { server: _, ...handler } = createHandler(router, options);
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
  const { maxPayloadBytes, socketBufferLimitBytes } = server.options;
  const clientIdHeader = options.clientIdHeader ?? DEFAULT_CLIENT_ID_HEADER;
  const gate = new UpgradeGate(options, () => server.connections.size);
  const endpoint = createEndpoints(server, options, () => refusing);
  let refusing = false;

  /** Only the application's own hook hears of refusals: a log line each would be the attacker's to fill. */
  const refused = (error: unknown): void => {
    if (options.onError !== undefined) server.reportOutside(WsError.wrap(error, "UNAUTHENTICATED"));
  };

  const decide = async (upgrade: Upgrade): Promise<Verdict> => {
    if (refusing) return overloaded(upgrade, RETRY_AFTER_MS);
    const refusal = gate.enter();
    if (refusal !== undefined) {
      server.counters.refusedUpgrades++;
      return overloaded(upgrade, refusal.kind === "later" ? refusal.retryAfterMs : undefined);
    }
    try {
      const verdict = await judge(upgrade, options, refused);
      return refusing && verdict.kind === "admit" ? overloaded(upgrade, RETRY_AFTER_MS) : verdict;
    } finally {
      gate.leave();
    }
  };

  return {
    server,
    async fetch(request, bun) {
      if (bound === undefined) {
        bound = bun;
        native?.bind(bun);
      }
      if (request.headers.get("upgrade")?.toLowerCase() !== "websocket") {
        const { status, headers, body } = endpoint(request.method, new URL(request.url).pathname);
        return new Response(body, { status, headers });
      }
      const verdict = await decide({
        url: new URL(request.url),
        header: (name) => request.headers.get(name),
        request: () => request,
      });
      if (verdict.kind === "http")
        return new Response(null, { status: verdict.status, headers: verdict.headers });
      const clientId = uuidv7();
      const headers: Record<string, string> = verdict.kind === "admit" ? { [clientIdHeader]: clientId } : {};
      // Left out, Bun would select the first protocol offered, be it a token.
      headers["sec-websocket-protocol"] = verdict.protocol ?? "";
      if (bun.upgrade(request, { data: { upgrade: { verdict, clientId, request } }, headers }))
        return undefined;
      return new Response("The upgrade failed.\n", { status: 400 });
    },
    websocket: {
      maxPayloadLength: maxPayloadBytes,
      // What the engine publishes by itself is bounded by the engine: it closes the socket at our hard limit.
      backpressureLimit: 2 * socketBufferLimitBytes,
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
      // Bun has answered it; it is a sign of life like any other.
      ping: (socket) => socket.data.events?.pong(),
      pong: (socket) => socket.data.events?.pong(),
      drain: (socket) => socket.data.events?.drained(),
      close(socket, code, reason) {
        const refusal = refusalOf(code, reason);
        if (refusal === CLOSE.tooBig) socket.data.events?.tooLarge();
        if (code === 1006 && reason === "" && server.native?.mayHaveClosed()) {
          server.counters.shed++;
          return socket.data.events?.closed(CLOSE.tryLater, "the peer reads too slowly");
        }
        socket.data.events?.closed(refusal ?? code, reason);
      },
    },
    health: () => healthOf(server, refusing),
    async drain() {
      refusing = true;
      const result = await drain(server, options.drainTimeoutMs ?? DEFAULT_DRAIN_TIMEOUT_MS);
      await server.stop();
      return result;
    },
    stop() {
      refusing = true;
      return server.stop();
    },
  };
}

/** The code Bun sent to a peer whose frame it refused. */
function refusalOf(code: number, reason: string): number | undefined {
  if (code !== 1006 || !reason.startsWith("Received ") || reason.includes("FIN")) return undefined;
  return REFUSALS[reason] ?? 1002;
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

  send(frame: string): SendOutcome {
    const result = this.#socket.send(frame);
    if (result > 0) return "sent";
    return result === -1 ? "queued" : "dropped";
  }

  ping(): void {
    this.#socket.ping();
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason);
    const timer = setTimeout(() => this.#socket.terminate(), CLOSE_TIMEOUT_MS);
    (timer as { unref?: () => void }).unref?.();
  }
}
