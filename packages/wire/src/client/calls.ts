/** `startCall()` and `attachCall()`: calls that outlive their connection, and readers of them. */
import { uuidv7 } from "@halyard/base";
import type { WsError } from "../protocol/error.ts";
import type { MessageArguments } from "../schema/arguments.ts";
import type { AnyMessageSchema, DurableSchema, ProgressOutput, ReceivedMessage } from "../schema/message.ts";
import { coreOf } from "./core.ts";
import { later } from "./environment.ts";
import type { RequestOptions } from "./options.ts";
import type { RequestPromise } from "./progress.ts";
import { text } from "./texts.ts";
import type { WsClient } from "./ws-client.ts";

/** The delay before a reader attaches again, in ms; it doubles with every attempt without an item. */
const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 5_000;
/** How often a call may be unknown after its start was sent: the process that received it may still create the call. */
const MAX_UNKNOWN = 4;

/** Options of `startCall()` and `attachCall()`: as those of `client.request`. Aborting the signal detaches. */
export type CallOptions = Pick<RequestOptions, "timeoutMs" | "deadlineMs" | "signal">;

/**
 * A durable call, or a reader of one. Iterate it for the items; each iteration begins with the first item. When the
 * connection is lost, reading continues after the reconnection. Leaving an iteration detaches: the call goes on.
 */
export interface DurableCall<S extends DurableSchema> extends AsyncIterable<ProgressOutput<S>> {
  /** The id of the call. Keep it to attach again, from any connection of the same owner. */
  readonly id: string;
  /** Resolves to the response `{ type, meta, payload }`. Rejects with the error of the call, or `CANCELLED` after `detach()`. */
  readonly result: Promise<ReceivedMessage<S["response"]>>;
  /** Stops reading. The call goes on. */
  detach(): void;
  /** Stops the call for all its readers; resolves once it has ended. Rejects when the server does not confirm it. */
  cancel(): Promise<void>;
}

/**
 * Starts a durable call. Its handler runs to the end without this connection.
 *
 * @example
 * ```ts
 * import { startCall, wsClient } from "@halyard/wire/client";
 * import { rpc, z } from "@halyard/wire/zod";
 *
 * const Ask = rpc("ASK", { question: z.string() }, "ASKED", { words: z.number() }, { progress: z.string(), durable: { keepMs: 600_000 } });
 * const client = wsClient({ url: "ws://localhost:3000", autoConnect: true });
 *
 * const call = startCall(client, Ask, { question: "Why?" });
 * console.log(call.id);
 * for await (const word of call) console.log(word);
 * console.log((await call.result).payload.words);
 * ```
 */
export function startCall<S extends DurableSchema>(
  client: WsClient,
  schema: S,
  ...[payload, options]: MessageArguments<S, CallOptions>
): DurableCall<S> {
  return open(client, schema, uuidv7(), options, { payload });
}

/** Reads a durable call that was started before, by this client or another one of the same owner: all items, then its end. */
export function attachCall<S extends DurableSchema>(
  client: WsClient,
  schema: S,
  id: string,
  options?: CallOptions,
): DurableCall<S> {
  return open(client, schema, id, options, undefined);
}

