/**
 * Limits what a peer of the Node adapter can keep in memory with a message that it does not finish. The receiver of `ws`
 * keeps fragments as views of the buffers they were read into, so a fragment of one byte may keep 64 KiB.
 */
import { type Clock, systemClock } from "@halyard/base";
import type { WebSocket } from "ws";

/** How long a peer may take to send one message, and how often that is checked, in ms. */
export const MAX_MESSAGE_MS = 30_000;
export const CHECK_MS = 1_000;
export const MAX_CONTROL_FRAMES = 16;
/** Above this many, the parts of an unfinished frame are joined: each read costs some hundred bytes beside its content. */
export const MAX_PARTS = 64;
const MIN_CAPACITY = 1_024;
const CLOSE_FRAME = 8;
/** The state of the receiver between two frames. */
const BETWEEN_FRAMES = 0;

type Done = (error?: Error) => void;

/** The members of the receiver of `ws` 8 that this file uses. They are private: `unfinished-message-check.ts` tries them. */
export interface Receiver {
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

type ReceiverClass = new () => Receiver;

/** A receiver that is watched. */
export interface WatchedReceiver extends Receiver {
  websocket: WebSocket;
  /** Created with the first message that does not arrive in one read. */
  message: UnfinishedMessage | undefined;
}

/** Closes peers that do not finish a message; all servers of the process share one timer. */
export class UnfinishedMessages {
  readonly #expired: (websocket: WebSocket) => void;
  readonly #clock: Pick<Clock, "now" | "setTimeout">;
  readonly #messages = new Set<UnfinishedMessage>();
  /** By the receiver's class: an application may have several copies of `ws`. */
  readonly #watched = new WeakMap<ReceiverClass, WatchedReceiver>();
  #isChecking = false;
  /** False when the installed `ws` would not pass messages on unchanged: its own limits apply. Undefined: not tried yet. */
  isOn: boolean | undefined;

  /** `expired` is called when a peer takes too long for a message. */
  constructor(
    expired: (websocket: WebSocket) => void,
    clock: Pick<Clock, "now" | "setTimeout"> = systemClock,
  ) {
    this.#expired = expired;
    this.#clock = clock;
  }

  /** Watches the receiver of a WebSocket, until `closed`. */
  watch(websocket: WebSocket): void {
    const receiver = receiverOf(websocket);
    if (this.isOn === false || receiver === undefined) return;
    const base = receiver.constructor as ReceiverClass;
    let watched = this.#watched.get(base);
    if (watched === undefined) {
      watched = this.#methodsFor(base);
      this.#watched.set(base, watched);
    }
    Object.setPrototypeOf(receiver, watched);
    receiver.websocket = websocket;
    receiver.message = undefined;
  }

  /** The WebSocket has closed, so its message will not be finished. */
  closed(websocket: WebSocket): void {
    this.#finished(receiverOf(websocket)?.message);
  }

  /** The prototype of all watched receivers: functions for each connection would take half a kilobyte. */
  #methodsFor(base: ReceiverClass): WatchedReceiver {
    const started = (message: UnfinishedMessage): void => this.#started(message);
    const finished = (message: UnfinishedMessage | undefined): void => this.#finished(message);

    class Watched extends base implements WatchedReceiver {
      declare websocket: WebSocket;
      declare message: UnfinishedMessage | undefined;

      override _write(chunk: Buffer, encoding: BufferEncoding, done: Done): void {
        if (this._buffers.length >= MAX_PARTS) this._buffers = [joined(this._buffers)];
        super._write(chunk, encoding, done);
        const isFinished =
          this._state === BETWEEN_FRAMES && this._bufferedBytes === 0 && this._fragmented === 0;
        if (isFinished) finished(this.message);
        else {
          this.message ??= new UnfinishedMessage(this.websocket);
          if (this.message.startedAt === undefined) started(this.message);
        }
      }

      override dataMessage(done: Done): void {
        if (!this._fin) this.message ??= new UnfinishedMessage(this.websocket);
        this.message?.received(this);
        super.dataMessage(done);
      }

      override controlMessage(data: Buffer, done: Done): void {
        const { message } = this;
        if (message !== undefined) {
          if (this._fragmented === 0) message.startedAt = undefined;
          else if (this._opcode !== CLOSE_FRAME && ++message.controlFrames > MAX_CONTROL_FRAMES) {
            const text = "Too many control frames within a message";
            return done(this.createError(RangeError, text, false, 1008, "WS_ERR_TOO_MANY_BUFFERED_PARTS"));
          }
        }
        super.controlMessage(data, done);
      }
    }
    return Watched.prototype;
  }

  #started(message: UnfinishedMessage): void {
    message.startedAt = this.#clock.now();
    this.#messages.add(message);
    if (!this.#isChecking) this.#checkLater();
  }

  #finished(message: UnfinishedMessage | undefined): void {
    if (message === undefined) return;
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
      this.#expired(message.websocket);
    }
    this.#isChecking = false;
    if (this.#messages.size > 0) this.#checkLater();
  }
}

export function receiverOf(websocket: WebSocket): WatchedReceiver | undefined {
  return (websocket as unknown as { _receiver?: WatchedReceiver })._receiver;
}

class UnfinishedMessage {
  readonly websocket: WebSocket;
  /** Monotonic, in ms; undefined between two messages. */
  startedAt: number | undefined;
  /** Control frames since the last fragment. */
  controlFrames = 0;
  /** The content of all fragments, in one buffer that grows. */
  #buffer: Buffer | undefined;
  bytes = 0;

  constructor(websocket: WebSocket) {
    this.websocket = websocket;
  }

  /** A fragment, or a whole message, is in the receiver. */
  received(receiver: Receiver): void {
    this.controlFrames = 0;
    if (receiver._fin) this.startedAt = undefined;
    if (!receiver._fin || this.bytes > 0) this.#collect(receiver);
  }

  /** Copies the newest fragment, and leaves one view of all fragments to the receiver. */
  #collect(receiver: Receiver): void {
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
