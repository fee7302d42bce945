/** A request and its context: response, progress, cancellation, deadline and idle limit. The first response wins. */
import { CONTROL, type ControlType } from "../../protocol/control.ts";
import { type ErrorPayload, WsError } from "../../protocol/error.ts";
import type { AnyMessageSchema, RpcSchema } from "../../schema/message.ts";
import { Timeout } from "../../time/timers.ts";
import { RETRY_AFTER_MS } from "../connections/inbound-memory.ts";
import type { FailOptions, RpcContext, SendOptions } from "../context.ts";
import type { CallInFlight, Connection } from "../contracts.ts";
import { isCausedBy } from "../failure.ts";
import { InboundEvent } from "../inbound-event.ts";
import { guard } from "../pending.ts";
import { declaredFailure } from "./declared-failure.ts";

/** The longest deadline that a caller may set, unless `rpcTimeoutMs` is longer. */
const MAX_CALLER_TIMEOUT_MS = 300_000;

/**
 * Created for every request, so its fields are assigned in the constructor and its members are not `#private`: on some
 * engines, class fields and private members cost as much as the rest of a call.
 */
export class InboundCall extends InboundEvent implements CallInFlight {
  declare readonly meta: RpcContext["meta"];
  declare protected readonly schema: RpcSchema;
  /** Monotonic, in ms; read only when the call has to wait, which most calls never do. */
  declare private startedAt: number | undefined;
  declare protected activeAt: number | undefined;
  declare protected state: "running" | "finished" | "cancelled";
  declare private cancelCallbacks: (() => unknown)[] | undefined;
  declare private controller: AbortController | undefined;
  /** Set once the call outlives the turn of the event loop in which it arrived. */
  declare protected timer: Timeout | undefined;

  constructor(connection: Connection, schema: RpcSchema, meta: RpcContext["meta"], payload: unknown) {
    super(connection, schema.type, meta, payload);
    this.schema = schema;
    const { metrics, clock } = connection.server;
    this.startedAt = metrics === undefined ? undefined : clock.now();
    this.activeAt = undefined;
    this.state = "running";
    this.cancelCallbacks = undefined;
    this.controller = undefined;
    this.timer = undefined;
  }

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
    this.timer = new Timeout(() => this.expire());
    this.wait(this.timer);
  }

  protected wait(timer: Timeout): void {
    const { clock, timers } = this.ws.server;
    timers.add(timer, Math.max(0, Math.min(this.deadlineAt, this.idleAt) - clock.now()));
  }

  protected get timeoutMs(): number {
    const { timeoutMs } = this.meta;
    const { rpcTimeoutMs } = this.ws.server.options;
    if (timeoutMs === undefined) return rpcTimeoutMs;
    return Math.min(Math.max(timeoutMs, 1), Math.max(MAX_CALLER_TIMEOUT_MS, rpcTimeoutMs));
  }

  protected get started(): number {
    if (this.startedAt === undefined) {
      const { clock } = this.ws.server;
      this.startedAt = clock.now() - Math.max(0, clock.wall() - this.receivedAt);
    }
    return this.startedAt;
  }

  protected get deadlineAt(): number {
    return this.started + this.timeoutMs;
  }

  protected get idleAt(): number {
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

  override get isRpc(): true {
    return true;
  }

  get callId(): undefined {
    return undefined;
  }

  get isStream(): boolean {
    return false;
  }

  grant(_items: number): void {}

  get isRunning(): boolean {
    return this.state === "running";
  }

  get deadline(): number {
    return this.meta.receivedAt + this.timeoutMs;
  }

  override timeRemaining(): number {
    return Math.max(0, this.deadlineAt - this.ws.server.clock.now());
  }

  reply(
    schema: AnyMessageSchema,
    payload: unknown,
    options: SendOptions & { waitFor: "drain" | "ack" },
  ): Promise<boolean>;
  reply(schema: AnyMessageSchema, payload?: unknown, options?: SendOptions): void;
  reply(schema: AnyMessageSchema, payload?: unknown, options?: SendOptions): void | Promise<boolean> {
    if (this.state !== "running") return options?.waitFor && Promise.resolve(false);
    if (schema !== this.schema.response) {
      throw new WsError(
        "INTERNAL",
        `The response of ${this.type} is ${this.schema.response.type}, but ctx.reply() got ${schema?.type ?? JSON.stringify(schema)}. Pass the response schema of the request.`,
      );
    }
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

  onCancel(callback: () => unknown): () => void {
    if (this.state === "cancelled") this.run(callback);
    if (this.state !== "running") return () => undefined;
    this.cancelCallbacks ??= [];
    const callbacks = this.cancelCallbacks;
    callbacks.push(callback);
    return () => {
      const at = callbacks.indexOf(callback);
      if (at !== -1) callbacks.splice(at, 1);
    };
  }

  /** Created on first use, because most handlers do not read it. */
  get abortSignal(): AbortSignal {
    this.controller ??= new AbortController();
    if (this.state === "cancelled") this.controller.abort();
    return this.controller.signal;
  }

  fail(reason: string, data?: unknown, options?: FailOptions): never {
    throw declaredFailure(this.ws.server, this.schema, reason, data, options);
  }

  override failWith(error: ErrorPayload): void {
    if (this.state !== "running") return;
    super.failWith(error);
    this.finish("finished", error.code);
  }

  override end(): void {
    if (this.state === "running") this.finish("finished", "SUPPRESSED");
  }

  /** A value that the handler returns is its response, unless it has sent one already. */
  override returned(value: unknown): void {
    if (value !== undefined && this.state === "running") this.reply(this.schema.response, value);
  }

  /** A handler that stops when its call is cancelled has not failed. */
  override wasEndedBy(error: unknown): boolean {
    return isCausedBy(error, this.controller?.signal.reason);
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

  /** The timer fired: at the deadline, at the idle limit, or too early because of progress in the meantime. */
  protected expire(): void {
    if (this.state !== "running" || this.timer === undefined) return;
    const { clock, options } = this.ws.server;
    if (clock.now() >= this.deadlineAt) {
      this.cancel(
        new WsError("DEADLINE_EXCEEDED", `${this.type} had no response within ${this.timeoutMs} ms.`),
      );
    } else if (clock.now() >= this.idleAt) {
      this.cancel(
        new WsError(
          "INTERNAL",
          `${this.type} had no progress for ${options.rpcIdleTimeoutMs} ms (rpcIdleTimeoutMs).`,
        ),
      );
    } else {
      this.wait(this.timer);
    }
  }

  protected cancel(error: WsError | undefined): void {
    if (this.state !== "running") return;
    if (error !== undefined) super.failWith(error.toPayload());
    this.finish("cancelled", error?.code ?? "DISCONNECTED");
    this.controller?.abort(error);
    for (const callback of this.cancelCallbacks?.splice(0) ?? []) this.run(callback);
  }

  protected finish(state: "finished" | "cancelled", outcome: string): void {
    this.state = state;
    this.release();
    const { metrics, clock } = this.ws.server;
    if (metrics !== undefined) metrics.answered(this.type, clock.now() - this.started, outcome);
    if (this.timer === undefined) return;
    this.ws.calls?.delete(this.id);
    this.ws.socket.changed?.("calls");
    this.ws.server.timers.remove(this.timer);
  }

  private run(callback: () => unknown): void {
    guard(callback, (error) => this.ws.server.report(error, this));
  }
}

/** A response is always sent: a signal that is already aborted only skips the waiting. */
function withoutWaiting({ signal: _, waitFor: __, ...rest }: SendOptions = {}): SendOptions {
  return rest;
}
