/** A running durable call: the context of its handler. Items go to the log, so that it needs no connection. */
import { pause } from "@halyard/base";
import { byteLength } from "../../protocol/bytes.ts";
import { type ErrorPayload, WsError } from "../../protocol/error.ts";
import type { AnyMessageSchema, RpcSchema } from "../../schema/message.ts";
import { checkOutbound, readPart } from "../../schema/validate.ts";
import type { RpcContext, SendOptions } from "../context.ts";
import type { Connection } from "../contracts.ts";
import { fail } from "../failure.ts";
import { attempt, handled } from "../pending.ts";
import { Call } from "./call.ts";
import {
  type CallLog,
  EndedError,
  errorFrame,
  itemFrame,
  MAX_ITEMS,
  readEntry,
  responseFrame,
} from "./call-log.ts";

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

export class CallRun extends Call {
  readonly #parts: RunParts;
  #items = 0;
  #bytes = 0;
  #waiting = 0;
  /** The appends so far, one after the other. */
  #appended: Promise<unknown> | undefined;

  constructor(
    connection: Connection,
    schema: RpcSchema,
    meta: RpcContext["meta"],
    payload: unknown,
    parts: RunParts,
  ) {
    super(connection, schema, meta, payload);
    this.#parts = parts;
    this.startedAt = connection.server.clock.now();
  }

  get callId(): string {
    return this.#parts.id;
  }

  /** Runs the handler to its end, whatever happens to the connection. */
  async start(handler: (ctx: never) => unknown): Promise<void> {
    this.startTimer();
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
    if (!this.isRunning) return this.refused();
    readPart(this.ws.server.options.validator, this.schema, "progress", item, "INTERNAL");
    const frame = itemFrame(item);
    this.#check(frame);
    this.activeAt = this.ws.server.clock.now();
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
        throw this.ending ?? error;
      },
    );
    this.#appended = done;
    return handled(done);
  }

  #lose(error: unknown): void {
    if (error instanceof EndedError) this.cancel(ended(), false);
    else this.cancel(WsError.wrap(error, "UNAVAILABLE"));
  }

  // --- end ---

  protected override respond(
    schema: AnyMessageSchema,
    payload: unknown,
    options: SendOptions | undefined,
  ): void | Promise<boolean> {
    checkOutbound(this.ws.server.options.validator, schema, payload, options?.meta, "INTERNAL");
    const frame = responseFrame(payload);
    this.#checkSize(frame);
    super.finish("finished", "ok");
    const written = this.#write(frame);
    return options?.waitFor && written;
  }

  override end(): void {
    this.failWith({ code: "INTERNAL", message: "Internal error" });
  }

  /** The owner cancelled the call. */
  abort(): void {
    this.cancel(cancelled());
  }

  /** The server is stopping. */
  async abandon(): Promise<void> {
    this.cancel(lost());
    await Promise.race([this.#appended, pause(this.ws.server.clock, ABANDON_MS)]);
  }

  /** Another process ended the call with this frame: the owner cancelled it there, or this process seemed to be dead. */
  wasEnded(frame: string): void {
    const entry = readEntry(frame);
    if (entry.kind !== "error") return;
    const { code, message } = entry.error;
    this.cancel(new WsError(code, message, undefined, { retryable: false }), false);
  }

  /** Messages of the broker may be missing: another process may have ended the call, or items may be lost. */
  async check(): Promise<void> {
    const isClosed = await this.#parts.log.isClosed().catch(() => false);
    // The log knows its end; without one, this writes it.
    if (isClosed) this.cancel(ended());
  }

  protected override finish(state: "finished" | "cancelled", outcome: string, error?: ErrorPayload): void {
    super.finish(state, outcome);
    void this.#write(error && errorFrame(error));
  }

  /** Resolves to whether the end is in the log. */
  #write(frame: string | undefined): Promise<boolean> {
    const written = this.#keep(frame);
    this.#appended = written;
    return written;
  }

  async #keep(frame: string | undefined): Promise<boolean> {
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

  // --- time ---

  protected override get deadlineAt(): number {
    return this.started + this.#parts.deadlineMs;
  }

  /** Waiting for the broker is not silence. */
  protected override get idleAt(): number {
    return this.#waiting > 0
      ? Number.POSITIVE_INFINITY
      : (this.activeAt ?? this.started) + this.#parts.silenceMs;
  }

  protected override get checkMs(): number {
    return this.#parts.silenceMs;
  }

  get deadline(): number {
    return this.ws.server.clock.wall() + this.timeRemaining();
  }

  override timeRemaining(): number {
    return Math.max(0, this.endsAt - this.ws.server.clock.now());
  }

  protected override exceeded(): WsError {
    return new WsError(
      "DEADLINE_EXCEEDED",
      `${this.type} had no progress for ${this.#parts.silenceMs} ms, or did not end within its deadline.`,
    );
  }

  protected override silence(): WsError {
    return this.exceeded();
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
