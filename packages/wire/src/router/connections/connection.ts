/** The connection to one peer: `Connection` of `contracts.ts`, where its members are described. */
import { CLOSE, CONTROL } from "../../protocol/control.ts";
import { encodeShort } from "../../protocol/encode-short.ts";
import type { Envelope } from "../../protocol/envelope.ts";
import type { ErrorPayload } from "../../protocol/error.ts";
import type { MessageArguments } from "../../schema/arguments.ts";
import type { ReceivedMessage, RpcSchema } from "../../schema/message.ts";
import { Timeout } from "../../time/timers.ts";
import { Asks } from "../calls/asks.ts";
import type { CallInFlight, Connection, Server, WaitingMessage } from "../contracts.ts";
import { dispatch } from "../dispatch.ts";
import type { Membership } from "../topics/membership.ts";
import { checkCloseCode, shortReason } from "./close-code.ts";
import { checkFrameSize } from "./frame-size.ts";
import { HeldMessage, type HeldMessages } from "./inbound-memory.ts";
import { Outbox } from "./outbox.ts";
import type { AnyData, AskOptions, SendOutcome, ServerContext, SharedFrame, Socket } from "./peer.ts";
import type { PendingJoins } from "./pending-joins.ts";

/** How long the peer may take to answer a close frame. */
const CLOSE_GRACE_MS = 1_000;

export class ServerConnection implements Connection {
  readonly data: AnyData;
  readonly server: Server;
  readonly greets: boolean;
  readonly socket: Socket;
  readonly #outbox: Outbox;
  #state: "open" | "closing" | "closed" = "open";
  /** The close frame that the server sent. */
  #closing: { readonly code: number; readonly reason: string } | undefined;
  calls: Map<string, CallInFlight> | undefined;
  topics: Set<string> | undefined;
  memberships: Map<string, Membership> | undefined;
  waiting: WaitingMessage[] | undefined;
  joins: PendingJoins | undefined;
  admitted = false;
  authorization = 0;
  blocked = false;
  refreshing = false;
  unsettledEvents = 0;
  unansweredEvents = 0;
  lastSeenAt = 0;
  pingedAt: number | undefined;
  #expiry: Timeout | undefined;
  #grace: Timeout | undefined;
  /** Created with the first message that outlives its turn of the event loop. */
  #held: HeldMessages | undefined;
  /** Created with the first request to the client. */
  #asks: Asks | undefined;
  /** The length of the frame that is being received. */
  #frameLength = 0;

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

  get isBusy(): boolean {
    return (
      (this.calls?.size ?? 0) > 0 ||
      this.unansweredEvents > 0 ||
      this.blocked ||
      (this.waiting?.length ?? 0) > 0
    );
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
    this.#frameLength = frame.length;
    dispatch(this, frame);
  }

  checkMemory(): void {
    this.server.inbound.check(this.#held, this.#frameLength);
  }

  hold(until: number): HeldMessage {
    const message = new HeldMessage(this.#frameLength, until);
    this.#held ??= this.server.inbound.open();
    this.#held.add(message);
    // A handler may have closed the connection before it returned its promise.
    if (this.#state === "closed") this.#held.close();
    return message;
  }

  release(message: HeldMessage): void {
    this.#held?.remove(message);
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
    this.server.channels.dataChanged(this);
  }

  send(
    type: string,
    payload?: unknown,
    correlationId?: string,
    timestamp: number = this.server.clock.wall(),
  ): SendOutcome {
    return this.sendFrame(encodeShort(type, timestamp, correlationId, payload));
  }

  sendFrame(frame: string, shared?: SharedFrame): SendOutcome {
    if (this.#state !== "open") return "dropped";
    checkFrameSize(frame, this.server.options.maxOutboundFrameBytes);
    return this.#outbox.send(frame, shared);
  }

  sendError(error: ErrorPayload, correlationId: string | undefined): void {
    this.send(CONTROL.error, error, correlationId);
  }

  deliver(frame: SharedFrame): boolean {
    return this.#state === "open" && this.#outbox.deliver(frame);
  }

  get isSlow(): boolean {
    return this.#outbox.isSlow;
  }

  drained(): void {
    if (this.#state !== "open") return;
    this.#outbox.drained();
    if (!this.isSlow) this.server.native?.drained(this);
  }

  whenDrained(signal: AbortSignal | undefined): Promise<boolean> {
    if (this.socket.hidesBuffer) return this.whenAcknowledged(signal);
    return this.isOpen ? this.#outbox.whenDrained(signal) : Promise.resolve(false);
  }

  whenAcknowledged(signal: AbortSignal | undefined): Promise<boolean> {
    return this.isOpen && this.greets ? this.#outbox.whenAcknowledged(signal) : Promise.resolve(false);
  }

  acknowledge(id: string): void {
    this.#outbox.acknowledge(id, true);
  }

  async request<S extends RpcSchema & { readonly meta: undefined }>(
    schema: S,
    ...[payload, options]: MessageArguments<S, AskOptions>
  ): Promise<ReceivedMessage<S["response"]>> {
    this.#asks ??= new Asks(this);
    const response = await this.#asks.request(schema, payload, options ?? {});
    return response as ReceivedMessage<S["response"]>;
  }

  answered(id: string, envelope: Envelope): void {
    this.#asks?.answered(id, envelope);
  }

  expireAt(expiresAt: unknown): void {
    if (this.#expiry !== undefined) this.server.timers.remove(this.#expiry);
    if (expiresAt === undefined || expiresAt === Number.POSITIVE_INFINITY) return;
    this.#expiry ??= new Timeout(() => this.close(CLOSE.unauthenticated, "the authentication has expired"));
    const remainingMs = typeof expiresAt === "number" ? expiresAt - this.server.clock.wall() : 0;
    // A value that is not a number counts as expired, so that no connection stays open by mistake.
    this.server.timers.add(this.#expiry, Math.max(0, remainingMs || 0));
  }

  close(code = 1000, fullReason = ""): void {
    checkCloseCode(code);
    if (this.#state !== "open") return;
    const reason = shortReason(fullReason);
    this.awaitClose(code, reason);
    this.socket.close(code, reason);
  }

  /** The close frame was sent: the connection ends when the peer answers it, or after `CLOSE_GRACE_MS`. */
  awaitClose(code: number, reason: string): void {
    this.#state = "closing";
    this.#closing = { code, reason };
    this.#grace = new Timeout(() => this.closed(code, reason));
    this.server.timers.add(this.#grace, CLOSE_GRACE_MS);
    this.socket.changed?.("state");
  }

  get closing(): { readonly code: number; readonly reason: string } | undefined {
    return this.#state === "closing" ? this.#closing : undefined;
  }

  /** The connection is gone: ends its calls, its timers and its subscriptions, once. */
  closed(code: number, reason: string): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.expireAt(undefined);
    if (this.#grace !== undefined) this.server.timers.remove(this.#grace);
    for (const call of [...(this.calls?.values() ?? [])]) call.disconnect();
    this.#outbox.end();
    this.#asks?.end();
    for (const message of this.waiting?.splice(0) ?? []) message.drop();
    this.waiting = undefined;
    this.#held?.close();
    const end = this.#closing ?? { code, reason };
    this.server.forget(this, end.code, end.reason);
  }
}
