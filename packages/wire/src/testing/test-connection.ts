/** A peer in memory: sends frames straight to the router and keeps what comes back. */
import { CONTROL } from "../protocol/control.ts";
import { encode, type Meta } from "../protocol/envelope.ts";
import { type ErrorPayload, WsError } from "../protocol/error.ts";
import { uuidv7 } from "../protocol/uuid.ts";
import type { SendOutcome, Socket, SocketEvents } from "../router/peer.ts";
import type { AnyMessageSchema, PayloadInput, PayloadOutput, RpcSchema } from "../schema/message.ts";
import { settle } from "./fake-clock.ts";

/** A frame as the peer received it. */
export interface TestFrame {
  readonly type: string;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly payload?: unknown;
}

export interface TestClose {
  readonly code: number;
  readonly reason: string;
}

/** The server's end of the connection. */
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
    for (const tell of this.onClosed.splice(0)) tell(this.closedWith);
    queueMicrotask(() => this.events?.closed(code, reason));
  }

  ping(): void {
    this.pings++;
  }
}

/** Made by `server.connect()`. */
export class TestConnection {
  readonly #socket = new MemorySocket();

  /** The server takes over the other end. */
  constructor(accept: (socket: Socket) => SocketEvents) {
    this.#socket.events = accept(this.#socket);
  }

  /** All frames received so far, the greeting first. */
  get frames(): readonly TestFrame[] {
    return this.#socket.frames;
  }

  /** How the server closed the connection, if it did. */
  get closedWith(): TestClose | undefined {
    return this.#socket.closedWith;
  }

  /** How many heartbeat pings came. */
  get pings(): number {
    return this.#socket.pings;
  }

  /** Sends a message, unchecked: what a hostile peer could send, this can. */
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
    const answer = this.#waitFor(
      (frame) => frame.meta["correlationId"] === correlationId && frame.type !== CONTROL.progress,
    );
    await this.send(schema, payload, { ...meta, correlationId });
    const frame = await answer;
    if (frame.type !== CONTROL.error) return frame.payload as PayloadOutput<S["response"]>;
    const { code, message, details, ...options } = frame.payload as ErrorPayload;
    throw new WsError(code, message, details, options);
  }

  /** The payloads of all messages of this type received so far. */
  received<S extends AnyMessageSchema>(schema: S): PayloadInput<S>[] {
    return this.frames
      .filter((frame) => frame.type === schema.type)
      .map((frame) => frame.payload as PayloadInput<S>);
  }

  /** Stops reading, so that what is sent to this peer stays in the server's buffer. */
  pause(): void {
    this.#socket.isPaused = true;
  }

  /** Reads again; the buffer empties. */
  async resume(): Promise<void> {
    this.#socket.isPaused = false;
    this.#socket.bufferedBytes = 0;
    this.#socket.events?.drained();
    await settle();
  }

  /** Leaves, as a peer that closes its end. */
  async disconnect(code = 1000, reason = ""): Promise<void> {
    this.#socket.events?.closed(code, reason);
    await settle();
  }

  /** Answers a heartbeat. */
  pong(): void {
    this.#socket.events?.pong();
  }

  #waitFor(matches: (frame: TestFrame) => boolean): Promise<TestFrame> {
    return new Promise((resolve, reject) => {
      this.#socket.onClosed.push(({ code }) =>
        reject(
          new WsError("UNAVAILABLE", `The server closed the connection with ${code} before it answered.`),
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
