/** A running durable call: the context of its handler. Items go to the log, so that it needs no connection. */
import { pause } from "@halyard/base";
import { byteLength } from "../../protocol/bytes.ts";
import { type ErrorPayload, WsError } from "../../protocol/error.ts";
import type { AnyMessageSchema, RpcSchema } from "../../schema/message.ts";
import { checkOutbound, readPart } from "../../schema/validate.ts";
import { Timeout } from "../../time/timers.ts";
import type { FailOptions, RpcContext, SendOptions } from "../context.ts";
import type { Connection } from "../contracts.ts";
import { fail, isCausedBy } from "../failure.ts";
import { InboundEvent } from "../inbound-event.ts";
import { attempt, guard, handled } from "../pending.ts";
import {
  type CallLog,
  EndedError,
  errorFrame,
  itemFrame,
  MAX_ITEMS,
  readEntry,
  responseFrame,
} from "./call-log.ts";
import { declaredFailure } from "./declared-failure.ts";

/** Items that are being appended, per call. */
const MAX_WAITING = 64;
/** The size of all items of a call, in bytes. */
const MAX_CALL_BYTES = 16 * 1024 * 1024;
/** What a frame to a reader has besides the item, at most. */
const ENVELOPE_BYTES = 1_024;
/** How long a server that stops waits for the ends of its calls, in ms. */
const ABANDON_MS = 5_000;
const SENT: Promise<void> = Promise.resolve();

/** What a run needs besides its request. */
export interface RunParts {
  readonly id: string;
  readonly log: CallLog;
  /** The longest silence of the handler, in ms. */
  readonly silenceMs: number;
  /** The longest time of the whole call, in ms. */
  readonly deadlineMs: number;
  /** Called while the broker has no memory left for the end. */
  full(): void;
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
    readPart(this.ws.server.options.validator, this.#schema, "progress", item, "INTERNAL");
    const frame = itemFrame(item);
    this.#check(frame);
    this.#activeAt = this.ws.server.clock.now();
    const number = ++this.#items;
    if (this.#appended !== undefined) return this.#enqueue(frame, number);
    const appended = this.#parts.log.append(frame, number);
    return appended === undefined ? SENT : this.#track(appended);
  }

  #check(frame: string): void {
    if (this.#waiting >= MAX_WAITING)
      throw exhausted(`${MAX_WAITING} items of ${this.type} are already being kept. Await ctx.progress().`);
    const bytes = this.#bytes + this.#checkSize(frame);
    if (bytes > MAX_CALL_BYTES || this.#items >= MAX_ITEMS)
      throw exhausted(
        `A durable call keeps at most ${MAX_ITEMS} items and ${MAX_CALL_BYTES} bytes, and ${this.type} has more.`,
      );
    this.#bytes = bytes;
  }

  /** Returns the size of the frame. Throws when no reader could receive it. */
  #checkSize(frame: string): number {
    const limit = this.ws.server.options.maxOutboundFrameBytes;
    const bytes = byteLength(frame);
    if (bytes + ENVELOPE_BYTES <= limit) return bytes;
    throw exhausted(
      `An item or the response of ${this.type} has ${bytes} bytes, which is above maxOutboundFrameBytes (${limit}). Send it in parts, or raise that router option.`,
    );
  }

  #enqueue(frame: string, number: number): Promise<void> {
    const before = this.#appended ?? SENT;
    return this.#track(before.then(() => this.#parts.log.append(frame, number)));
  }

  #track(append: Promise<void>): Promise<void> {
    this.#waiting++;
    const done = append.then(
      () => {
        this.#waiting--;
      },
      (error: unknown) => {
        this.#waiting--;
        this.#lose(error);
        throw this.#ending ?? error;
      },
    );
    this.#appended = done;
    return handled(done);
  }

  #lose(error: unknown): void {
    if (error instanceof EndedError) this.#cancel(ended(), false);
    else this.#cancel(WsError.wrap(error, "UNAVAILABLE"), true);
  }

  #refused(): Promise<void> {
    const error = this.#ending ?? new WsError("INTERNAL", `${this.type} has its response already.`);
    return handled(Promise.reject(error));
  }

  override wasEndedBy(error: unknown): boolean {
    return isCausedBy(error, this.#ending);
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
    const frame = responseFrame(payload);
    this.#checkSize(frame);
    const written = this.#finish("finished", "ok", frame);
    return options?.waitFor && written;
  }

  override returned(value: unknown): void {
    if (this.isRunning) void this.reply(this.#schema.response, value);
  }

  fail(reason: string, data?: unknown, options?: FailOptions): never {
    throw declaredFailure(this.ws.server, this.#schema, reason, data, options);
  }

  override failWith(error: ErrorPayload): void {
    if (this.isRunning) void this.#finish("finished", error.code, errorFrame(error));
  }

  override end(): void {
    this.failWith({ code: "INTERNAL", message: "Internal error" });
  }

  /** The owner cancelled the call. */
  cancel(): void {
    this.#cancel(cancelled(), true);
  }

  /** The server is stopping. */
  async abandon(): Promise<void> {
    this.#cancel(lost(), true);
    await Promise.race([this.#appended, pause(this.ws.server.clock, ABANDON_MS)]);
  }

  /** Another process ended the call with this frame: the owner cancelled it there, or this process seemed to be dead. */
  wasEnded(frame: string): void {
    const entry = readEntry(frame);
    if (entry.kind !== "error") return;
    const { code, message } = entry.error;
    this.#cancel(new WsError(code, message, undefined, { retryable: false }), false);
  }

  /** Messages of the broker may be missing: another process may have ended the call, or items may be lost. */
  async check(): Promise<void> {
    const isClosed = await this.#parts.log.isClosed().catch(() => false);
    // The log knows its end; without one, this writes it.
    if (isClosed) this.#cancel(ended(), true);
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
      if (frame === undefined) return true;
      const { log, full } = this.#parts;
      const [unkept, gone] = [exhausted("The response of this call could not be kept."), lost()];
      await log.finish(frame, errorFrame(unkept.toPayload()), errorFrame(gone.toPayload()), full);
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
    guard(callback, (error) => this.ws.server.report(error, this));
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

/** The end of a call that its owner cancelled. */
export function cancelled(): WsError {
  return new WsError("CANCELLED", "The call was cancelled.");
}

/** What a handler is told when another process has ended its call. */
function ended(): WsError {
  return new WsError("CANCELLED", "The call has ended for its readers.");
}

/** The end of a call whose process stopped. Not retryable: attaching again gives the same end. */
export function lost(): WsError {
  return new WsError(
    "UNAVAILABLE",
    "The process that ran this call has stopped. Start the call again.",
    undefined,
    { retryable: false },
  );
}
