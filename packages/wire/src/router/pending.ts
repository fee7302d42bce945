/** Tells what is still running from what is done, so that everything stays synchronous until it cannot. */

/** A promise of something that ran synchronously: there is nothing to wait for. */
export const DONE: Promise<void> = Promise.resolve();

/** The result of a call, if it is one to wait for. */
export function pendingOf(result: unknown): Promise<unknown> | undefined {
  if (result === DONE || !isThenable(result)) return undefined;
  return result instanceof Promise ? result : Promise.resolve(result);
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
