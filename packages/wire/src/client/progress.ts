/** The promise of a request, extended with its progress updates. */
import { MAX_UNREAD } from "./bounds.ts";

/**
 * Resolves to the response of a request. Iterate it, or use `onProgress`, for the progress updates before it. Leaving
 * the iteration early cancels the request. `Item` is the type of an update; it is `unknown` unless the request declares
 * its progress.
 */
export interface RequestPromise<Response, Item = unknown> extends Promise<Response>, AsyncIterable<Item> {
  /** Called with every progress update from now on; returns a function that stops it. */
  onProgress(callback: (item: Item) => void): () => void;
}

/** The updates of one request: a list of callbacks. The reader of typed progress (`schema/stream-reader.ts`) replaces its members. */
export interface Progress {
  emit(data: unknown): unknown;
  /** `unread` holds what an iteration has not read. */
  add(callback: (data: unknown) => void, unread?: readonly unknown[]): () => void;
  /** An iteration has read an update. */
  read?(): void;
}

export function withProgress<Response>(
  promise: Promise<Response>,
  progress: Progress,
  cancel: () => void,
): RequestPromise<Response> {
  return Object.assign(promise, {
    onProgress: (callback: (data: unknown) => void) => progress.add(callback),
    [Symbol.asyncIterator]: () => iterate(promise, progress, cancel),
  });
}

/** Collects updates from now on, not from the first read. Ends with the request, and throws its error. */
function iterate(promise: Promise<unknown>, progress: Progress, cancel: () => void): AsyncGenerator<unknown> {
  const unread: unknown[] = [];
  let isSettled = false;
  let wake = (): void => undefined;
  const stop = progress.add((data) => {
    if (unread.push(data) > MAX_UNREAD) unread.shift();
    wake();
  }, unread);
  const settled = (): void => {
    isSettled = true;
    wake();
  };
  // Also marks a rejection as handled: the iteration throws it.
  promise.then(settled, settled);
  async function* read(): AsyncGenerator<unknown> {
    try {
      for (;;) {
        while (unread.length > 0) {
          const data = unread.shift();
          progress.read?.();
          yield data;
        }
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
