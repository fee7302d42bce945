/** Distinguishes pending promises from finished results, so that synchronous handlers stay synchronous. */

/** The promise of a result that is already complete; `pendingOf` does not wait for it. */
export const DONE: Promise<void> = Promise.resolve();

/** The result as a promise, if it has to be awaited. */
export function pendingOf(result: unknown): Promise<unknown> | undefined {
  if (result === DONE || !isThenable(result)) return undefined;
  return result instanceof Promise ? result : Promise.resolve(result);
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/** A promise that knows whether a caller waits for it. `await`, `then`, `catch` and `Promise.all` all call `then`. */
export class WatchedPromise extends Promise<void> {
  /** Promises made by `then` are plain ones. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  isAwaited = false;

  // biome-ignore lint/suspicious/noThenProperty: a promise has it, and calls of it are what is watched.
  override then<A = void, B = never>(
    fulfilled?: ((value: void) => A | PromiseLike<A>) | null,
    rejected?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.isAwaited = true;
    return super.then(fulfilled, rejected);
  }
}

/** Does not count as waiting for a `WatchedPromise`. */
export function whenRejected(promise: Promise<void>, callback: (error: unknown) => unknown): void {
  void Promise.prototype.then.call(promise, undefined, callback);
}

/** The result of a call, or a rejection with the error it throws. */
export function attempt(call: () => unknown): unknown {
  try {
    return call();
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Marks a rejection as handled: the handler may not await the promise, and an unhandled one would end the process. */
export function handled(promise: Promise<void>): Promise<void> {
  promise.catch(() => undefined);
  return promise;
}

/** Runs the function. What it throws, or its promise rejects with, is passed to `failed`. */
export function guard(run: () => unknown, failed: (error: unknown) => unknown): void {
  try {
    pendingOf(run())?.catch(failed);
  } catch (error) {
    failed(error);
  }
}

/**
 * For the result of a schema that is not awaited: an unhandled rejection would end the process. Also a synchronous schema
 * of Zod gives a promise when a check in it throws.
 */
export function ignoreRejection(result: PromiseLike<unknown>): void {
  Promise.resolve(result).catch(() => undefined);
}
