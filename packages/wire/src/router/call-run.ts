/** A running durable call: the context of its handler. Items go to the log, so that it needs no connection. */
import { byteLength } from "../protocol/bytes.ts";
import { type ErrorPayload, WsError } from "../protocol/error.ts";
import type { HistoryPosition } from "../pubsub/history.ts";
import type { AnyMessageSchema, RpcSchema } from "../schema/message.ts";
import { checkOutbound, readProgress } from "../schema/validate.ts";
import { Timeout } from "../time/timers.ts";
import { type CallLog, EndedError, errorFrame, itemFrame, MAX_ITEMS, responseFrame } from "./call-log.ts";
import type { RpcContext, SendOptions } from "./context.ts";
import type { Connection } from "./contracts.ts";
import { fail } from "./failure.ts";
import { InboundEvent } from "./inbound-event.ts";
import { attempt, pendingOf } from "./pending.ts";

/** Items that are being appended, per call. */
const MAX_WAITING = 64;
/** The size of all items of a call, in bytes. */
const MAX_CALL_BYTES = 16 * 1024 * 1024;
const SENT: Promise<void> = Promise.resolve();

/** What a run needs besides its request. */
export interface RunParts {
  readonly id: string;
  readonly log: CallLog;
  /** The position of the header. */
  readonly start: HistoryPosition;
  /** The longest silence of the handler, in ms. */
  readonly silenceMs: number;
  /** The longest time of the whole call, in ms. */
  readonly deadlineMs: number;
  /** Called once, when the end is in the log or could not be written. */
  ended(run: CallRun): void;
}

export class CallRun extends InboundEvent {
  declare readonly meta: RpcContext["meta"];
  readonly #parts: RunParts;
  readonly #schema: RpcSchema;
  readonly #startedAt: number;
  #activeAt: number;
  #state: "running" | "finished" | "cancelled" = "running";
  #items = 0;
  #bytes = 0;
  #waiting = 0;
  /** The appends so far, one after the other. */
  #appended: Promise<unknown> | undefined;
  #ending: WsError | undefined;
  #controller: AbortController | undefined;
  readonly #cancelCallbacks: (() => unknown)[] = [];
  readonly #timer = new Timeout(() => this.#expire());

  constructor(
    connection: Connection,
    schema: RpcSchema,
    meta: RpcContext["meta"],
    payload: unknown,
    parts: RunParts,
  ) {
    super(connection, schema.type, meta, payload);
    this.#schema = schema;
    this.#parts = parts;
    this.#startedAt = connection.server.clock.now();
    this.#activeAt = this.#startedAt;
  }

  get callId(): string {
    return this.#parts.id;
  }

  override get isRpc(): true {
    return true;
  }

  get isRunning(): boolean {
    return this.#state === "running";
  }

  /** Runs the handler to its end, whatever happens to the connection. */
  async start(handler: (ctx: never) => unknown): Promise<void> {
    this.#wait();
    try {
      const value: unknown = await attempt(() => handler(this as never));
      if (value !== undefined) this.returned(value);
      else if (this.isRunning && this.ws.server.options.warnIncompleteRpc)
        this.ws.server.warnIncomplete(this.type);
    } catch (error) {
      fail(this, error);
    }
  }

  // --- items ---

  progress(item?: unknown): Promise<void> {
    if (!this.isRunning) return this.#refused();
    readProgress(this.ws.server.options.validator, this.#schema, item, "INTERNAL");
    const frame = itemFrame(item);
    this.#check(frame);
    this.#activeAt = this.ws.server.clock.now();
    const number = ++this.#items;
    if (this.#appended !== undefined) return this.#enqueue(frame, number);
    const position = this.#parts.log.append(frame, number);
    if (!(position instanceof Promise)) return this.#isLost(position) ? this.#refused() : SENT;
    return this.#track(position);
  }

  #check(frame: string): void {
    if (this.#waiting >= MAX_WAITING)
      throw exhausted(`${MAX_WAITING} items of ${this.type} are already being kept. Await ctx.progress().`);
    const bytes = this.#bytes + byteLength(frame);
    if (bytes > MAX_CALL_BYTES || this.#items >= MAX_ITEMS)
      throw exhausted(
        `A durable call keeps at most ${MAX_ITEMS} items and ${MAX_CALL_BYTES} bytes, and ${this.type} has more.`,
      );
    this.#bytes = bytes;
  }

  #enqueue(frame: string, number: number): Promise<void> {
    const before = this.#appended ?? SENT;
    return this.#track(before.then(() => this.#parts.log.append(frame, number)));
  }

  #track(append: Promise<HistoryPosition>): Promise<void> {
    this.#waiting++;
    const done = append.then(
      (position) => {
        this.#waiting--;
        if (this.#isLost(position)) throw this.#ending ?? position;
      },
      (error: unknown) => {
        this.#waiting--;
        this.#lose(error);
        throw this.#ending ?? error;
      },
    );
    this.#appended = done;
    done.catch(() => undefined);
    return done;
  }

  /** Whether the log begins again: a broker that failed over may have lost the first items. */
  #isLost({ epoch }: HistoryPosition): boolean {
    if (epoch === this.#parts.start.epoch) return false;
    this.#lose(new WsError("UNAVAILABLE", "The broker lost the items of this call."));
    return true;
  }

  #lose(error: unknown): void {
    if (!this.isRunning) return;
    const isEnded = error instanceof EndedError;
    this.#cancel(isEnded ? lost() : WsError.wrap(error, "UNAVAILABLE"), !isEnded);
  }

  #refused(): Promise<void> {
    const refused = Promise.reject(
      this.#ending ?? new WsError("INTERNAL", `${this.type} has its response already.`),
    );
    refused.catch(() => undefined);
    return refused;
  }

