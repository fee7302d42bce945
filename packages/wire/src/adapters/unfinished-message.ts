/**
 * Limits what a peer of the Node adapter can keep in memory with a message that it does not finish. The receiver of `ws`
 * keeps fragments as views of the buffers they were read into, so a fragment of one byte may keep 64 KiB.
 */
import type { WebSocket } from "ws";
import { type Clock, systemClock } from "../time/clock.ts";

/** How long a peer may take to send one message, and how often that is checked, in ms. */
const MAX_MESSAGE_MS = 30_000;
const CHECK_MS = 1_000;
const MAX_CONTROL_FRAMES = 16;
/** Above this many, the parts of an unfinished frame are joined: each read costs some hundred bytes beside its content. */
const MAX_PARTS = 64;
const MIN_CAPACITY = 1_024;
const CLOSE_FRAME = 8;
/** The state of the receiver between two frames. */
const BETWEEN_FRAMES = 0;

type Done = (error?: Error) => void;

/** The members of the receiver of `ws` 8 that this file uses. */
interface Receiver {
  readonly _maxPayload: number;
  readonly _state: number;
  readonly _opcode: number;
  /** Whether this frame is the last of its message. */
  readonly _fin: boolean;
  /** The opcode of a message of which not all fragments have arrived; otherwise 0. */
  readonly _fragmented: number;
  readonly _bufferedBytes: number;
  _buffers: Buffer[];
  _fragments: Buffer[];
  _write(chunk: Buffer, encoding: BufferEncoding, done: Done): void;
  dataMessage(done: Done): void;
  controlMessage(data: Buffer, done: Done): void;
  createError(
    type: typeof RangeError,
    message: string,
    prefix: boolean,
    closeCode: number,
    code: string,
  ): RangeError;
}

/** Closes peers that do not finish a message; all servers of the process share one timer. */
export class UnfinishedMessages {
  readonly #clock: Clock;
  readonly #messages = new Set<UnfinishedMessage>();
  #isChecking = false;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Watches the receiver of a WebSocket. `expired` is called when the peer takes too long for a message. */
  watch(websocket: WebSocket, expired: () => void): void {
    const { _receiver: receiver } = websocket as unknown as { _receiver?: Receiver };
    // Another major version of `ws`; its own limits apply.
    if (typeof receiver?.dataMessage !== "function" || !Array.isArray(receiver._fragments)) return;
    const message = new UnfinishedMessage(expired);
    const { _write: write, dataMessage, controlMessage } = receiver;
    receiver._write = (chunk, encoding, done) => {
      if (receiver._buffers.length >= MAX_PARTS) receiver._buffers = [joined(receiver._buffers)];
      write.call(receiver, chunk, encoding, done);
      const isFinished =
        receiver._state === BETWEEN_FRAMES && receiver._bufferedBytes === 0 && receiver._fragmented === 0;
      if (isFinished) this.#finished(message);
      else if (message.startedAt === undefined) this.#started(message);
    };
    receiver.dataMessage = (done) => {
      message.controlFrames = 0;
      if (receiver._fin) message.startedAt = undefined;
      if (!receiver._fin || message.bytes > 0) message.collect(receiver);
      dataMessage.call(receiver, done);
    };
    receiver.controlMessage = (data, done) => {
      if (receiver._fragmented === 0) message.startedAt = undefined;
      else if (receiver._opcode !== CLOSE_FRAME && ++message.controlFrames > MAX_CONTROL_FRAMES) {
        const text = "Too many control frames within a message";
        return done(receiver.createError(RangeError, text, false, 1008, "WS_ERR_TOO_MANY_BUFFERED_PARTS"));
      }
      controlMessage.call(receiver, data, done);
    };
    websocket.on("close", () => this.#finished(message));
  }

  #started(message: UnfinishedMessage): void {
    message.startedAt = this.#clock.now();
    this.#messages.add(message);
    if (!this.#isChecking) this.#checkLater();
  }

  #finished(message: UnfinishedMessage): void {
    message.startedAt = undefined;
    this.#messages.delete(message);
  }

  #checkLater(): void {
    this.#isChecking = true;
    this.#clock.setTimeout(() => this.#check(), CHECK_MS);
  }

  #check(): void {
    const now = this.#clock.now();
    for (const message of this.#messages) {
      if (message.startedAt === undefined || now - message.startedAt < MAX_MESSAGE_MS) continue;
      this.#finished(message);
      message.expired();
    }
    this.#isChecking = false;
    if (this.#messages.size > 0) this.#checkLater();
  }
}

class UnfinishedMessage {
  readonly expired: () => void;
  /** Monotonic, in ms; undefined between two messages. */
  startedAt: number | undefined;
  /** Control frames since the last fragment. */
  controlFrames = 0;
  /** The content of all fragments, in one buffer that grows. */
  #buffer: Buffer | undefined;
  bytes = 0;

  constructor(expired: () => void) {
    this.expired = expired;
  }

  /** Copies the newest fragment, and leaves one view of all fragments to the receiver. */
  collect(receiver: Receiver): void {
    const isFirst = this.bytes === 0;
    const fragment = receiver._fragments.length > (isFirst ? 0 : 1) ? receiver._fragments.pop() : undefined;
    if (fragment !== undefined) {
      const buffer = this.#roomFor(this.bytes + fragment.length, receiver._maxPayload);
      buffer.set(fragment, this.bytes);
      this.bytes += fragment.length;
      receiver._fragments = [buffer.subarray(0, this.bytes)];
    }
    if (!receiver._fin) return;
    this.#buffer = undefined;
    this.bytes = 0;
  }

  /** Twice as large each time, but never larger than a message may be. */
  #roomFor(bytes: number, maxBytes: number): Buffer {
    const old = this.#buffer;
    if (old !== undefined && bytes <= old.length) return old;
    const capacity = Math.max(bytes, Math.min(Math.max(2 * (old?.length ?? 0), MIN_CAPACITY), maxBytes));
    // Not from Node's pool: a part of it would keep the whole.
    const buffer = Buffer.allocUnsafeSlow(capacity);
    if (old !== undefined) buffer.set(old.subarray(0, this.bytes));
    this.#buffer = buffer;
    return buffer;
  }
}

function joined(parts: readonly Buffer[]): Buffer {
  let bytes = 0;
  for (const part of parts) bytes += part.length;
  const buffer = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  for (const part of parts) {
    buffer.set(part, at);
    at += part.length;
  }
  return buffer;
}
