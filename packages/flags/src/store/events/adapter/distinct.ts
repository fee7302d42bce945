/** Counts distinct users: exactly up to a limit, and with an error of about 1 % above it. */
import { murmur3 } from "../../../engine/murmur.ts";

/** Users that are kept in memory. */
const MAX_KEPT = 65_536;

/**
 * Above the limit, only users with a hash in the lower half are kept, then in the lower quarter, and so on. Each of them
 * then counts as two, as four, and so on.
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
      for (const keptUser of this.#kept) if (!this.#isKept(keptUser)) this.#kept.delete(keptUser);
    }
  }

  count(): number {
    return this.#kept.size * 2 ** this.#halvings;
  }

  #isKept(user: string): boolean {
    return murmur3(user) < 2 ** (32 - this.#halvings);
  }
}
