/** What waits for an open link: in order, and no more than so many. */
import type { ClientOptions } from "./options.ts";

/** Gives the item that had to go, if one had: the oldest or the new one. */
export function enqueue<Item>(
  queue: Set<Item>,
  item: Item,
  size: number,
  policy: ClientOptions["queue"],
): Item | undefined {
  queue.add(item);
  if (queue.size <= size) return undefined;
  const [oldest = item] = queue;
  const dropped = policy === "drop-oldest" ? oldest : item;
  queue.delete(dropped);
  return dropped;
}
