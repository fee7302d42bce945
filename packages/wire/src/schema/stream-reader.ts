/**
 * Reads the typed progress of one request at the client: checks each item, and tells the server how many more it may
 * send, so that no more than 64 wait for the application.
 */
import { INITIAL_CREDIT } from "../protocol/call-terms.ts";
import { LONGEST_TIMER_MS } from "../protocol/checks.ts";
import { WsError } from "../protocol/error.ts";
import type { AnyMessageSchema } from "./message.ts";
import type { Stream, StreamCall, StreamHost } from "./stream.ts";
import { pick, readPart, standardValidator } from "./validate.ts";

/** Credit is returned for this many items at once. */
const BATCH = INITIAL_CREDIT / 2;
/** A server that sends more than it may loses the call. */
const MAX_UNREAD = 2 * INITIAL_CREDIT;
const NOTHING: readonly unknown[] = [];

interface Reader {
  readonly callback: (item: unknown) => void;
  readonly unread: readonly unknown[];
}

export class StreamReader {
  readonly #schema: AnyMessageSchema;
  readonly #strips: boolean;
  readonly #environment: StreamHost[1];
  readonly #thrown: StreamHost[3];
  readonly #refuse: StreamHost[4]["refuse"];
  readonly #sendControl: StreamHost[7];
  readonly #call: StreamCall;
  readonly #readers = new Set<Reader>();
  readonly #startedAt: number;
  #timeoutMs = 0;
  #deadlineMs = Number.POSITIVE_INFINITY;
  #timer: unknown;
  #activeAt: number;
  /** Why the reader gave up. */
  #lateness: WsError | undefined;
  #received = 0;
  #credited = 0;

  constructor(
    schema: AnyMessageSchema,
    [{ unknownKeys }, environment, , thrown, { refuse }, , , sendControl]: StreamHost,
    call: StreamCall,
  ) {
    this.#schema = schema;
    this.#strips = unknownKeys === "strip";
    this.#environment = environment;
    this.#thrown = thrown;
    this.#refuse = refuse;
    this.#sendControl = sendControl;
    this.#call = call;
    this.#startedAt = this.#now;
    this.#activeAt = this.#startedAt;
  }

  /** Adds the terms of the stream to the request, and begins to count its time. `key` is the durable call. */
  start(deadlineMs: number | undefined, key: object | undefined): void {
    const call = this.#call;
    const { settle } = call;
    const { meta, ...message } = JSON.parse(call.frame) as { meta: { timeoutMs: number } };
    this.#deadlineMs = deadlineMs ?? this.#deadlineMs;
    this.#timeoutMs = meta.timeoutMs;
    const terms = { $c: INITIAL_CREDIT, $d: deadlineMs, $k: key };
    call.frame = JSON.stringify({ ...message, meta: { ...meta, ...terms } });
    call.settle = (outcome) => {
      this.#environment.clearTimeout(this.#timer);
      settle(this.#lateness ?? outcome);
    };
    const progress: Stream = {
      emit: (payload) => this.#emit(payload),
      add: (callback, unread) => this.#add(callback, unread),
      read: () => this.#read(),
    };
    Object.assign(call.progress, progress);
    this.#wait(this.#timeoutMs);
  }

  #wait(ms: number): void {
    this.#timer = this.#environment.setTimeout(() => this.#timeUp(), Math.min(ms, LONGEST_TIMER_MS));
  }

  #timeUp(): void {
    const left = this.#late();
    if (typeof left === "number") return this.#wait(left);
    this.#lateness = new WsError("DEADLINE_EXCEEDED", left);
    // The server does not know when this client gives up.
    this.#call.cancel();
  }

  #emit(payload: unknown): void {
    let item: unknown;
    try {
      item = this.#check(payload);
    } catch (error) {
      this.#control("$ws:abort");
      return this.#refuse(error, "validation", "$ws:rpc-progress", this.#call);
    }
    this.#received++;
    this.#activeAt = this.#now;
    for (const { callback } of [...this.#readers]) {
      try {
        callback(item);
      } catch (error) {
        this.#thrown(error);
      }
    }
    // Without a reader, the item is discarded and counts as read.
    this.#grant();
  }

  #add(callback: (item: unknown) => void, unread: readonly unknown[] = NOTHING): () => void {
    const reader = { callback, unread };
    this.#readers.add(reader);
    return () => {
      this.#readers.delete(reader);
      this.#grant();
    };
  }

  #read(): void {
    this.#activeAt = this.#now;
    this.#grant();
  }

  /** For how many ms the request may go on, or why it may not. */
  #late(): number | string {
    const now = this.#now;
    const timeoutMs = this.#timeoutMs;
    const wholeMs = this.#startedAt + this.#deadlineMs - now;
    if (!this.#call.isSent)
      return `No response within ${timeoutMs} ms. The request was not sent, because the client is not connected. Check that connect() was called.`;
    if (wholeMs <= 0) return `The call did not end within ${this.#deadlineMs} ms (deadlineMs).`;
    // While items wait for the application, the server may be waiting for credit.
    const silentMs = this.#unread > 0 ? timeoutMs : this.#activeAt + timeoutMs - now;
    if (silentMs <= 0) return `No progress and no response within ${timeoutMs} ms (timeoutMs).`;
    return Math.min(wholeMs, silentMs);
  }

  get #now(): number {
    return this.#environment.performance.now();
  }

  /** How many items the slowest reader has not read. */
  get #unread(): number {
    let most = 0;
    for (const { unread } of this.#readers) most = Math.max(most, unread.length);
    return most;
  }

  #grant(): void {
    const n = this.#received - this.#unread - this.#credited;
    if (n < BATCH) return;
    this.#credited += n;
    this.#control("$ws:credit", { n });
  }

  #check(payload: unknown): unknown {
    if (this.#unread > MAX_UNREAD)
      throw new WsError("INTERNAL", "The server sent more progress than it was allowed to.");
    const { progress } = this.#schema;
    const item = this.#strips && progress ? pick(progress, payload) : payload;
    return readPart(standardValidator, this.#schema, "progress", item, "INTERNAL");
  }

  #control(type: "$ws:credit" | "$ws:abort", payload?: object): void {
    this.#sendControl(type, payload, { correlationId: this.#call.id });
  }
}
