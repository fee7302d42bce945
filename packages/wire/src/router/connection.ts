/** One peer: its socket, its data, its calls and topics, and what may still be sent to it. */
import { CLOSE, CONTROL } from "../protocol/control.ts";
import { encodeShort } from "../protocol/encode-short.ts";
import type { ErrorPayload } from "../protocol/error.ts";
import { dispatch } from "./dispatch.ts";
import type { InboundCall } from "./inbound-call.ts";
import type { InboundEvent } from "./inbound-event.ts";
import { Outbox } from "./outbox.ts";
import type { Peer, SendOutcome, ServerContext, SharedFrame, Socket, SocketEvents } from "./peer.ts";
import type { Route } from "./routes.ts";
import type { Server } from "./server.ts";
import { Timeout } from "./timers.ts";

/** A peer that got no close frame through is given up after this long. */
const CLOSE_GRACE_MS = 1_000;
const MAX_REASON_BYTES = 123;

/** Data as the router keeps it: the application's fields are its own business. */
export type AnyData = { readonly clientId: string } & Record<string, unknown>;

export class Connection implements Peer<AnyData>, SocketEvents {
  readonly data: AnyData;
  readonly server: Server;
  /** Whether the peer understands the control frames that only a client of this protocol asks for. */
  readonly greets: boolean;
  readonly socket: Socket;
  readonly #outbox: Outbox;
  #state: "open" | "closing" | "closed" = "open";
  #closeCode: number | undefined;
  #closeReason = "";
  /** Calls in flight by correlation id. */
  calls: Map<string, InboundCall> | undefined;
  topics: Set<string> | undefined;
  /** Messages that wait their turn while one before them has not reached its handler. */
  waiting: { readonly route: Route; readonly message: InboundEvent }[] | undefined;
  /** `onAuth` has admitted this connection, or there is none. */
  admitted = false;
  /** Frames wait while this is true: a handler must not start before the one of an earlier frame. */
  blocked = false;
  refreshing = false;
  /** Event handlers that returned a promise which is still pending. */
  unsettledEvents = 0;
  /** Monotonic time of the last sign of life; kept only with a heartbeat. */
  lastSeenAt = 0;
  pingedAt: number | undefined;
  #expiry: Timeout | undefined;
  #grace: Timeout | undefined;

  constructor(server: Server, socket: Socket, data: AnyData, greets: boolean) {
    this.server = server;
    this.socket = socket;
    this.#outbox = new Outbox(this, socket);
    this.data = data;
    this.greets = greets;
  }

  get clientId(): string {
    return this.data.clientId;
  }

  get context(): ServerContext {
    return this.server.context;
  }

  get bufferedBytes(): number {
    return this.socket.bufferedBytes;
  }

  get isOpen(): boolean {
    return this.#state === "open";
  }

  /** Something it asked for has not been answered, or something it sent has not even reached its handler. */
  get isBusy(): boolean {
    return (this.calls?.size ?? 0) > 0 || this.blocked || (this.waiting?.length ?? 0) > 0;
  }

  get canPing(): boolean {
    return this.socket.ping !== undefined;
  }

  ping(): void {
    this.socket.ping?.();
  }

