/** The newest frames of a topic, kept while connections catch up: reading them from the store again would never end. */
import type { HistoryPosition } from "../pubsub/history.ts";

export interface TailFrame {
  readonly position: HistoryPosition;
  /** With its position in the meta. */
  readonly text: string;
}

/** Above these limits the oldest frames are dropped; who needs them reads the store again. */
const MAX_FRAMES = 1_000;
const MAX_LENGTH = 1_048_576;

export class Tail {
  #frames: TailFrame[] = [];
  #length = 0;

  push(frame: TailFrame): void {
    const newest = this.#frames.at(-1)?.position;
    // Only contiguous frames are of use.
    if (newest !== undefined && !follows(frame.position, newest)) this.clear();
    this.#frames.push(frame);
    this.#length += frame.text.length;
    // The newest frame stays, also above the limit: an empty tail says that nothing has arrived.
    while (this.#frames.length > MAX_FRAMES || (this.#length > MAX_LENGTH && this.#frames.length > 1))
      this.#length -= this.#frames.shift()?.text.length ?? 0;
  }

  /** The frames after the position; empty when it is the newest one; undefined when some of them are not here. */
  after({ epoch, offset }: HistoryPosition): readonly TailFrame[] | undefined {
    const [oldest] = this.#frames;
    if (oldest === undefined) return [];
    const at = offset + 1 - oldest.position.offset;
    if (oldest.position.epoch !== epoch || at < 0) return undefined;
    return this.#frames.slice(at);
  }

  clear(): void {
    this.#frames = [];
    this.#length = 0;
  }
}

/** Whether a position is the one right after another. */
export function follows(position: HistoryPosition, before: HistoryPosition): boolean {
  return position.epoch === before.epoch && position.offset === before.offset + 1;
}