  override wasEndedBy(error: unknown): boolean {
    const ending = this.#ending;
    // Platform functions that take the abort signal throw an error with its reason as cause.
    return ending !== undefined && (error === ending || (error as Error | undefined)?.cause === ending);
  }

  // --- end ---

  reply(schema: AnyMessageSchema, payload?: unknown, options?: SendOptions): void | Promise<boolean> {
    if (!this.isRunning) return options?.waitFor && Promise.resolve(false);
    if (schema !== this.#schema.response)
      throw new WsError(
        "INTERNAL",
        `The response of ${this.type} is ${this.#schema.response.type}. Pass the response schema of the request.`,
      );
    checkOutbound(this.ws.server.options.validator, schema, payload, options?.meta, "INTERNAL");
    const written = this.#finish("finished", "ok", responseFrame(payload));
    return options?.waitFor && written;
  }

  override returned(value: unknown): void {
    if (this.isRunning) void this.reply(this.#schema.response, value);
  }

  override fail(error: ErrorPayload): void {
    if (this.isRunning) void this.#finish("finished", error.code, errorFrame(error));
  }

  override end(): void {
    this.fail({ code: "INTERNAL", message: "Internal error" });
  }

  /** The owner cancelled the call. */
  cancel(): void {
    this.#cancel(new WsError("CANCELLED", "The call was cancelled."), true);
  }

  /** The server is stopping. */
  async abandon(): Promise<void> {
    this.#cancel(lost(), true);
    await this.#appended;
  }

  /** Another process ended the call: this one was not heard from for too long. */
  wasEnded(): void {
    this.#cancel(lost(), false);
  }

  #cancel(error: WsError, writesEnd: boolean): void {
    if (!this.isRunning) return;
    this.#ending = error;
    void this.#finish("cancelled", error.code, writesEnd ? errorFrame(error.toPayload()) : undefined);
    this.#controller?.abort(error);
    for (const callback of this.#cancelCallbacks.splice(0)) this.#run(callback);
  }

  /** Resolves to whether the end is in the log. */
  #finish(state: "finished" | "cancelled", outcome: string, frame: string | undefined): Promise<boolean> {
    this.#state = state;
    const { server } = this.ws;
    server.timers.remove(this.#timer);
    server.metrics?.answered(this.type, server.clock.now() - this.#startedAt, outcome);
    const written = this.#write(frame);
    this.#appended = written;
    return written;
  }

  async #write(frame: string | undefined): Promise<boolean> {
    try {
      if (this.#appended !== undefined) await this.#appended.catch(() => undefined);
      if (frame !== undefined) await this.#parts.log.end(frame);
      return true;
    } catch (error) {
      this.ws.server.reportOutside(error);
      return false;
    } finally {
      this.#parts.ended(this);
    }
  }

  onCancel(callback: () => unknown): () => void {
    if (this.#state === "cancelled") this.#run(callback);
    if (!this.isRunning) return () => undefined;
    this.#cancelCallbacks.push(callback);
    return () => {
      const at = this.#cancelCallbacks.indexOf(callback);
      if (at !== -1) this.#cancelCallbacks.splice(at, 1);
    };
  }

  get abortSignal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#state === "cancelled") this.#controller.abort(this.#ending);
    return this.#controller.signal;
  }

  #run(callback: () => unknown): void {
    const report = (error: unknown): void => void this.ws.server.report(error, this);
    try {
      pendingOf(callback())?.catch(report);
    } catch (error) {
      report(error);
    }
  }

  // --- time ---

  get #endsAt(): number {
    const { deadlineMs, silenceMs } = this.#parts;
    // Waiting for the broker is not silence.
    const silentAt = this.#waiting > 0 ? Number.POSITIVE_INFINITY : this.#activeAt + silenceMs;
    return Math.min(this.#startedAt + deadlineMs, silentAt);
  }

  get deadline(): number {
    return this.ws.server.clock.wall() + this.timeRemaining();
  }

  override timeRemaining(): number {
    return Math.max(0, this.#endsAt - this.ws.server.clock.now());
  }

  #wait(): void {
    const { silenceMs } = this.#parts;
    if (this.isRunning) this.ws.server.timers.add(this.#timer, Math.min(this.timeRemaining(), silenceMs));
  }

  #expire(): void {
    if (this.timeRemaining() > 0) return this.#wait();
    this.#cancel(
      new WsError(
        "DEADLINE_EXCEEDED",
        `${this.type} had no progress for ${this.#parts.silenceMs} ms, or did not end within its deadline.`,
      ),
      true,
    );
  }
}

function exhausted(message: string): WsError {
  return new WsError("RESOURCE_EXHAUSTED", message, undefined, {
    retryable: false,
    cause: new RangeError(message),
  });
}

/** The end of a call whose process stopped. Not retryable: attaching again gives the same end. */
export function lost(): WsError {
  return new WsError(
    "UNAVAILABLE",
    "The process that ran this call has stopped. Start the call again.",
    undefined,
    {
      retryable: false,
    },
  );
}
