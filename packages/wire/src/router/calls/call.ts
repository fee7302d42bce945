/**
 * A request until it ends: with a response or an error, or cancelled by its caller, the loss of its connection, its
 * deadline or a silence. Only the first of them counts. Subclasses tell the end: to the connection, or to a log.
 */
import { type ErrorPayload, WsError } from "../../protocol/error.ts";
import type { AnyMessageSchema, RpcSchema } from "../../schema/message.ts";
import { Timeout } from "../../time/timers.ts";
import type { FailOptions, RpcContext, SendOptions } from "../context.ts";
import type { Connection } from "../contracts.ts";
import { isCausedBy } from "../failure.ts";
import { InboundEvent } from "../inbound-event.ts";
import { guard, handled } from "../pending.ts";
import { declaredFailure } from "./declared-failure.ts";

/**
 * Created for every request, so its fields are assigned in the constructor and its members are not `#private`: on some
 * engines, class fields and private members cost as much as the rest of a call.
 */
export abstract class Call extends InboundEvent {
  declare readonly meta: RpcContext["meta"];
  declare protected readonly schema: RpcSchema;
  /** Monotonic, in ms; read only when the call has to wait, which most calls never do. */
  declare protected startedAt: number | undefined;
  declare protected activeAt: number | undefined;
  declare protected state: "running" | "finished" | "cancelled";
  declare private cancelCallbacks: (() => unknown)[] | undefined;
  declare private controller: AbortController | undefined;
  /** Set once the call outlives the turn of the event loop in which it arrived. */
  declare protected timer: Timeout | undefined;
  /** Why the call was cancelled. Assigned only then, because most calls never are. */
  declare protected ending: WsError | undefined;

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

  override get isRpc(): true {
    return true;
  }

  get isRunning(): boolean {
    return this.state === "running";
  }

  /** Whether the handler may still respond. */
  protected get isUnanswered(): boolean {
    return this.state === "running";
  }

  // --- end ---

  /** Called once. `error` is what readers of the call are told. */
  protected finish(state: "finished" | "cancelled", outcome: string, _error?: ErrorPayload): void {
    this.state = state;
    const { metrics, clock, timers } = this.ws.server;
    if (metrics !== undefined) metrics.answered(this.type, clock.now() - this.started, outcome);
    if (this.timer !== undefined) timers.remove(this.timer);
  }

  reply(
    schema: AnyMessageSchema,
    payload: unknown,
    options: SendOptions & { waitFor: "drain" | "ack" },
  ): Promise<boolean>;
  reply(schema: AnyMessageSchema, payload?: unknown, options?: SendOptions): void;
  reply(schema: AnyMessageSchema, payload?: unknown, options?: SendOptions): void | Promise<boolean> {
    if (!this.isUnanswered) return options?.waitFor && Promise.resolve(false);
    if (schema !== this.schema.response) {
      throw new WsError(
        "INTERNAL",
        `The response of ${this.type} is ${this.schema.response.type}, but ctx.reply() got ${schema?.type ?? JSON.stringify(schema)}. Pass the response schema of the request.`,
      );
    }
    return this.respond(schema, payload, options);
  }

  /** Sends or keeps the response, and finishes the call. */
  protected abstract respond(
    schema: AnyMessageSchema,
    payload: unknown,
    options: SendOptions | undefined,
  ): void | Promise<boolean>;

  /** A value that the handler returns is its response, unless it has sent one already. */
  override returned(value: unknown): void {
    if (value !== undefined && this.isUnanswered) this.reply(this.schema.response, value);
  }

  fail(reason: string, data?: unknown, options?: FailOptions): never {
    throw declaredFailure(this.ws.server, this.schema, reason, data, options);
  }

  override failWith(error: ErrorPayload): void {
    if (this.isUnanswered) this.finish("finished", error.code, error);
  }

  /** Without an error, the connection is gone. `isTold`: whether readers of the call are told the error. */
  protected cancel(error: WsError | undefined, isTold: boolean = true): void {
    if (!this.isRunning) return;
    this.ending ??= error;
    this.finish("cancelled", error?.code ?? "DISCONNECTED", isTold ? error?.toPayload() : undefined);
    this.controller?.abort(this.ending);
    for (const callback of this.cancelCallbacks?.splice(0) ?? []) this.run(callback);
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

  private run(callback: () => unknown): void {
    guard(callback, (error) => this.ws.server.report(error, this));
  }

  /** Created on first use, because most handlers do not read it. */
  get abortSignal(): AbortSignal {
    this.controller ??= new AbortController();
    if (this.state === "cancelled") this.controller.abort(this.ending);
    return this.controller.signal;
  }

  /** A handler that stops when its call is cancelled has not failed. */
  override wasEndedBy(error: unknown): boolean {
    return isCausedBy(error, this.ending ?? this.controller?.signal.reason);
  }

  /** The result of an item after the end. */
  protected refused(): Promise<void> {
    const error =
      this.ending ??
      new WsError(
        "INTERNAL",
        `${this.type} has its response already. Call ctx.progress() before ctx.reply().`,
      );
    return handled(Promise.reject(error));
  }

  // --- time ---

  protected get started(): number {
    if (this.startedAt === undefined) {
      const { clock } = this.ws.server;
      this.startedAt = clock.now() - Math.max(0, clock.wall() - this.receivedAt);
    }
    return this.startedAt;
  }

  /** The end of the whole call, by the monotonic clock in ms. */
  protected abstract get deadlineAt(): number;
  /** The end of a silence. */
  protected abstract get idleAt(): number;
  /** The end of a call that is still running at its deadline. */
  protected abstract exceeded(): WsError;
  /** The end of a call after a silence. */
  protected abstract silence(): WsError;

  /** How long the timer runs at most. The end of a silence may come nearer in the meantime. */
  protected get checkMs(): number {
    return Number.POSITIVE_INFINITY;
  }

  protected get endsAt(): number {
    return Math.min(this.deadlineAt, this.idleAt);
  }

  protected startTimer(): void {
    const timer = new Timeout(() => this.expire(timer));
    this.timer = timer;
    this.wait(timer);
  }

  private wait(timer: Timeout): void {
    const { clock, timers } = this.ws.server;
    timers.add(timer, Math.max(0, Math.min(this.endsAt - clock.now(), this.checkMs)));
  }

  /** The timer fired: at the deadline, at the end of a silence, or too early because of progress in the meantime. */
  private expire(timer: Timeout): void {
    if (!this.isRunning) return;
    const now = this.ws.server.clock.now();
    if (now < this.endsAt) this.wait(timer);
    else this.cancel(now < this.deadlineAt ? this.silence() : this.exceeded());
  }
}
