/** The public interface of a client. */
import type { Gap } from "../protocol/control.ts";
import type { WsError } from "../protocol/error.ts";
import type { MessageArguments, MetaOption } from "../schema/arguments.ts";
import type {
  AnyMessageSchema,
  PayloadInput,
  PayloadOutput,
  ProgressOutput,
  ReceivedMessage,
  RpcSchema,
} from "../schema/message.ts";
import type { ClientState } from "./connection.ts";
import type { ClientErrorContext, StateInfo } from "./failures.ts";
import type { Inbound } from "./inbound.ts";
import type { CloseOptions, ConnectOptions, RequestOptions, SendOptions } from "./options.ts";
import type { RequestPromise } from "./progress.ts";

/**
 * `lost` while the client is closed because the server closed or refused the connection with 4401: the session has ended,
 * or there is none. Otherwise `active` if a server has accepted the client, and `unknown` before that.
 */
export type SessionState = "unknown" | "active" | "lost";

/** The arguments of `client.send` after the schema. */
type SendArguments<S extends AnyMessageSchema> = S extends RpcSchema
  ? [payload: PayloadInput<S>, options: SendOptions<S> & MetaOption<S> & { readonly correlationId: string }]
  : MessageArguments<S, SendOptions<S>>;

/** A typed connection to a server, created by `wsClient()`. */
export interface WsClient {
  /** The state of the connection. */
  readonly state: ClientState;
  /** Whether the server accepts the session or token of this client. */
  readonly session: SessionState;
  /** Whether the state is `open`. */
  readonly isConnected: boolean;
  /** The subprotocol that the server selected; empty without an open connection. */
  readonly protocol: string;
  /**
   * Resolves when the client is open; joins an attempt under way. Rejects only when the client ends in `closed`:
   * with `UNAUTHENTICATED` or `PERMISSION_DENIED` when the server refused it, with `INVALID_ARGUMENT` for a `url` that
   * is not valid, otherwise with `UNAVAILABLE`. By default it tries for as long as the server is away, and every failed
   * attempt is reported to `onError`; the options limit that.
   */
  connect(options?: ConnectOptions): Promise<void>;
  /** Resolves when the client is open: immediately if it is, else the next time it opens. */
  onceOpen(): Promise<void>;
  /**
   * Ends the connection and every attempt at one; resolves once the client is `closed`. Requests, sent or queued,
   * reject with `UNAVAILABLE`; queued messages are dropped.
   */
  close(options?: CloseOptions): Promise<void>;
  /** Adds a handler for messages of one type; returns a function that removes it. */
  on<S extends AnyMessageSchema>(
    schema: S,
    handler: (payload: PayloadOutput<S>, meta: ReceivedMessage<S>["meta"]) => unknown,
  ): () => void;
  /**
   * Sends a message. Returns true when the socket took it, false when it was queued or dropped (a drop is reported to
   * `onError`, and so is a message that waits because `connect()` was not called). Throws `INVALID_ARGUMENT` when payload or meta do not match the schema. Use `request` for messages that
   * must arrive. A request needs a `correlationId`, by which you know its response.
   */
  send<S extends AnyMessageSchema>(schema: S, ...args: SendArguments<S>): boolean;
  /**
   * Sends a request and resolves to the response `{ type, meta, payload }`, or rejects with a `WsError`. For progress
   * updates, call `onProgress(callback)` on the promise or iterate it; leaving the iteration early cancels the request.
   *
   * The client never sends a request twice. When the connection is lost, a sent request rejects with `UNAVAILABLE`, and
   * the caller decides whether to retry it. A request in the queue stays there.
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
  ): RequestPromise<ReceivedMessage<R>, ProgressOutput<S>>;
  request<S extends RpcSchema>(
    schema: S,
    ...args: MessageArguments<S, RequestOptions<S>>
  ): RequestPromise<ReceivedMessage<S["response"]>, ProgressOutput<S>>;
  /**
   * Called with every new state; returns a function that stops it. `info` has the close code and the reason when an
   * attempt failed or the connection was lost; it is undefined for other changes.
   */
  onState(callback: (state: ClientState, info?: StateInfo) => void): () => void;
  /** Called with every message without a handler; returns a function that stops it. */
  onUnhandled(callback: (message: Inbound) => void): () => void;
  /**
   * Called with every failed attempt and with every error that rejects no promise; returns a function that stops it.
   * While there is no callback, errors are printed with `console.warn`: each text once per connection, at most 20 texts.
   */
  onError(callback: (error: WsError, context: ClientErrorContext) => void): () => void;
  /**
   * Called when published messages may be missing, so that data may be stale; returns a function that stops it. After a
   * reconnection the reason is `reconnect`, and the call comes before the messages of the new connection.
   */
  onGap(callback: (gap: Gap) => void): () => void;
  /**
   * Called when the session is lost: the server closed or refused the connection with 4401, and the client does not
   * reconnect. Let the user sign in, then call `connect()`. Returns a function that stops it.
   */
  onSessionLost(callback: (info?: StateInfo) => void): () => void;
}
