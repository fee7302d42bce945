/** A request with typed progress: its items wait for the reader's credit and for the socket, and the response follows them. */
import { type CallTerms, MAX_CREDIT } from "../../protocol/call-terms.ts";
import { CONTROL } from "../../protocol/control.ts";
import { encodeShort } from "../../protocol/encode-short.ts";
import { type ErrorPayload, WsError } from "../../protocol/error.ts";
import type { AnyMessageSchema, RpcSchema } from "../../schema/message.ts";
import { checkOutbound, readPart } from "../../schema/validate.ts";
import { checkFrameSize } from "../connections/frame-size.ts";
import { CHECKS_PER_TIMEOUT } from "../connections/outbox.ts";
import type { RpcContext, SendOptions } from "../context.ts";
import type { Connection } from "../contracts.ts";
import { fail } from "../failure.ts";
import { handled } from "../pending.ts";
import { InboundCall } from "./inbound-call.ts";

/** Items that wait to be sent, per call. */
const MAX_WAITING = 64;
/** Not `DONE` of `pending.ts`: a handler may return it, and it is not a response. */
const SENT: Promise<void> = Promise.resolve();

/** An item that waits to be sent. */
interface WaitingItem {
  readonly frame: string;
  readonly sent: () => void;
  readonly failed: (error: WsError) => void;
}

/** A response that waits for the items before it. */
interface WaitingReply {
  send(): void;
  drop(): void;
}

export class StreamCall extends InboundCall {
  /** The reserved meta keys of the request. */
  readonly terms: CallTerms | undefined;
  /** The longest time of the whole call, in ms. */
  readonly deadlineMs: number;
  readonly #waiting: WaitingItem[] = [];
  /** How many more items the reader accepts; infinite when it does not pace them. */
  #credit: number;
  /** Monotonic time in ms of the last credit, or when an item began to wait for it. */
  #creditAt = 0;
  #isDraining = false;
  #reply: WaitingReply | undefined;

  constructor(
    connection: Connection,
    schema: RpcSchema,
    meta: RpcContext["meta"],
    payload: unknown,
    terms: CallTerms | undefined,
  ) {
    super(connection, schema, meta, payload);
    this.#credit = terms?.credit ?? Number.POSITIVE_INFINITY;
    this.deadlineMs = terms?.deadlineMs ?? Number.POSITIVE_INFINITY;
    this.terms = terms;
  }

  override get isStream(): true {
    return true;
  }

  /** The longest silence of the server, in ms. */
  get silenceMs(): number {
    return Math.min(this.timeoutMs, this.ws.server.options.rpcIdleTimeoutMs);
  }

  /** Why the call was cancelled, if it was. */
  get endedWith(): WsError | undefined {
    return this.ending;
  }

  get responseSchema(): AnyMessageSchema {
    return this.schema.response;
  }

  // --- items ---

  override progress(item?: unknown): Promise<void> {
    if (!this.isUnanswered) return this.refused();
    const { clock, options } = this.ws.server;
    readPart(options.validator, this.schema, "progress", item, "INTERNAL");
    return this.forward(encodeShort(CONTROL.progress, clock.wall(), this.id, item));
  }

  /** Sends a progress frame of this call when there is room for it. */
  forward(frame: string): Promise<void> {
    if (!this.isRunning) return this.refused();
    const { clock, options } = this.ws.server;
    checkFrameSize(frame, options.maxOutboundFrameBytes);
    this.activeAt = clock.now();
    if (this.#waiting.length === 0 && this.#credit > 0 && !this.ws.isSlow) {
      this.#credit--;
      this.ws.sendFrame(frame);
      return SENT;
    }
    if (this.#waiting.length >= MAX_WAITING) throw this.#tooMany();
    if (this.#waiting.length === 0) this.#creditAt = this.activeAt;
    const sent = new Promise<void>((resolve, reject) => {
      this.#waiting.push({ frame, sent: resolve, failed: reject });
    });
    if (this.#credit > 0) this.#waitForSocket();
    return handled(sent);
  }

  override grant(items: number): void {
    // A request without credit is not paced.
    if (!this.isRunning || this.#credit === Number.POSITIVE_INFINITY) return;
    this.#credit = Math.min(this.#credit + items, MAX_CREDIT);
    this.activeAt = this.ws.server.clock.now();
    this.#creditAt = this.activeAt;
    this.#flush();
  }

  /** Sends what waits, as far as credit and socket allow. */
  #flush(): void {
    while (this.#waiting.length > 0 && this.#credit > 0) {
      if (this.ws.isSlow) return this.#waitForSocket();
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#credit--;
      // It may close the connection, which ends this call and empties the list.
      this.ws.sendFrame(next.frame);
      next.sent();
    }
    if (this.#waiting.length > 0 || !this.isRunning) return;
    this.activeAt = this.ws.server.clock.now();
    this.#reply?.send();
  }

  #waitForSocket(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    void this.ws.whenDrained(undefined).then((isDrained) => {
      this.#isDraining = false;
      if (isDrained && this.isRunning) this.#flush();
    });
  }

  #tooMany(): WsError {
    return new WsError(
      "RESOURCE_EXHAUSTED",
      `${MAX_WAITING} progress items of ${this.type} already wait to be sent. Await ctx.progress().`,
      undefined,
      { retryable: false, cause: new RangeError("The handler does not await ctx.progress().") },
    );
  }

