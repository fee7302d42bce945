/** Runs middleware around a handler; synchronous until a middleware returns a promise. */
import type { AnyErrorCode, ErrorDetails } from "../protocol/error.ts";
import type { AnyData, ServerContext } from "./connections/peer.ts";
import type { ErrorOptions, MessageMeta, Middleware, MiddlewareContext } from "./context.ts";
import type { Connection } from "./contracts.ts";
import type { InboundEvent } from "./inbound-event.ts";
import { attempt, DONE, pendingOf, WatchedPromise, whenRejected } from "./pending.ts";

/** What a chain of middleware runs around. */
export interface ChainEnd {
  /** Runs the handler. */
  handle(): unknown;
  /** The handler's promise has resolved to this value. */
  resolved(value: unknown): void;
  /**
   * A `next()` failed whose promise the middleware may have neither returned nor awaited. The chain may fail with the
   * same error too.
   */
  failed(error: unknown): void;
}

/** Returns a promise only when something is still running. Throws what the chain throws. */
export function runChain(
  chain: readonly Middleware[],
  ctx: MiddlewareContext,
  end: ChainEnd,
): Promise<unknown> | undefined {
  return pendingOf(step(chain, 0, ctx, end));
}

function step(chain: readonly Middleware[], at: number, ctx: MiddlewareContext, end: ChainEnd): unknown {
  const middleware = chain[at];
  if (middleware === undefined) return end.handle();
  let rest: Promise<void> | undefined;
  let hasReturned = false;
  const result = middleware(ctx, () => {
    if (rest !== undefined) return nextTwice(ctx, end);
    rest = restOf(chain, at + 1, ctx, end);
    if (hasReturned) whenRejected(rest, (error) => end.failed(error));
    return rest;
  });
  const pending = pendingOf(result);
  hasReturned = pending === undefined;
  if (pending === undefined) return rest ?? result;
  return pending.then(() => {
    hasReturned = true;
    // The router awaits the promise of `next()` if the middleware does not.
    return rest instanceof WatchedPromise && !rest.isAwaited ? rest : undefined;
  });
}

function restOf(
  chain: readonly Middleware[],
  at: number,
  ctx: MiddlewareContext,
  end: ChainEnd,
): Promise<void> {
  const result = attempt(() => step(chain, at, ctx, end));
  const pending = pendingOf(result);
  if (pending === undefined) return DONE;
  const isHandler = at === chain.length;
  const rest = new WatchedPromise((resolve, reject) => {
    pending.then((value) => (isHandler ? end.resolved(value) : undefined)).then(resolve, reject);
  });
  // The middleware may ignore the promise; an unhandled rejection would end the process.
  whenRejected(rest, () => undefined);
  return rest;
}

function nextTwice(ctx: MiddlewareContext, end: ChainEnd): Promise<void> {
  const error = new Error(
    `A middleware called next() twice for ${ctx.type}. Call it once, and return or await its promise.`,
  );
  const rejected = Promise.reject(error);
  rejected.catch(() => end.failed(error));
  return rejected;
}

/** The context of middleware: a message without its payload. */
export class MiddlewareScope implements MiddlewareContext<AnyData> {
  readonly #message: InboundEvent;

  constructor(message: InboundEvent) {
    this.#message = message;
  }

  /** For middleware of the router itself. */
  get message(): InboundEvent {
    return this.#message;
  }

  get type(): string {
    return this.#message.type;
  }

  get meta(): MessageMeta {
    return this.#message.meta;
  }

  get receivedAt(): number {
    return this.#message.receivedAt;
  }

  get isRpc(): boolean {
    return this.#message.isRpc;
  }

  get clientId(): string {
    return this.#message.clientId;
  }

  get ws(): Connection {
    return this.#message.ws;
  }

  get data(): AnyData {
    return this.#message.data;
  }

  get context(): ServerContext {
    return this.#message.context;
  }

  assignData(partial: Record<string, unknown>): void {
    this.#message.assignData(partial);
  }

  getData<K extends keyof AnyData>(key: K): AnyData[K] | undefined {
    return this.data[key];
  }

  error(code: AnyErrorCode, message?: string, details?: ErrorDetails, options?: ErrorOptions): void {
    this.#message.error(code, message, details, options);
  }

  timeRemaining(): number {
    return this.#message.timeRemaining();
  }

  reportRateLimit(exceeded: { observed: number; limit: number; retryAfterMs: number | null }): void {
    this.ws.server.limitExceeded({ type: "rate", clientId: this.clientId, ws: this.ws, ...exceeded });
  }
}
