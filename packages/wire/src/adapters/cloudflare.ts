/** Cloudflare Durable Objects: one object serves a router to its sockets, on the Hibernation API. */
import { negotiate, offeredProtocols } from "../protocol/handshake.ts";
import { uuidv7 } from "../protocol/uuid.ts";
import type { AnyData, Connection } from "../router/connection.ts";
import type { ConnectionData, SendOutcome, Socket } from "../router/peer.ts";
import type { Router } from "../router/router.ts";
import type { Server } from "../router/server.ts";

// --- types ---

/** The members of the platform's WebSocket that are used here. */
export interface DurableSocket {
  send(frame: string): void;
  close(code?: number, reason?: string): void;
  serializeAttachment(value: unknown): void;
  deserializeAttachment(): unknown;
}

/** The members of a Durable Object's state that are used here. */
export interface DurableState {
  acceptWebSocket(socket: DurableSocket): void;
  getWebSockets(): DurableSocket[];
}

export interface DurableObjectHandler {
  fetch(request: Request): Promise<Response>;
  webSocketMessage(socket: DurableSocket, data: string | ArrayBuffer): void;
  webSocketClose(socket: DurableSocket, code: number, reason: string): void;
  webSocketError(socket: DurableSocket): void;
}

/** What survives hibernation with each socket; the platform allows 16 KiB. */
interface Attachment {
  readonly data: AnyData;
  readonly greets: boolean;
  readonly topics: readonly string[];
}

declare const WebSocketPair: new () => { 0: DurableSocket; 1: DurableSocket };

// --- adapter ---

/**
 * A class to extend and export as a Durable Object.
 *
 * @example
 * ```ts
 * import { createRouter } from "@halyard/wire";
 * import { createDurableObjectHandler } from "@halyard/wire/cloudflare";
 *
 * export class Room extends createDurableObjectHandler(createRouter()) {}
 * ```
 */
export function createDurableObjectHandler<Data extends ConnectionData>(
  router: Router<Data>,
): new (
  state: DurableState,
  env: unknown,
) => DurableObjectHandler {
  return class implements DurableObjectHandler {
    readonly #state: DurableState;
    readonly #server: Server = router.attach({ isolated: true });
    readonly #connections = new Map<DurableSocket, Connection>();

    constructor(state: DurableState, _env: unknown) {
      this.#state = state;
      // After hibernation the sockets are still there but this instance is new: take them all up, so that topics are whole.
      for (const socket of state.getWebSockets()) this.#resume(socket);
    }

    async fetch(request: Request): Promise<Response> {
      if (request.headers.get("upgrade") !== "websocket") {
        return new Response("This is a WebSocket server.\n", {
          status: 426,
          headers: { upgrade: "websocket" },
        });
      }
      const { 0: client, 1: socket } = new WebSocketPair();
      const offered = offeredProtocols(request.headers.get("sec-websocket-protocol"));
      const { protocol, greets } = negotiate(offered, [], "bearer.");
      this.#state.acceptWebSocket(socket);
      const connection = this.#server.accept(
        new CloudflareSocket(socket),
        { clientId: uuidv7() },
        { greets },
      );
      this.#connections.set(socket, connection);
      remember(socket, connection);
      const headers = protocol === undefined ? {} : { "sec-websocket-protocol": protocol };
      // `webSocket` is the platform's own member of ResponseInit.
      return new Response(null, { status: 101, headers, webSocket: client } as ResponseInit);
    }

    webSocketMessage(socket: DurableSocket, data: string | ArrayBuffer): void {
      const connection = this.#connections.get(socket) ?? this.#resume(socket);
      // The platform has no limit of its own below 32 MiB, so the frame is measured after it came.
      const bytes = typeof data === "string" ? byteLength(data) : data.byteLength;
      if (bytes > this.#server.options.maxPayloadBytes) return connection.tooLarge(bytes);
      connection.receive(typeof data === "string" ? data : new Uint8Array(data));
      remember(socket, connection);
    }

    webSocketClose(socket: DurableSocket, code: number, reason: string): void {
      this.#connections.get(socket)?.closed(code, reason);
      this.#connections.delete(socket);
      // The platform completes the closing handshake only when asked; codes a peer cannot send may not be echoed.
      socket.close(isSendable(code) ? code : 1000);
    }

    webSocketError(socket: DurableSocket): void {
      this.#connections.get(socket)?.closed(1006, "");
      this.#connections.delete(socket);
    }

    #resume(socket: DurableSocket): Connection {
      const { data, greets, topics } = socket.deserializeAttachment() as Attachment;
      const connection = this.#server.accept(new CloudflareSocket(socket), data, {
        greets,
        resumedTopics: topics,
      });
      this.#connections.set(socket, connection);
      return connection;
    }
  };
}

/** Keeps with the socket what the connection is now. */
function remember(socket: DurableSocket, connection: Connection): void {
  const { data, greets, topics } = connection;
  if (connection.isOpen)
    socket.serializeAttachment({ data, greets, topics: [...(topics ?? [])] } satisfies Attachment);
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).byteLength;
}

function isSendable(code: number): boolean {
  return code >= 1000 && code <= 4999 && code !== 1004 && code !== 1005 && code !== 1006 && code !== 1015;
}

// --- socket ---

class CloudflareSocket implements Socket {
  /** The platform does not tell. */
  readonly bufferedBytes = 0;
  readonly #socket: DurableSocket;

  constructor(socket: DurableSocket) {
    this.#socket = socket;
  }

  send(frame: string): SendOutcome {
    try {
      this.#socket.send(frame);
      return "sent";
    } catch {
      // The platform throws for a socket that is closed already.
      return "dropped";
    }
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason);
  }
}
