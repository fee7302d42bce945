/** Finds about the largest of many things that change their size, at a constant cost. */

/** Ranks per doubling of the size: the largest that is found has at least 5/6 of the size of the largest there is. */
const RANKS_PER_DOUBLING = 4;

export interface Sized {
  bytes: number;
  /** Where `Largest` has it; undefined when it has not. */
  rank: number | undefined;
}

export class Largest<T extends Sized> {
  readonly #ranks: Set<T>[] = [];

  /** Adds the thing, or takes note of its new size. */
  update(sized: T): void {
    const rank = Math.floor(RANKS_PER_DOUBLING * Math.log2(sized.bytes + 1));
    if (rank === sized.rank) return;
    this.remove(sized);
    while (this.#ranks.length <= rank) this.#ranks.push(new Set());
    this.#ranks[rank]?.add(sized);
    sized.rank = rank;
  }

  remove(sized: T): void {
    if (sized.rank !== undefined) this.#ranks[sized.rank]?.delete(sized);
    sized.rank = undefined;
    while (this.#ranks.at(-1)?.size === 0) this.#ranks.pop();
  }

  find(): T | undefined {
    return this.#ranks.at(-1)?.values().next().value;
  }

  clear(): void {
    this.#ranks.length = 0;
  }
}
