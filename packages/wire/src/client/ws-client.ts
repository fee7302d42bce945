/** What a client is: the interface is the documentation. */
import type { Gap } from "../protocol/control.ts";
import type { WsError } from "../protocol/error.ts";
import type {
  AnyMessageSchema,
  MessageArguments,
  PayloadInput,
  PayloadOutput,
  ReceivedMessage,
  RpcSchema,
} from "../schema/message.ts";
import type { ClientErrorContext } from "./failures.ts";
import type { Inbound } from "./inbound.ts";
import type { ClientState } from "./link.ts";
import type { CloseOptions, RequestOptions, SendOptions } from "./options.ts";
import type { RequestPromise } from "./progress.ts";

/** A typed connection. Made by `wsClient()`. */
export interface WsClient {
  readonly state: ClientState;
  /** Whether the state is `open`. */
  readonly isConnected: boolean;
  /** The subprotocol the server selected; empty while there is no open link. */
  readonly protocol: string;
  /**
   * Resolves when the client is open; joins an attempt under way. Rejects only when the client ends in `closed`:
   * with `UNAUTHENTICATED` or `PERMISSION_DENIED` when the server refused it, otherwise with `UNAVAILABLE`.
   */
  connect(): Promise<void>;
  /** Resolves when the client is open: at once if it is, else at the next time it opens. */
  onceOpen(): Promise<void>;
  /**
   * Ends the connection and every attempt at one; resolves once the client is `closed`. Requests, sent or queued,
   * reject with `UNAVAILABLE`; queued messages are dropped.
   */
  close(options?: CloseOptions): Promise<void>;
  /** Handles messages of one type, besides the handlers it has; gives a function that takes this one out again. */
  on<S extends AnyMessageSchema>(
    schema: S,
    handler: (payload: PayloadOutput<S>, meta: ReceivedMessage<S>["meta"]) => unknown,
  ): () => void;
  /**
   * Sends a message: true when it was handed to the socket, false when it was queued or dropped (`onError` then says
   * so). Throws `INVALID_ARGUMENT` when payload or meta do not fit. For what must arrive use `request`.
   */
  send<S extends AnyMessageSchema>(schema: S, ...args: MessageArguments<S, SendOptions<S>>): boolean;
  /**
   * Sends a request and resolves to the whole answer `{ type, meta, payload }`, or rejects with a `WsError`. The
   * promise also gives the progress updates: to `onProgress(callback)`, or to whoever iterates it.
   *
   * A request that was sent is never sent again: when the link is lost it rejects with `UNAVAILABLE`, which is
   * retryable, and whether to ask again is the caller's to know. One that still waits in the queue stays there.
   *
   * @example
   * ```ts
   * import { wsClient } from "@halyard/wire/client/zod";
   * import { rpc, z } from "@halyard/wire/zod";
   *
   * const Export = rpc("EXPORT", { table: z.string() }, "EXPORTED", { url: z.string() });
   * const client = wsClient({ url: "ws://localhost:3000", autoConnect: true });
   * const leaving = new AbortController();
   *
   * const request = client.request(Export, { table: "orders" }, { signal: leaving.signal, timeoutMs: 60_000 });
   * for await (const progress of request) console.log(progress);
   * const { payload } = await request;
   * console.log(payload.url);
   * ```
   */
  request<S extends AnyMessageSchema, R extends AnyMessageSchema>(
    schema: S,
    payload: PayloadInput<S>,
    replySchema: R,
    options?: RequestOptions<S>,
  ): RequestPromise<ReceivedMessage<R>>;
  request<S extends RpcSchema>(
    schema: S,
    ...args: MessageArguments<S, RequestOptions<S>>
  ): RequestPromise<ReceivedMessage<S["response"]>>;
  /** Called with every new state; gives a function that stops it. */
  onState(callback: (state: ClientState) => void): () => void;
  /** Called with every message that no handler took; gives a function that stops it. */
  onUnhandled(callback: (message: Inbound) => void): () => void;
  /** Called with every error that no promise carries; gives a function that stops it. */
  onError(callback: (error: WsError, context: ClientErrorContext) => void): () => void;
  /** Called when something published was not delivered, so that what is shown may be stale; gives a function that stops it. */
  onGap(callback: (gap: Gap) => void): () => void;
}
