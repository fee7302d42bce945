/** The promise of a request, with the news on the way to its answer. */
import { MAX_UNREAD } from "./bounds.ts";
import type { Listeners } from "./listeners.ts";

/** The answer to a request, and the progress updates before it. */
export interface RequestPromise<Response> extends Promise<Response>, AsyncIterable<unknown> {
  /** Calls back for each progress update from now on; gives a function that stops it. */
  onProgress(callback: (data: unknown) => void): () => void;
}

export function withProgress<Response>(
  promise: Promise<Response>,
  progress: Listeners<[data: unknown]>,
): RequestPromise<Response> {
  return Object.assign(promise, {
    onProgress: progress.add,
    [Symbol.asyncIterator]: () => iterate(promise, progress),
  });
}

/** Listens from the first moment, not from the first read. Ends with the request, and throws what it rejects with. */
function iterate(promise: Promise<unknown>, progress: Listeners<[data: unknown]>): AsyncGenerator<unknown> {
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
  // Also keeps a rejection from being called unhandled: whoever iterates gets it from the iteration.
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
    }
  }
  return read();
}
