/** How many different users there are among many: exactly up to a number, beyond that to within a percent. */
import { murmur3 } from "../../engine/murmur.ts";

/** As many are remembered. */
const MAX_KEPT = 65_536;

/**
 * Once more have been seen, only those are kept whose hash is in the lower half, then in the lower quarter, and so on:
 * each of them then stands for two, for four.
 */
export class DistinctCounter {
  #kept = new Set<string>();
  #halvings = 0;
  readonly #maxKept: number;

  constructor(maxKept: number = MAX_KEPT) {
    this.#maxKept = maxKept;
  }

  add(user: string): void {
    if (this.#halvings > 0 && !this.#isKept(user)) return;
    this.#kept.add(user);
    while (this.#kept.size > this.#maxKept && this.#halvings < 31) {
      this.#halvings += 1;
      for (const one of this.#kept) if (!this.#isKept(one)) this.#kept.delete(one);
    }
  }

  count(): number {
    return this.#kept.size * 2 ** this.#halvings;
  }

  #isKept(user: string): boolean {
    return murmur3(user) < 2 ** (32 - this.#halvings);
  }
}
