/**
 * Reads the typed progress of one request at the client: checks each item, and tells the server how many more it may
 * send, so that no more than 64 wait for the application.
 */
import { INITIAL_CREDIT } from "../protocol/call-terms.ts";
import { isObject } from "../protocol/checks.ts";
import { WsError } from "../protocol/error.ts";
import type { AnyMessageSchema } from "./message.ts";
import type { Stream, StreamHost, StreamMeta } from "./stream.ts";
import { readProgress, standardValidator } from "./validate.ts";

/** Credit is returned for this many items at once. */
const BATCH = INITIAL_CREDIT / 2;
/** A server that sends more than it may loses the call. */
const MAX_UNREAD = 2 * INITIAL_CREDIT;
const NOTHING: readonly unknown[] = [];

interface Reader {
  readonly callback: (item: unknown) => void;
  readonly unread: readonly unknown[];
}

export class StreamReader implements Stream {
  readonly meta: object;
  readonly #schema: AnyMessageSchema;
  readonly #strips: boolean;
  readonly #performance: StreamHost[1]["performance"];
  readonly #thrown: StreamHost[3];
  readonly #sendControl: StreamHost[7];
  readonly #correlationId: string;
  readonly #timeoutMs: number;
  readonly #deadlineMs: number;
  readonly #readers = new Set<Reader>();
  readonly #startedAt: number;
  #activeAt: number;
  #received = 0;
  #credited = 0;

  constructor(
    schema: AnyMessageSchema,
    [{ unknownKeys }, { performance }, , thrown, , , , sendControl]: StreamHost,
    { correlationId, timeoutMs }: StreamMeta,
    deadlineMs: number | undefined,
    key: object | undefined,
  ) {
    this.#schema = schema;
    this.#strips = unknownKeys === "strip";
    this.#performance = performance;
    this.#thrown = thrown;
    this.#sendControl = sendControl;
    this.#correlationId = correlationId;
    this.#timeoutMs = timeoutMs;
    this.#deadlineMs = deadlineMs ?? Number.POSITIVE_INFINITY;
    this.#startedAt = performance.now();
    this.#activeAt = this.#startedAt;
    this.meta = { $c: INITIAL_CREDIT, $d: deadlineMs, $k: key };
  }

  emit(payload: unknown): void {
    const item = this.#check(payload);
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

  add(callback: (item: unknown) => void, unread: readonly unknown[] = NOTHING): () => void {
    const reader = { callback, unread };
    this.#readers.add(reader);
    return () => {
      this.#readers.delete(reader);
      this.#grant();
    };
  }

  read(): void {
    this.#activeAt = this.#now;
    this.#grant();
  }

  late(): number | WsError {
    const now = this.#now;
    const timeoutMs = this.#timeoutMs;
    const wholeMs = this.#startedAt + this.#deadlineMs - now;
    if (wholeMs <= 0) return this.#late(`The call did not end within ${this.#deadlineMs} ms (deadlineMs).`);
    // While items wait for the application, the server may be waiting for credit.
    const silentMs = this.#unread > 0 ? timeoutMs : this.#activeAt + timeoutMs - now;
    if (silentMs <= 0) return this.#late(`No progress and no response within ${timeoutMs} ms (timeoutMs).`);
    return Math.min(wholeMs, silentMs);
  }

  get #now(): number {
    return this.#performance.now();
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
    this.#sendControl("$ws:credit", { n }, { correlationId: this.#correlationId });
  }

  #check(payload: unknown): unknown {
    try {
      if (this.#unread > MAX_UNREAD)
        throw new WsError("INTERNAL", "The server sent more progress than it was allowed to.");
      const item = this.#strips ? this.#strip(payload) : payload;
      return readProgress(standardValidator, this.#schema, item, "INTERNAL");
    } catch (error) {
      this.#abort();
      throw error;
    }
  }

  /** The server does not know when this client gives up. */
  #late(message: string): WsError {
    this.#abort();
    return new WsError("DEADLINE_EXCEEDED", message);
  }

  #abort(): void {
    this.#sendControl("$ws:abort", undefined, { correlationId: this.#correlationId });
  }

  /** Zod keeps the declared keys in `shape`, Valibot in `entries`. */
  #strip(payload: unknown): unknown {
    const { shape, entries = shape } = this.#schema.progress as { shape?: object; entries?: object };
    if (entries === undefined || !isObject(payload)) return payload;
    return Object.fromEntries(Object.entries(payload).filter(([key]) => Object.hasOwn(entries, key)));
  }
}
