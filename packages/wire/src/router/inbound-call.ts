/** A request in flight: first answer wins, progress, cancellation, deadline and idle limit. */
import { CONTROL } from "../protocol/control.ts";
import { type ErrorPayload, WsError } from "../protocol/error.ts";
import type { AnyMessageSchema, RpcSchema } from "../schema/message.ts";
import type { Connection } from "./connection.ts";
import type { MessageMeta, SendOptions } from "./context.ts";
import { InboundEvent } from "./inbound-event.ts";
import { pendingOf } from "./pending.ts";
import { Timeout } from "./timers.ts";

const MAX_CALLER_TIMEOUT_MS = 300_000;
const RETRY_AFTER_MS = 100;

/**
 * One of these is made per request, so its fields are assigned in the constructor and its members are not `#private`:
 * defining fields and branding instances cost as much as the rest of a call on some engines.
 */
export class InboundCall extends InboundEvent {
  declare private readonly response: AnyMessageSchema;
  /** Monotonic, in ms; read only when something has to wait, which most calls never do. */
  declare private startedAt: number | undefined;
  declare private activeAt: number | undefined;
  declare private state: "running" | "finished" | "cancelled";
  declare private cancelCallbacks: (() => unknown)[] | undefined;
  declare private controller: AbortController | undefined;
  /** There from the moment the call outlives the turn in which it came. */
  declare private timer: Timeout | undefined;

  constructor(connection: Connection, schema: RpcSchema, meta: MessageMeta, payload: unknown) {
    super(connection, schema.type, meta, payload);
    this.response = schema.response;
    const { metrics, clock } = connection.server;
    this.startedAt = metrics === undefined ? undefined : clock.now();
    this.activeAt = undefined;
    this.state = "running";
    this.cancelCallbacks = undefined;
    this.controller = undefined;
    this.timer = undefined;
  }

  /** Throws when the id is in use by a call in flight, or all places are. */
  checkPlace(): void {
    const { calls, server } = this.ws;
    if (calls === undefined || calls.size === 0) return;
    const { id } = this;
    const limit = server.options.maxInflightRpcsPerSocket;
    if (calls.has(id)) {
      throw new WsError("ALREADY_EXISTS", "A request with this correlation id is in flight.", {
        correlationId: id,
      });
    }
    if (calls.size >= limit) {
      throw new WsError("RESOURCE_EXHAUSTED", `This connection has ${limit} requests in flight.`, undefined, {
        retryAfterMs: RETRY_AFTER_MS,
      });
    }
  }

  /** Takes a place among the calls in flight and starts the clock. A call that is answered at once needs neither. */
  override arm(): void {
    if (this.state !== "running" || this.timer !== undefined) return;
    this.ws.calls ??= new Map();
    this.ws.calls.set(this.id, this);
    this.ws.socket.changed?.("calls");
    this.timer = new Timeout(() => this.expire());
    this.wait(this.timer);
  }

  private wait(timer: Timeout): void {
    const { clock, timers } = this.ws.server;
    timers.add(timer, Math.max(0, Math.min(this.deadlineAt, this.idleAt) - clock.now()));
  }

  private get timeoutMs(): number {
    const { timeoutMs } = this.meta;
    if (timeoutMs === undefined) return this.ws.server.options.rpcTimeoutMs;
    return Math.min(Math.max(timeoutMs, 1), MAX_CALLER_TIMEOUT_MS);
  }

  private get started(): number {
    if (this.startedAt === undefined) {
      const { clock } = this.ws.server;
      this.startedAt = clock.now() - Math.max(0, clock.wall() - this.receivedAt);
    }
    return this.startedAt;
  }

  private get deadlineAt(): number {
    return this.started + this.timeoutMs;
  }

  private get idleAt(): number {
    return (this.activeAt ?? this.started) + this.ws.server.options.rpcIdleTimeoutMs;
  }

