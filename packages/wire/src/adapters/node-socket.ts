/** Node: one connection of `ws` as the router's socket, written in batches and corked per turn. */
import type { Duplex } from "node:stream";
import { type RawData, WebSocket } from "ws";
import type { SendOutcome, SharedFrame, Socket, SocketEvents } from "../router/peer.ts";
import type { Batch, BatchMember, FanOut } from "./fan-out.ts";
import { cork, uncork } from "./turn.ts";

const MAX_HEADER_BYTES = 10;

/** Tells before it closes, whoever asked for it: nothing may be written after the close frame. */
export class TellingWebSocket extends WebSocket {
  socket: NodeSocket | undefined;

  override close(code?: number, reason?: string | Buffer): void {
    this.socket?.writeNow();
    super.close(code, reason);
  }
}

export class NodeSocket implements Socket, BatchMember {
  readonly #websocket: TellingWebSocket;
  readonly #tcp: Duplex;
  readonly #fanOut: FanOut;
  readonly #limitBytes: number;
  /** Called when bytes above the limit have left. The stream's own `drain` event knows another limit. */
  onDrained: (() => void) | undefined;
  readonly #written = (error?: Error | null): void => {
    if (!error) this.onDrained?.();
  };
  /** Unless it is written: frames from `#from` up to `#to`, and those that followed, are still to be. */
  #batch: Batch | undefined;
  #from = 0;
  #to = 0;

  constructor(websocket: TellingWebSocket, tcp: Duplex, fanOut: FanOut, limitBytes: number) {
    this.#websocket = websocket;
    websocket.socket = this;
    this.#tcp = tcp;
    this.#fanOut = fanOut;
    this.#limitBytes = limitBytes;
  }

  get bufferedBytes(): number {
    // Without compression, what `ws` has taken and not sent is exactly what waits in the stream.
    const unsent = this.#tcp.writableLength;
    const batch = this.#batch;
    return batch === undefined || batch.isWritten ? unsent : unsent + batch.bytesOf(this.#from, this.#to);
  }

  send(frame: string): SendOutcome {
    if (this.#websocket.readyState !== this.#websocket.OPEN) return "dropped";
    this.writeNow();
    cork(this.#tcp);
    this.#websocket.send(frame, this.#tellAfter(MAX_HEADER_BYTES + 3 * frame.length));
    return "queued";
  }

  /** Only a write that may exceed the limit is worth a callback. */
  #tellAfter(bytes: number): ((error?: Error | null) => void) | undefined {
    return this.#tcp.writableLength + bytes > this.#limitBytes ? this.#written : undefined;
  }

  sendShared(frame: SharedFrame): SendOutcome {
    if (this.#websocket.readyState !== this.#websocket.OPEN) return "dropped";
    const batch = this.#fanOut.batchOf(frame);
    const at = batch.size - 1;
    if (this.#batch !== batch || batch.endOf(this.#to) !== at) {
      // Frames keep their order: what came before on another topic, or before a frame this peer did not get, goes first.
      this.writeNow();
      this.#batch = batch;
      this.#from = at;
      batch.join(this, this.#tcp);
    }
    this.#to = at + 1;
    batch.took(this.#limitBytes - this.bufferedBytes);
    return "queued";
  }

  flush(): void {
    this.writeNow();
    uncork(this.#tcp);
  }

  /** Writes what waits for the end of the turn. */
  writeNow(): void {
    if (this.#batch !== undefined && !this.#batch.isWritten) this.writeBatch(this.#batch);
  }

  writeBatch(batch: Batch): void {
    if (this.#batch !== batch) return;
    this.#batch = undefined;
    batch.left(this.#to);
    if (this.#websocket.readyState !== this.#websocket.OPEN) return;
    const bytes = batch.framesOf(this.#from, this.#to);
    this.#tcp.write(bytes, this.#tellAfter(bytes.length));
  }

  close(code: number, reason: string): void {
    this.#websocket.close(code, reason);
  }

  ping(): void {
    if (this.#websocket.readyState === this.#websocket.OPEN) this.#websocket.ping();
  }

  /** Answers a ping, but not of a peer that does not read: its pongs would pile up outside every limit. */
  pong(data: Buffer): void {
    if (this.#websocket.readyState !== this.#websocket.OPEN || this.bufferedBytes > this.#limitBytes) return;
    cork(this.#tcp);
    this.#websocket.pong(data);
  }
}

export function listen(websocket: WebSocket, socket: NodeSocket, events: SocketEvents): void {
  let failure: number | undefined;
  websocket.on("message", (data: RawData, isBinary: boolean) => {
    // With the default binary type, ws gives every message as one Buffer.
    events.receive(isBinary ? (data as Buffer) : (data as Buffer).toString());
  });
  websocket.on("pong", () => events.pong());
  websocket.on("ping", (data) => {
    socket.pong(data);
    events.pong();
  });
  websocket.on("error", (error: Error & { code?: string }) => {
    // ws has sent the close frame already; the code it chose is not in the close event.
    failure = closeCodeOf(error.code);
    if (failure === 1009) events.tooLarge();
  });
  websocket.on("close", (code, reason) => events.closed(failure ?? code, reason.toString()));
  socket.onDrained = () => events.drained();
}

function closeCodeOf(errorCode: string | undefined): number | undefined {
  switch (errorCode) {
    case "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH":
    case "WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH":
      return 1009;
    case "WS_ERR_INVALID_UTF8":
      return 1007;
    case "WS_ERR_TOO_MANY_BUFFERED_PARTS":
      return 1008;
    default:
      return errorCode?.startsWith("WS_ERR_") ? 1002 : undefined;
  }
}