function open<S extends DurableSchema>(
  client: WsClient,
  schema: S,
  id: string,
  options: CallOptions | undefined,
  start: { readonly payload: unknown } | undefined,
): DurableCall<S> {
  type Response = ReceivedMessage<S["response"]>;
  type Item = ProgressOutput<S>;
  const { environment, failure } = coreOf(client);
  const detached = new AbortController();
  /** What the iteration has not read: one part per connection. */
  const parts: AsyncIterator<Item>[] = [];
  let current: RequestPromise<Response, Item>;
  let isIterated = false;
  let isSettled = false;
  let isReading = false;
  let received = 0;
  let unknown = 0;
  let firstFailure: WsError | undefined;
  let wake = (): void => undefined;
  let readAll = (): void => undefined;

  /** Sends a request of this call; `key` says what it wants. Only the first one has a payload. */
  function request(key: object, first?: { readonly payload: unknown }): RequestPromise<Response, Item> {
    const stream: S["stream"] = (...args) => schema.stream(args[0], args[1], args[2], { id, ...key });
    const variant: AnyMessageSchema = { ...schema, stream, ...(!first && { payload: undefined }) };
    const { signal } = detached;
    return client.request(variant, first?.payload, schema.response, {
      ...options,
      ...("cancel" in key ? { signal: undefined } : { signal }),
    } as RequestOptions) as RequestPromise<Response, Item>;
  }

  /** Reads until the call ends, over as many connections as it takes. */
  async function follow(): Promise<Response> {
    let retryMs = FIRST_RETRY_MS;
    for (let isFirst = true; ; isFirst = false) {
      const before = received;
      current = isFirst && start ? request({}, start) : request({ after: received });
      current.onProgress(() => received++);
      if (isIterated) parts.push(current[Symbol.asyncIterator]());
      wake();
      try {
        return await current;
      } catch (thrown) {
        // `request()` rejects with no other error.
        const error = thrown as WsError;
        if (start && !isFirst && received === 0 && error.code === "NOT_FOUND") {
          if (++unknown >= MAX_UNKNOWN) throw failure("UNAVAILABLE", text("call", firstFailure?.message));
        } else if (error.code !== "UNAVAILABLE" || !error.retryable) throw error;
        else await reopened(error);
        firstFailure ??= error;
      }
      await caughtUp();
      retryMs = received > before ? FIRST_RETRY_MS : Math.min(2 * retryMs, LONGEST_RETRY_MS);
      await new Promise<void>((resolve) => later(environment, resolve, retryMs));
    }
  }

  /** Resolves when the client is open again; rejects when it is closed, or the reader detaches. */
  function reopened(error: WsError): Promise<void> {
    return new Promise((resolve, reject) => {
      const check = (): void => {
        const { state } = client;
        if (state === "open") resolve();
        else if (state === "closed" || state === "closing" || detached.signal.aborted) reject(error);
        else return;
        stop();
      };
      const stop = client.onState(check);
      detached.signal.addEventListener("abort", check);
      check();
    });
  }

  /** Resolves when the loop has read what arrived: otherwise each connection would add 64 unread items. */
  async function caughtUp(): Promise<void> {
    while ((isReading || parts.length > 0) && !detached.signal.aborted)
      await new Promise<void>((resolve) => {
        readAll = resolve;
      });
  }

  async function* iterate(): AsyncGenerator<Item> {
    try {
      for (;;) {
        const part = parts.shift();
        if (part) {
          isReading = true;
          yield* partOf(part);
          isReading = false;
          readAll();
        } else if (isSettled) return void (await result);
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    } finally {
      if (!isSettled) detached.abort();
    }
  }

  const settle = (): void => {
    isSettled = true;
    wake();
  };
  detached.signal.addEventListener("abort", () => readAll());
  options?.signal?.addEventListener("abort", () => detached.abort(), { signal: detached.signal });
  if (options?.signal?.aborted) detached.abort();
  const result = follow();
  // Also marks a rejection as handled: the application may only iterate.
  result.then(settle, settle);

  return {
    id,
    result,
    detach: () => detached.abort(),
    async cancel() {
      if (isSettled && !detached.signal.aborted) return;
      await request({ cancel: true }).catch((error: WsError) => {
        // The server answers with it when the call has ended with any error.
        if (error.code !== "CANCELLED") throw error;
      });
    },
    [Symbol.asyncIterator]() {
      // The first items of this reader are gone: another one begins with them.
      if (isIterated || received > 0)
        return attachCall<S>(client, schema, id, options)[Symbol.asyncIterator]();
      isIterated = true;
      parts.push(current[Symbol.asyncIterator]());
      return iterate();
    },
  };
}

/** The items of one connection. Its error is not thrown here: reading may continue on another one. */
async function* partOf<Item>(part: AsyncIterator<Item>): AsyncGenerator<Item> {
  for (;;) {
    const next = await part.next().catch(() => undefined);
    if (!next || next.done) return;
    yield next.value;
  }
}
