/** What a client and the reader of typed progress know of each other. The reader is `stream-reader.ts`. */
import type { Meta } from "../protocol/envelope.ts";
import type { WsError } from "../protocol/error.ts";

/** Reads the progress of a request before it is sent. `key` is the durable call it starts or reads. */
export type OpenStream = (
  host: StreamHost,
  call: StreamCall,
  options: { readonly deadlineMs?: number | undefined },
  key?: object,
) => void;

/** The core of the client, of which the reader uses five parts (see `client/core.ts`). */
export type StreamHost = readonly [
  options: { readonly unknownKeys?: "reject" | "strip" | undefined },
  /** The platform. */
  environment: {
    /** The monotonic clock. */
    readonly performance: { now(): number };
    /** Calls back after the delay. */
    setTimeout(callback: () => void, delayMs: number): unknown;
    /** Stops a timer. */
    clearTimeout(handle: unknown): void;
  },
  report: unknown,
  thrown: (error: unknown) => void,
  /** What the reader uses of the messages from the server. */
  inbox: {
    /** Reports the error, and rejects the request with it. */
    refuse(error: unknown, context: "validation", type: string, call: StreamCall): void;
  },
  intercepts: unknown,
  hello: unknown,
  sendControl: (type: "$ws:credit" | "$ws:abort", payload: object | undefined, meta: Meta) => void,
  ...others: unknown[],
];

/** A pending request without a time limit. The reader replaces its frame and its `settle`. */
export interface StreamCall {
  /** The correlation id. */
  readonly id: string;
  /** Whether it was sent; otherwise it waits for a connection. */
  readonly isSent: boolean;
  /** The message to the server. */
  frame: string;
  /** The reader replaces its members. */
  readonly progress: Stream;
  /** Rejects the request with `CANCELLED`, and cancels it on the server. */
  cancel(): void;
  /** Ends the request with its error, or its response. */
  settle(outcome: StreamOutcome): void;
}

/** The error of a request, or its response. */
export type StreamOutcome =
  | WsError
  | { readonly type: string; readonly meta: Meta; readonly payload: unknown };

/** The progress of one request, at the client. */
export interface Stream {
  /** An item arrived. */
  emit(payload: unknown): unknown;
  /** Adds a callback. `unread` holds the items that an iteration has not read; without it an item is read at once. */
  add(callback: (item: unknown) => void, unread?: readonly unknown[]): () => void;
  /** An iteration has read an item. */
  read?(): void;
}
