/** A list of application callbacks. An error in one callback stops neither the others nor the client. */

export interface Listeners<Args extends unknown[]> {
  readonly size: number;
  /** Returns a function that removes the callback. */
  add(callback: (...args: Args) => void): () => void;
  /** Returns false when there are no callbacks. */
  emit(...args: Args): boolean;
}

export function listeners<Args extends unknown[]>(thrown: (error: unknown) => void): Listeners<Args> {
  const entries = new Set<(...args: Args) => void>();
  return {
    get size() {
      return entries.size;
    },
    add(callback) {
      // A new function each time, because the same callback may be added twice.
      const entry = (...args: Args): void => callback(...args);
      entries.add(entry);
      return () => void entries.delete(entry);
    },
    emit(...args) {
      const current = [...entries];
      for (const entry of current) {
        try {
          if (entries.has(entry)) entry(...args);
        } catch (error) {
          thrown(error);
        }
      }
      return current.length > 0;
    },
  };
}