  receive(frame: string | Uint8Array): void {
    if (this.#state !== "open") return;
    this.server.heartbeat?.sawLife(this);
    dispatch(this, frame);
  }

  pong(): void {
    this.server.heartbeat?.sawLife(this);
  }

  tooLarge(observedBytes?: number): void {
    const limit = this.server.options.maxPayloadBytes;
    const observed = observedBytes ?? limit + 1;
    this.server.limitExceeded({ type: "payload", clientId: this.clientId, ws: this, observed, limit });
    this.close(CLOSE.tooBig, "the frame is too large");
  }

  assignData(partial: Record<string, unknown>): void {
    const { clientId: _, ...fields } = partial;
    Object.assign(this.data, fields);
    this.socket.changed?.("data");
  }

  /** Sends a frame that must not be lost: when it cannot be kept, the connection ends. */
  send(
    type: string,
    payload?: unknown,
    correlationId?: string,
    timestamp: number = this.server.clock.wall(),
  ): SendOutcome {
    return this.sendFrame(encodeShort(type, timestamp, correlationId, payload));
  }

  sendFrame(frame: string): SendOutcome {
    return this.#state === "open" ? this.#outbox.send(frame) : "dropped";
  }

  sendError(error: ErrorPayload, correlationId: string | undefined): void {
    this.send(CONTROL.error, error, correlationId);
  }

  /** Hands over a published frame; false when the peer reads too slowly and the frame was shed. */
  deliver(frame: SharedFrame): boolean {
    return this.#state === "open" && this.#outbox.deliver(frame);
  }

  get isSlow(): boolean {
    return this.#outbox.isSlow;
  }

  drained(): void {
    if (this.#state !== "open" || this.isSlow) return;
    this.#outbox.drained();
    this.server.native?.drained(this);
  }

  /** Resolves to true once no more bytes wait than allowed. */
  whenDrained(signal: AbortSignal | undefined): Promise<boolean> {
    if (this.socket.hidesBuffer) return this.whenAcknowledged(signal);
    return this.isOpen ? this.#outbox.whenDrained(signal) : Promise.resolve(false);
  }

  /** Resolves to true once the peer has proved that it got everything sent until now. */
  whenAcknowledged(signal: AbortSignal | undefined): Promise<boolean> {
    return this.isOpen && this.greets ? this.#outbox.whenAcknowledged(signal) : Promise.resolve(false);
  }

  acknowledge(id: string): void {
    this.#outbox.acknowledge(id, true);
  }

  /** Closes the connection with 4401 at this wall time unless it is set anew; undefined: never. */
  expireAt(expiresAt: unknown): void {
    if (this.#expiry !== undefined) this.server.timers.remove(this.#expiry);
    if (expiresAt === undefined || expiresAt === Number.POSITIVE_INFINITY) return;
    this.#expiry ??= new Timeout(() => this.close(CLOSE.unauthenticated, "the authentication has expired"));
    const remainingMs = typeof expiresAt === "number" ? expiresAt - this.server.clock.wall() : 0;
    // What is not a number is over: nothing may stay open by mistake.
    this.server.timers.add(this.#expiry, Math.max(0, remainingMs || 0));
  }

  close(code = 1000, given = ""): void {
    checkCloseCode(code);
    if (this.#state !== "open") return;
    const reason = shortReason(given);
    this.awaitClose(code, reason);
    this.socket.close(code, reason);
  }

  /** The server has closed the connection: it is over when the peer answers, or soon. */
  awaitClose(code: number, reason: string): void {
    this.#state = "closing";
    this.#closeCode = code;
    this.#closeReason = reason;
    this.#grace = new Timeout(() => this.closed(code, reason));
    this.server.timers.add(this.#grace, CLOSE_GRACE_MS);
    this.socket.changed?.("state");
  }

  /** How the server closes the connection, while the peer has not answered. */
  get closing(): { readonly code: number; readonly reason: string } | undefined {
    if (this.#state !== "closing" || this.#closeCode === undefined) return undefined;
    return { code: this.#closeCode, reason: this.#closeReason };
  }

  /** The connection is gone: ends everything that belonged to it, once. */
  closed(code: number, reason: string): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.expireAt(undefined);
    if (this.#grace !== undefined) this.server.timers.remove(this.#grace);
    for (const call of [...(this.calls?.values() ?? [])]) call.disconnect();
    this.#outbox.end();
    this.waiting = undefined;
    const byServer = this.#closeCode !== undefined;
    this.server.forget(this, this.#closeCode ?? code, byServer ? this.#closeReason : reason);
  }
}

export function checkCloseCode(code: number): void {
  if (isCloseCode(code)) return;
  throw new RangeError(`${code} is not a close code to send. Use 1000, or one from 3000 to 4999.`);
}

/** Codes that may stand in a close frame; the others only describe how a connection ended. */
export function isCloseCode(code: number): boolean {
  return (code >= 1000 && code <= 1014 && (code < 1004 || code > 1006)) || (code >= 3000 && code <= 4999);
}

/** A close frame holds 123 bytes of reason; cut at a character, in bytes of UTF-8. */
function shortReason(reason: string): string {
  if (reason.length * 3 <= MAX_REASON_BYTES) return reason;
  const { read } = new TextEncoder().encodeInto(reason, new Uint8Array(MAX_REASON_BYTES));
  return reason.slice(0, read);
}
