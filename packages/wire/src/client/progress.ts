/** The promise of a request, extended with its progress updates. */
import { MAX_UNREAD } from "./bounds.ts";
import type { Listeners } from "./listeners.ts";

/**
 * Resolves to the response of a request. Iterate it, or use `onProgress`, for the progress updates before it. Leaving
 * the iteration early cancels the request.
 */
export interface RequestPromise<Response> extends Promise<Response>, AsyncIterable<unknown> {
  /** Called with every progress update from now on; returns a function that stops it. */
  onProgress(callback: (data: unknown) => void): () => void;
}

export function withProgress<Response>(
  promise: Promise<Response>,
  progress: Listeners<[data: unknown]>,
  cancel: () => void,
): RequestPromise<Response> {
  return Object.assign(promise, {
    onProgress: progress.add,
    [Symbol.asyncIterator]: () => iterate(promise, progress, cancel),
  });
}

/** Collects updates from now on, not from the first read. Ends with the request, and throws its error. */
function iterate(
  promise: Promise<unknown>,
  progress: Listeners<[data: unknown]>,
  cancel: () => void,
): AsyncGenerator<unknown> {
  const unread: unknown[] = [];
  let isSettled = false;
  let wake = (): void => undefined;
  const stop = progress.add((data) => {
    if (unread.push(data) > MAX_UNREAD) unread.shift();
    wake();
  });
  const settled = (): void => {
    isSettled = true;
    wake();
  };
  // Also marks a rejection as handled: the iteration throws it.
  promise.then(settled, settled);
  async function* read(): AsyncGenerator<unknown> {
    try {
      for (;;) {
        while (unread.length > 0) yield unread.shift();
        if (isSettled) return await promise;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    } finally {
      stop();
      if (!isSettled) cancel();
    }
  }
  return read();
}
