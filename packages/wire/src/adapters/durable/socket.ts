/** The router's `Socket` over a Durable Object's WebSocket. */
import type { ConnectionPart, SendOutcome, Socket } from "../../router/connections/peer.ts";
import type { DurableSocket } from "./platform.ts";

export class HibernatingSocket implements Socket {
  /** The platform does not report unsent bytes. */
  readonly bufferedBytes = 0;
  readonly hidesBuffer = true;
  readonly #socket: DurableSocket;
  /** Called for every part of the connection that has to be persisted again. */
  readonly changed: (part: ConnectionPart) => void;

  constructor(socket: DurableSocket, changed: (part: ConnectionPart) => void) {
    this.#socket = socket;
    this.changed = changed;
  }

  send(frame: string): SendOutcome | "closed" {
    try {
      this.#socket.send(frame);
      return "sent";
    } catch {
      // The platform throws for a closed socket.
      return "closed";
    }
  }

  close(code: number, reason: string): void {
    closeSocket(this.#socket, code, reason);
  }
}

/** Closes the socket; ignores the error that the platform throws for a closed one. */
export function closeSocket(socket: DurableSocket, code: number, reason?: string): void {
  try {
    socket.close(code, reason);
  } catch {}
}
