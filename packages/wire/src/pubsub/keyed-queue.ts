/** Runs the tasks of one key one after the other, in order; tasks of different keys run concurrently. */

export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const current = before === undefined ? task() : before.then(task, task);
    this.#last.set(key, current);
    const done = (): void => {
      if (this.#last.get(key) === current) this.#last.delete(key);
    };
    current.then(done, done);
    return current;
  }
}
