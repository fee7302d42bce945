/** What every history checks, and how long it keeps its state. */
import type { AppendOptions, History, HistoryPage, HistoryPosition, HistoryReadOptions } from "./history.ts";

/** How long an epoch is kept after the last append, in ms: 30 days. */
export const EPOCH_KEPT_MS: number = 30 * 24 * 60 * 60_000;
/** The ids of at least this many appends are remembered, also when fewer frames are kept. */
export const MIN_KEPT_IDS = 1_000;
/** The longest id of an append, in characters. */
const MAX_ID_LENGTH = 256;
/** The most frames that a log keeps. */
const MAX_SIZE = 100_000;

/** The history of a pub/sub. Throws when the pub/sub keeps none; `subject` is what declares the history, for the message. */
export function requireHistory(pubsub: { readonly history?: History | undefined }, subject: string): History {
  if (pubsub.history !== undefined) return pubsub.history;
  throw new TypeError(
    `${subject} declares history, but the router's pub/sub keeps none. Use redisPubSub() for several processes, memoryPubSub() for one, or a Durable Object; NATS and Bun's native pub/sub keep no history. Or leave the option out.`,
  );
}

/** Why the options of an append are invalid; undefined when they are valid. */
export function invalidAppend({ size, ttlMs, id }: AppendOptions): Record<string, string> | undefined {
  if (!Number.isSafeInteger(size) || size < 1 || size > MAX_SIZE)
    return { size: `must be an integer from 1 to ${MAX_SIZE}` };
  if (!Number.isFinite(ttlMs) || ttlMs < 1 || ttlMs > EPOCH_KEPT_MS)
    return { ttlMs: `must be a number of ms from 1 to ${EPOCH_KEPT_MS}` };
  if (id !== undefined && (id === "" || id.length > MAX_ID_LENGTH))
    return { id: `must have 1 to ${MAX_ID_LENGTH} characters` };
  return undefined;
}

/** Returns ids of epochs, each of them new: a random part of this call, and a count. */
export function epochIds(): () => string {
  const random = crypto.getRandomValues(new Uint32Array(2));
  const prefix = [...random].map((part) => part.toString(36)).join("");
  let count = 0;
  return () => `${prefix}.${(count++).toString(36)}`;
}

/** The page of a topic without an epoch. */
export function emptyPage({ after }: HistoryReadOptions): HistoryPage {
  return { epoch: "", top: 0, items: [], isMissing: after !== undefined, hasMore: false, hasEnded: false };
}

/** The offset of a position that a peer sent; beyond every log when it is not one. */
export function offsetOf({ offset }: HistoryPosition): number {
  return Number.isSafeInteger(offset) && offset >= 0 ? offset : Number.MAX_SAFE_INTEGER;
}
