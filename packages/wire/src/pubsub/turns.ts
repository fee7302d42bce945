/** Does what is asked for one name in the order it was asked for, and different names side by side. */

export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name);
    const turn = before === undefined ? work() : before.then(work, work);
    this.#last.set(name, turn);
    const done = (): void => {
      if (this.#last.get(name) === turn) this.#last.delete(name);
    };
    turn.then(done, done);
    return turn;
  }
}
