/** A request of a connection: its response, its progress, and the memory that it holds. */
import { CONTROL, type ControlType } from "../../protocol/control.ts";
import { type ErrorPayload, WsError } from "../../protocol/error.ts";
import type { AnyMessageSchema } from "../../schema/message.ts";
import { RETRY_AFTER_MS } from "../connections/inbound-memory.ts";
import type { SendOptions } from "../context.ts";
import type { CallInFlight } from "../contracts.ts";
import { Call } from "./call.ts";

/** The longest deadline that a caller may set, unless `rpcTimeoutMs` is longer. */
const MAX_CALLER_TIMEOUT_MS = 300_000;

export class InboundCall extends Call implements CallInFlight {
  /** Throws when a call in flight has the same id, or the limit of calls is reached. */
  checkLimit(): void {
    const { calls, server } = this.ws;
    if (calls === undefined || calls.size === 0) return;
    const { id } = this;
    const limit = server.options.maxInflightRpcsPerSocket;
    if (calls.has(id)) {
      throw new WsError(
        "ALREADY_EXISTS",
        "A request with this correlation id is already in flight. Use a new id.",
        { correlationId: id },
      );
    }
    if (calls.size >= limit) {
      throw new WsError(
        "RESOURCE_EXHAUSTED",
        `This connection already has ${limit} requests in flight, which is the limit. Wait for a response first.`,
        undefined,
        { retryAfterMs: RETRY_AFTER_MS },
      );
    }
  }

  /** Adds the call to the calls in flight and starts its timer. A call with an immediate response needs neither. */
  override arm(): void {
    // Also for a call that has its response: the handler may go on working with the payload.
    // The peer chooses the deadline, so a short one must not free the bytes of a message that is still handled.
    this.held ??= this.ws.hold(
      Math.max(this.deadline, this.receivedAt + this.ws.server.options.rpcTimeoutMs),
    );
    if (this.state !== "running" || this.timer !== undefined) return;
    this.ws.calls ??= new Map();
    this.ws.calls.set(this.id, this);
    this.ws.socket.changed?.("calls");
    this.startTimer();
  }

  protected get timeoutMs(): number {
    const { timeoutMs } = this.meta;
    const { rpcTimeoutMs } = this.ws.server.options;
    if (timeoutMs === undefined) return rpcTimeoutMs;
    return Math.min(Math.max(timeoutMs, 1), Math.max(MAX_CALLER_TIMEOUT_MS, rpcTimeoutMs));
  }

  protected override get deadlineAt(): number {
    return this.started + this.timeoutMs;
  }

  protected override get idleAt(): number {
    return (this.activeAt ?? this.started) + this.ws.server.options.rpcIdleTimeoutMs;
  }

  get id(): string {
    return this.meta.correlationId;
  }

  /** In the turn of arrival, the time of arrival is used, to avoid a second clock read. */
  protected override get now(): number | undefined {
    return this.timer === undefined ? this.receivedAt : undefined;
  }

  protected override get correlation(): string {
    return this.id;
  }

  get callId(): undefined {
    return undefined;
  }

  get isStream(): boolean {
    return false;
  }

  grant(_items: number): void {}

  get deadline(): number {
    return this.meta.receivedAt + this.timeoutMs;
  }

  override timeRemaining(): number {
    return Math.max(0, this.deadlineAt - this.ws.server.clock.now());
  }

  protected override respond(
    schema: AnyMessageSchema,
    payload: unknown,
    options: SendOptions | undefined,
  ): void | Promise<boolean> {
    const isAborted = options?.signal?.aborted ?? false;
    const sent = this.transmit(schema, payload, isAborted ? withoutWaiting(options) : options, this.id);
    this.finish("finished", "ok");
    return isAborted ? options?.waitFor && Promise.resolve(false) : sent;
  }

  /** The response to a request of the protocol itself, which no schema describes. */
  answer(type: ControlType, payload: object): void {
    if (this.state !== "running") return;
    this.ws.send(type, payload, this.id);
    this.finish("finished", "ok");
  }

  progress(data?: unknown): boolean | Promise<void> {
    if (this.state !== "running") return false;
    this.activeAt = this.ws.server.clock.now();
    if (this.ws.server.options.dropProgressOnBackpressure && this.ws.isSlow) {
      this.ws.server.counters.droppedProgress++;
      return false;
    }
    return this.ws.send(CONTROL.progress, data, this.id) !== "dropped";
  }

  override end(): void {
    if (this.isUnanswered) this.finish("finished", "SUPPRESSED");
  }

  /** The handler returned without a response. It may still send one later, so the call stays open until its deadline. */
  override settled(): void {
    if (this.state === "running") {
      if (this.ws.server.options.warnIncompleteRpc) this.ws.server.warnIncomplete(this.type);
      this.arm();
    }
    if (this.held !== undefined) this.held.isHandled = false;
    this.release();
  }

  override drop(): void {
    if (this.held !== undefined) this.held.isHandled = false;
    this.release();
  }

  /** Frees the memory of the call once its handler has settled and its response is sent. */
  private release(): void {
    const { held } = this;
    if (held === undefined || held.isHandled || this.state === "running") return;
    this.held = undefined;
    this.ws.release(held);
  }

  abort(): void {
    // Readers of a stream usually stop it like this.
    if (this.isRunning && !this.isStream) this.ws.server.noteAbort(this.type);
    this.cancel(new WsError("CANCELLED", "The caller cancelled the request."));
  }

  abandon(): void {
    this.cancel(new WsError("UNAVAILABLE", "The server is restarting. Retry after the reconnection."));
  }

  disconnect(): void {
    this.cancel(undefined);
  }

  protected override exceeded(): WsError {
    return new WsError("DEADLINE_EXCEEDED", `${this.type} had no response within ${this.timeoutMs} ms.`);
  }

  protected override silence(): WsError {
    const { rpcIdleTimeoutMs } = this.ws.server.options;
    return new WsError(
      "INTERNAL",
      `${this.type} had no progress for ${rpcIdleTimeoutMs} ms (rpcIdleTimeoutMs).`,
    );
  }

  protected override finish(state: "finished" | "cancelled", outcome: string, error?: ErrorPayload): void {
    if (error !== undefined) this.ws.sendError(error, this.id);
    super.finish(state, outcome);
    this.release();
    if (this.timer === undefined) return;
    this.ws.calls?.delete(this.id);
    this.ws.socket.changed?.("calls");
  }
}

/** A response is always sent: a signal that is already aborted only skips the waiting. */
function withoutWaiting({ signal: _, waitFor: __, ...rest }: SendOptions = {}): SendOptions {
  return rest;
}
