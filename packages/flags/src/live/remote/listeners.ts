/** Callbacks of the application. One that throws or rejects does not keep the others from being called. */

export interface Listeners<Arguments extends unknown[]> {
  /** Returns a function that removes the callback. */
  readonly add: (callback: (...args: Arguments) => void) => () => void;
  /** Returns false if there is no callback. */
  readonly emit: (...args: Arguments) => boolean;
}

function report(error: unknown): void {
  console.error("[feature-flags] A callback of the remote flags failed.", error);
}

export function listeners<Arguments extends unknown[]>(): Listeners<Arguments> {
  const callbacks = new Set<{ readonly run: (...args: Arguments) => void }>();
  return {
    add(callback) {
      // The same function may be added twice.
      const entry = { run: callback };
      callbacks.add(entry);
      return () => void callbacks.delete(entry);
    },
    emit(...args) {
      for (const { run } of [...callbacks]) {
        try {
          const result: unknown = run(...args);
          if (result instanceof Promise) result.catch(report);
        } catch (error) {
          report(error);
        }
      }
      return callbacks.size > 0;
    },
  };
}
