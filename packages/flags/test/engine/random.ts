/** Seeded random numbers, for data that must be the same in every run and on every runtime. */

export interface Random {
  /** From 0, below 1. */
  next(): number;
  /** A whole number from 0, below the limit. */
  below(limit: number): number;
  chance(probability: number): boolean;
  pick<Item>(items: readonly Item[]): Item;
  list<Item>(length: number, make: () => Item): Item[];
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick: (items) => {
      const item = items[below(items.length)];
      if (item === undefined) throw new Error("The list to pick from is empty.");
      return item;
    },
    list: (length, make) => Array.from({ length }, make),
  };
}

/** The seed of this run. Set HALYARD_SEED to repeat a run. */
export function seedOfRun(): number {
  const given = process.env["HALYARD_SEED"];
  return given === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(given);
}