  // --- end ---

  protected override get isUnanswered(): boolean {
    return this.isRunning && this.#reply === undefined;
  }

  protected override respond(
    schema: AnyMessageSchema,
    payload: unknown,
    options: SendOptions | undefined,
  ): void | Promise<boolean> {
    if (this.#waiting.length === 0) return super.respond(schema, payload, options);
    checkOutbound(this.ws.server.options.validator, schema, payload, options?.meta, "INTERNAL");
    const sent = new Promise<boolean>((resolve) => {
      this.#reply = {
        send: () => {
          this.#reply = undefined;
          try {
            resolve(super.respond(schema, payload, options) ?? true);
          } catch (error) {
            resolve(false);
            fail(this, error);
          }
        },
        drop: () => resolve(false),
      };
    });
    return options?.waitFor && sent;
  }

  override settled(): void {
    if (this.#reply === undefined || !this.isRunning) return super.settled();
    this.arm();
    this.drop();
  }

  protected override cancel(error: WsError | undefined): void {
    if (!this.isRunning) return;
    this.ending = error ?? new WsError("UNAVAILABLE", "The connection of the caller was lost.");
    super.cancel(error);
  }

  protected override finish(state: "finished" | "cancelled", outcome: string, error?: ErrorPayload): void {
    super.finish(state, outcome, error);
    const refusal = this.ending ?? new WsError("CANCELLED", `${this.type} has ended.`);
    for (const item of this.#waiting.splice(0)) item.failed(refusal);
    if (state === "cancelled") this.#reply?.drop();
  }

  // --- time ---

  /** The end of the whole call. */
  protected override get deadlineAt(): number {
    return this.started + this.deadlineMs;
  }

  /** The end of a silence. Waiting for the reader or for the socket is not silence. */
  protected override get idleAt(): number {
    const { options } = this.ws.server;
    const activeAt = this.activeAt ?? this.started;
    if (this.#waiting.length === 0) return activeAt + this.silenceMs;
    // The outbox closes a connection whose socket takes nothing.
    return this.#credit > 0 ? Number.POSITIVE_INFINITY : this.#creditAt + options.slowConsumerTimeoutMs;
  }

  override get deadline(): number {
    const activeMs = (this.activeAt ?? this.started) - this.started;
    return this.receivedAt + Math.min(this.deadlineMs, activeMs + this.timeoutMs);
  }

  override timeRemaining(): number {
    return Math.max(0, this.endsAt - this.ws.server.clock.now());
  }

  protected override get checkMs(): number {
    return this.ws.server.options.slowConsumerTimeoutMs / CHECKS_PER_TIMEOUT;
  }

  protected override exceeded(): WsError {
    return new WsError(
      "DEADLINE_EXCEEDED",
      `${this.type} did not end within ${this.deadlineMs} ms (deadlineMs).`,
    );
  }

  protected override silence(): WsError {
    const { rpcIdleTimeoutMs, slowConsumerTimeoutMs } = this.ws.server.options;
    if (this.#waiting.length > 0) {
      // Of a durable call, only the reader has ended. It continues when it attaches again.
      const isReader = this.schema.durable !== undefined && this.terms?.key !== undefined;
      return new WsError(
        isReader ? "UNAVAILABLE" : "CANCELLED",
        `The reader of ${this.type} took no item for ${slowConsumerTimeoutMs} ms (slowConsumerTimeoutMs).`,
      );
    }
    return this.timeoutMs <= rpcIdleTimeoutMs
      ? new WsError(
          "DEADLINE_EXCEEDED",
          `${this.type} sent no progress and no response within ${this.timeoutMs} ms (timeoutMs).`,
        )
      : super.silence();
  }
}
