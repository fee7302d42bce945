/** What waits for an open link: in order, and no more than so many. */
import type { ClientOptions } from "./options.ts";

export interface Queue<Item> {
  /** Gives the item that had to go, if one had: the oldest or the new one. */
  add(item: Item): Item | undefined;
  delete(item: Item): void;
  /** Empties the queue. */
  take(): Item[];
}

export function createQueue<Item>(size: number, policy: ClientOptions["queue"]): Queue<Item> {
  const items = new Set<Item>();
  return {
    add(item) {
      items.add(item);
      if (items.size <= size) return undefined;
      const [oldest] = items;
      const dropped = policy === "drop-oldest" ? oldest : item;
      items.delete(dropped as Item);
      return dropped;
    },
    delete: (item) => items.delete(item),
    take() {
      const taken = [...items];
      items.clear();
      return taken;
    },
  };
}
