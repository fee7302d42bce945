/** A Durable Object's WebSocket as the router wants it. */
import type { ConnectionPart, SendOutcome, Socket } from "../router/peer.ts";
import type { DurableSocket } from "./durable-platform.ts";

export class HibernatingSocket implements Socket {
  /** The platform does not tell. */
  readonly bufferedBytes = 0;
  readonly hidesBuffer = true;
  readonly #socket: DurableSocket;
  /** Called for every part of the connection that has to be remembered anew. */
  readonly changed: (part: ConnectionPart) => void;

  constructor(socket: DurableSocket, changed: (part: ConnectionPart) => void) {
    this.#socket = socket;
    this.changed = changed;
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
    closeSocket(this.#socket, code, reason);
  }
}

/** The platform throws for a socket that is closed already; then there is nothing to do. */
export function closeSocket(socket: DurableSocket, code: number, reason?: string): void {
  try {
    socket.close(code, reason);
  } catch {}
}
