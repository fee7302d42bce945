/** Callbacks of the application: what one throws stops neither the others nor the client. */

export interface Listeners<Args extends unknown[]> {
  /** Gives a function that takes the callback out again, after which it is not called any more. */
  add(callback: (...args: Args) => void): () => void;
  /** False when nobody listens. */
  emit(...args: Args): boolean;
  isEmpty(): boolean;
}

export function listeners<Args extends unknown[]>(thrown: (error: unknown) => void): Listeners<Args> {
  const entries = new Set<(...args: Args) => void>();
  return {
    add(callback) {
      // A function of its own: the same callback may be registered twice.
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
    isEmpty: () => entries.size === 0,
  };
}
