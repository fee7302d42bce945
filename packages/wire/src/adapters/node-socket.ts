/** The router's `Socket` over a WebSocket of the `ws` library; writes in batches, corked per turn of the event loop. */
import type { Duplex } from "node:stream";
import { type RawData, WebSocket } from "ws";
import { MAX_BYTES_PER_UNIT } from "../protocol/bytes.ts";
import { CLOSE } from "../protocol/control.ts";
import type { SendOutcome, SharedFrame, Socket, SocketEvents } from "../router/connections/peer.ts";
import type { Batch, BatchMember, FanOut } from "./fan-out.ts";
import { cork, uncork } from "./turn.ts";
import { UnfinishedMessages } from "./unfinished-message.ts";
import { checkLimits } from "./unfinished-message-check.ts";

const MAX_HEADER_BYTES = 10;
const unfinishedMessages = new UnfinishedMessages((websocket) => socketOf(websocket)?.expire());

/** Every server calls this before its first connection. */
export function checkUnfinishedMessages(): void {
  checkLimits(unfinishedMessages);
}

/** Node's own handle of a stream. Node uses the same figures to detect progress within a write. */
interface StreamHandle {
  readonly bytesWritten?: number;
  readonly writeQueueSize?: number;
}

/** Writes pending frames before every close: nothing may be written after the close frame. */
export class FlushingWebSocket extends WebSocket {
  socket: NodeSocket | undefined;

  override close(code?: number, reason?: string | Buffer): void {
    this.socket?.writeNow();
    super.close(code, reason);
  }
}

export class NodeSocket implements Socket, BatchMember {
  readonly #websocket: FlushingWebSocket;
  readonly #tcp: Duplex;
  readonly #fanOut: FanOut;
  readonly #limitBytes: number;
  /** Set by `listen`. */
  events: SocketEvents | undefined;
  /** The close code of an error; it is not in the close event of `ws`, which has already sent the close frame. */
  failure: number | undefined;
  /** Called when bytes above the limit were sent. The `drain` event of the stream has another limit. */
  #written: ((error?: Error | null) => void) | undefined;
  /** The batch with frames from `#from` to `#to`, and those that followed, to write for this socket. */
  #batch: Batch | undefined;
  #from = 0;
  #to = 0;

  constructor(websocket: FlushingWebSocket, tcp: Duplex, fanOut: FanOut, limitBytes: number) {
    this.#websocket = websocket;
    websocket.socket = this;
    this.#tcp = tcp;
    this.#fanOut = fanOut;
    this.#limitBytes = limitBytes;
  }

  get bufferedBytes(): number {
    // Without compression, the unsent bytes of `ws` are exactly those in the stream.
    const unsent = this.#tcp.writableLength;
    const batch = this.#batch;
    return batch === undefined || batch.isWritten ? unsent : unsent + batch.bytesOf(this.#from, this.#to);
  }

  get sentBytes(): number {
    const handle = (this.#tcp as { _handle?: StreamHandle | null })._handle;
    // Without a handle, only whole writes are visible.
    return (handle?.bytesWritten ?? -this.#tcp.writableLength) - (handle?.writeQueueSize ?? 0);
  }

  send(frame: string): SendOutcome | "closed" {
    if (this.#websocket.readyState !== this.#websocket.OPEN) return "closed";
    this.writeNow();
    cork(this.#tcp);
    this.#websocket.send(frame, this.#callbackFor(MAX_HEADER_BYTES + MAX_BYTES_PER_UNIT * frame.length));
    return "queued";
  }

  /** The callback of a write, only if the write may exceed the limit. */
  #callbackFor(bytes: number): ((error?: Error | null) => void) | undefined {
    if (this.#tcp.writableLength + bytes <= this.#limitBytes) return undefined;
    this.#written ??= (error) => {
      if (!error) this.events?.drained();
    };
    return this.#written;
  }

  sendShared(frame: SharedFrame): SendOutcome | "closed" {
    if (this.#websocket.readyState !== this.#websocket.OPEN) return "closed";
    const batch = this.#fanOut.batchOf(frame);
    const at = batch.size - 1;
    if (this.#batch !== batch || batch.endOf(this.#to) !== at) {
      // Keeps the order of frames: writes those of another topic, or before a frame this peer did not get, first.
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

  /** Writes the frames that wait for the end of the turn. */
  writeNow(): void {
    if (this.#batch !== undefined && !this.#batch.isWritten) this.writeBatch(this.#batch);
  }

  writeBatch(batch: Batch): void {
    if (this.#batch !== batch) return;
    this.#batch = undefined;
    batch.left(this.#to);
    if (this.#websocket.readyState !== this.#websocket.OPEN) return;
    const bytes = batch.framesOf(this.#from, this.#to);
    this.#tcp.write(bytes, this.#callbackFor(bytes.length));
  }

  close(code: number, reason: string): void {
    this.#websocket.close(code, reason);
  }

  ping(): void {
    if (this.#websocket.readyState === this.#websocket.OPEN) this.#websocket.ping();
  }

  /** Replies to a ping, unless the peer does not read: its pongs would accumulate outside every limit. */
  pong(data: Buffer): void {
    if (this.#websocket.readyState !== this.#websocket.OPEN || this.bufferedBytes > this.#limitBytes) return;
    cork(this.#tcp);
    this.#websocket.pong(data);
  }

  /** The peer did not finish a message in time. The network of an honest client may be that slow, so it may reconnect. */
  expire(): void {
    this.failure = CLOSE.tryLater;
    this.#websocket.close(this.failure, "the message was not finished in time");
  }
}

/** Adds the listeners, which all connections share: functions for each would take half a kilobyte. */
export function listen(websocket: FlushingWebSocket, socket: NodeSocket, events: SocketEvents): void {
  socket.events = events;
  websocket.on("message", onMessage);
  websocket.on("ping", onPing);
  websocket.on("pong", onPong);
  websocket.on("error", onError);
  websocket.on("close", onClose);
  unfinishedMessages.watch(websocket);
}

function socketOf(websocket: WebSocket): NodeSocket | undefined {
  return (websocket as FlushingWebSocket).socket;
}

function onMessage(this: WebSocket, data: RawData, isBinary: boolean): void {
  // With the default binary type, ws passes every message as one Buffer.
  socketOf(this)?.events?.receive(isBinary ? (data as Buffer) : (data as Buffer).toString());
}

function onPing(this: WebSocket, data: Buffer): void {
  const socket = socketOf(this);
  socket?.pong(data);
  socket?.events?.pong();
}

function onPong(this: WebSocket): void {
  socketOf(this)?.events?.pong();
}

function onError(this: WebSocket, error: Error & { code?: string }): void {
  const socket = socketOf(this);
  if (socket === undefined) return;
  socket.failure = closeCodeOf(error.code);
  if (socket.failure === 1009) socket.events?.tooLarge();
}

function onClose(this: WebSocket, code: number, reason: Buffer): void {
  const socket = socketOf(this);
  unfinishedMessages.closed(this);
  socket?.events?.closed(socket.failure ?? code, reason.toString());
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
