/** The queue of messages that wait for a connection: ordered and limited. */
import type { ClientOptions } from "./options.ts";

/** Adds the item. Returns the item that was dropped because the queue was full: the oldest or the new one. */
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
