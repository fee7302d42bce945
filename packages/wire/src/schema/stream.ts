/** What a client and the reader of typed progress know of each other. The reader is `stream-reader.ts`. */
import type { Meta } from "../protocol/envelope.ts";
import type { WsError } from "../protocol/error.ts";

/** Creates the reader of one request. `key` is the durable call it starts or reads. */
export type OpenStream = (
  host: StreamHost,
  meta: StreamMeta,
  options: { readonly deadlineMs?: number | undefined },
  key?: object,
) => Stream;

/** The meta of the request. */
export interface StreamMeta {
  /** The correlation id of the request. */
  readonly correlationId: string;
  /** The longest silence of the server, in ms. */
  readonly timeoutMs: number;
}

/** The core of the client, of which the reader uses four parts (see `client/core.ts`). */
export type StreamHost = readonly [
  options: { readonly unknownKeys?: "reject" | "strip" | undefined },
  environment: { readonly performance: { now(): number } },
  report: unknown,
  thrown: (error: unknown) => void,
  inbox: unknown,
  intercepts: unknown,
  hello: unknown,
  sendControl: (type: "$ws:credit" | "$ws:abort", payload: object | undefined, meta: Meta) => void,
];

/** The typed progress of one request, at the client. */
export interface Stream {
  /** The reserved meta keys of the request. */
  readonly meta: object;
  /** An item arrived. Throws when it does not match its schema. */
  emit(payload: unknown): void;
  /** Adds a callback. `unread` holds the items that an iteration has not read; without it an item is read at once. */
  add(callback: (item: unknown) => void, unread?: readonly unknown[]): () => void;
  /** An iteration has read an item. */
  read(): void;
  /** Called when the time is up. Returns for how many ms the request may go on, or its error. */
  late(): number | WsError;
}