  get id(): string {
    return this.meta.correlationId ?? "";
  }

  /** In the turn in which the request came, its arrival is now: no need to ask the clock twice. */
  protected override get now(): number | undefined {
    return this.timer === undefined ? this.receivedAt : undefined;
  }

  protected override get correlation(): string {
    return this.id;
  }

  override get isRpc(): boolean {
    return true;
  }

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
    if (schema !== this.response) {
      throw new WsError(
        "INTERNAL",
        `${this.type} is answered with ${this.response.type}, not with ${schema?.type}.`,
      );
    }
    const isAborted = options?.signal?.aborted ?? false;
    const sent = this.transmit(schema, payload, isAborted ? withoutWaiting(options) : options, this.id);
    this.finish("finished", "ok");
    return isAborted ? options?.waitFor && Promise.resolve(false) : sent;
  }

  progress(data?: unknown): boolean {
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

  /** Made on first use: most handlers never look at it. */
  get abortSignal(): AbortSignal {
    this.controller ??= new AbortController();
    if (this.state === "cancelled") this.controller.abort();
    return this.controller.signal;
  }

  override fail(error: ErrorPayload): void {
    if (this.state !== "running") return;
    super.fail(error);
    this.finish("finished", error.code);
  }

  override end(): void {
    if (this.state === "running") this.finish("finished", "SUPPRESSED");
  }

  /** A handler may keep the context and answer later, so the call stays open until its deadline. */
  override settled(): void {
    if (this.state !== "running") return;
    if (this.ws.server.options.warnIncompleteRpc) this.ws.server.warnIncomplete(this.type);
    this.arm();
  }

  /** The caller gave up. */
  abort(): void {
    this.cancel(new WsError("CANCELLED", "The request was cancelled."));
  }

  /** The server is going away and does not wait for the handler. */
  abandon(): void {
    this.cancel(new WsError("UNAVAILABLE", "The server is restarting."));
  }

  /** The connection is gone: nobody is left to answer. */
  disconnect(): void {
    this.cancel(undefined);
  }

  /** The deadline, the idle limit, or neither yet because of progress. */
  private expire(): void {
    if (this.state !== "running" || this.timer === undefined) return;
    const { clock, options } = this.ws.server;
    if (clock.now() >= this.deadlineAt) {
      this.cancel(
        new WsError("DEADLINE_EXCEEDED", `${this.type} was not answered within ${this.timeoutMs} ms.`),
      );
    } else if (clock.now() >= this.idleAt) {
      this.cancel(
        new WsError("INTERNAL", `${this.type} showed no progress for ${options.rpcIdleTimeoutMs} ms.`),
      );
    } else {
      this.wait(this.timer);
    }
  }

  private cancel(error: WsError | undefined): void {
    if (this.state !== "running") return;
    if (error !== undefined) super.fail(error.toPayload());
    this.finish("cancelled", error?.code ?? "DISCONNECTED");
    this.controller?.abort(error);
    for (const callback of this.cancelCallbacks?.splice(0) ?? []) this.run(callback);
  }

  private finish(state: "finished" | "cancelled", outcome: string): void {
    this.state = state;
    const { metrics, clock } = this.ws.server;
    if (metrics !== undefined) metrics.answered(this.type, clock.now() - this.started, outcome);
    if (this.timer === undefined) return;
    this.ws.calls?.delete(this.id);
    this.ws.socket.changed?.("calls");
    this.ws.server.timers.remove(this.timer);
  }

  private run(callback: () => unknown): void {
    const report = (error: unknown): void => void this.ws.server.report(error, this);
    try {
      pendingOf(callback())?.catch(report);
    } catch (error) {
      report(error);
    }
  }
}

/** An answer is always sent: a signal that is aborted already only ends the waiting. */
function withoutWaiting({ signal: _, waitFor: __, ...rest }: SendOptions = {}): SendOptions {
  return rest;
}
