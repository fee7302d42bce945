/** A peer in memory: sends frames directly to the router and records the frames it receives. */
import { uuidv7 } from "@halyard/base";
import { CONTROL } from "../protocol/control.ts";
import { encode, type Meta } from "../protocol/envelope.ts";
import { type ErrorPayload, WsError } from "../protocol/error.ts";
import type { SendOutcome, Socket, SocketEvents } from "../router/connections/peer.ts";
import type { AnyMessageSchema, PayloadInput, PayloadOutput, RpcSchema } from "../schema/message.ts";
import { settle } from "./fake-clock.ts";

/** A frame as the peer received it. */
export interface TestFrame {
  /** The message type. */
  readonly type: string;
  /** The meta of the frame. */
  readonly meta: Readonly<Record<string, unknown>>;
  /** The payload, if there is one. */
  readonly payload?: unknown;
}

/** How the server closed a connection. */
export interface TestClose {
  /** The close code. */
  readonly code: number;
  /** The reason; may be empty. */
  readonly reason: string;
}

/** The server's side of the connection. */
class MemorySocket implements Socket {
  readonly frames: TestFrame[] = [];
  readonly waiters = new Set<(frame: TestFrame) => void>();
  bufferedBytes = 0;
  isPaused = false;
  pings = 0;
  closedWith: TestClose | undefined;
  readonly onClosed: ((close: TestClose) => void)[] = [];
  events: SocketEvents | undefined;

  send(text: string): SendOutcome {
    const frame: TestFrame = JSON.parse(text);
    this.frames.push(frame);
    for (const waiter of this.waiters) waiter(frame);
    if (!this.isPaused) return "sent";
    this.bufferedBytes += text.length;
    return "queued";
  }

  close(code: number, reason: string): void {
    this.closedWith = { code, reason };
    for (const callback of this.onClosed.splice(0)) callback(this.closedWith);
    queueMicrotask(() => this.events?.closed(code, reason));
  }

  ping(): void {
    this.pings++;
  }
}

/** A connected peer, created by `server.connect()`. */
export class TestConnection {
  readonly #socket = new MemorySocket();

  /** `accept` connects the socket to the server. */
  constructor(accept: (socket: Socket) => SocketEvents) {
    this.#socket.events = accept(this.#socket);
  }

  /** All frames received so far, hello first. */
  get frames(): readonly TestFrame[] {
    return this.#socket.frames;
  }

  /** How the server closed the connection, if it did. */
  get closedWith(): TestClose | undefined {
    return this.#socket.closedWith;
  }

  /** How many heartbeat pings were received. */
  get pings(): number {
    return this.#socket.pings;
  }

  /** Sends a message without checks, as a hostile peer could. */
  async send<S extends AnyMessageSchema>(
    schema: S,
    payload?: PayloadInput<S>,
    meta: Meta = {},
  ): Promise<void> {
    await this.sendRaw(encode(schema.type, meta, payload));
  }

  /** Sends any text, or bytes as a binary frame. */
  async sendRaw(frame: string | Uint8Array): Promise<void> {
    this.#socket.events?.receive(frame);
    await settle();
  }

  /** Sends a request; resolves to the response's payload, rejects with the server's error. */
  async request<S extends RpcSchema>(
    schema: S,
    payload?: PayloadInput<S>,
    meta: Meta = {},
  ): Promise<PayloadOutput<S["response"]>> {
    const correlationId = meta.correlationId ?? uuidv7();
    const response = this.#waitFor(
      (frame) => frame.meta["correlationId"] === correlationId && frame.type !== CONTROL.progress,
    );
    await this.send(schema, payload, { ...meta, correlationId });
    const frame = await response;
    if (frame.type !== CONTROL.error) return frame.payload as PayloadOutput<S["response"]>;
    const { code, message, details, ...options } = frame.payload as ErrorPayload;
    const error = new WsError(code, message, details, options);
    schema.readError?.(error, [{}]);
    throw error;
  }

  /** The payloads of all messages of this type received so far. */
  received<S extends AnyMessageSchema>(schema: S): PayloadInput<S>[] {
    return this.frames
      .filter((frame) => frame.type === schema.type)
      .map((frame) => frame.payload as PayloadInput<S>);
  }

  /** Stops reading: frames to this peer stay in the server's buffer. */
  pause(): void {
    this.#socket.isPaused = true;
  }

  /** Reads again, and empties the buffer. */
  async resume(): Promise<void> {
    this.#socket.isPaused = false;
    this.#socket.bufferedBytes = 0;
    this.#socket.events?.drained();
    await settle();
  }

  /** Closes the connection from the peer's side. */
  async disconnect(code = 1000, reason = ""): Promise<void> {
    this.#socket.events?.closed(code, reason);
    await settle();
  }

  /** Replies to a heartbeat ping. */
  pong(): void {
    this.#socket.events?.pong();
  }

  #waitFor(matches: (frame: TestFrame) => boolean): Promise<TestFrame> {
    return new Promise((resolve, reject) => {
      this.#socket.onClosed.push(({ code }) =>
        reject(
          new WsError(
            "UNAVAILABLE",
            `The server closed the connection with ${code} before it sent a response.`,
          ),
        ),
      );
      const waiter = (frame: TestFrame) => {
        if (!matches(frame)) return;
        this.#socket.waiters.delete(waiter);
        resolve(frame);
      };
      this.#socket.waiters.add(waiter);
    });
  }
}
