/** The queue of messages that wait for a connection: ordered and limited. */
import type { ClientOptions } from "./options.ts";

/** Adds the item. Returns the item that was dropped because the queue was full: the oldest or the new one. */
export function enqueue<Item>(
  queue: Set<Item>,
  item: Item,
  size: number,
  policy: ClientOptions["queue"],
): Item | undefined {
  const [oldest = item] = queue.add(item);
  const dropped = policy === "drop-oldest" ? oldest : item;
  return queue.size > size && queue.delete(dropped) ? dropped : undefined;
}
