/** Runs middleware around a handler: synchronously, until one of them is not. */
import type { AnyErrorCode, ErrorDetails } from "../protocol/error.ts";
import type { AnyData, Connection } from "./connection.ts";
import type { ErrorOptions, MessageMeta, MiddlewareContext } from "./context.ts";
import type { InboundEvent } from "./inbound-event.ts";
import type { ServerContext } from "./peer.ts";
import { DONE, pendingOf } from "./pending.ts";

export type AnyMiddleware = (ctx: MiddlewareContext, next: () => Promise<void>) => unknown;

/**
 * Gives a promise only when something is still running. Throws what the chain throws. `failed` hears what comes behind
 * a `next()` that its middleware neither returned nor awaited.
 */
export function runChain(
  chain: readonly AnyMiddleware[],
  ctx: MiddlewareContext,
  handle: () => unknown,
  failed: (error: unknown) => void,
): Promise<unknown> | undefined {
  return pendingOf(step(chain, 0, ctx, handle, failed));
}

function step(
  chain: readonly AnyMiddleware[],
  at: number,
  ctx: MiddlewareContext,
  handle: () => unknown,
  failed: (error: unknown) => void,
): unknown {
  const middleware = chain[at];
  if (middleware === undefined) return handle();
  let behind: Promise<void> | undefined;
  let hasLeft = false;
  const result = middleware(ctx, () => {
    if (behind !== undefined) {
      return Promise.reject(new Error("next() was called twice by one middleware. Call it once."));
    }
    try {
      const pending = pendingOf(step(chain, at + 1, ctx, handle, failed));
      behind = pending === undefined ? DONE : pending.then(nothing);
    } catch (error) {
      behind = Promise.reject(error);
    }
    // Whoever awaits it hears of a failure; nobody has to, and that must not end the process.
    behind.catch(hasLeft ? failed : nothing);
    return behind;
  });
  if (pendingOf(result) !== undefined) return result;
  hasLeft = true;
  return behind ?? result;
}

function nothing(): void {}

/** A message as middleware sees it: who and what, but not the payload. */
export class MiddlewareScope implements MiddlewareContext<AnyData> {
  readonly #message: InboundEvent;

  constructor(message: InboundEvent) {
    this.#message = message;
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
