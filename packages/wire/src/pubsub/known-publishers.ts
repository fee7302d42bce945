/** The publishers that this process receives from. Positions refer to them by number. */
import { copyText } from "../protocol/copy-text.ts";
import { timeOf } from "./sequence-time.ts";

/** A publisher without a message or heartbeat for this long is dead: its process has ended, or is cut off. */
const DEAD_AFTER_MS = 60_000;
/** How long the positions of a dead publisher are kept. */
const KEEP_DEAD_MS = 10 * 60_000;
/** Above this, the publisher that was silent for longest is dropped: any process with access to the broker can invent ids. */
const MAX_PUBLISHERS = 10_000;
/** Clocks of two machines drift apart, so the difference between them is measured again after this time. */
const OFFSET_WINDOW_MS = 5 * 60_000;

export class KnownPublisher {
  /** From 1. A number is never used again. */
  readonly number: number;
  silentMs = 0;
  /** The smallest difference of this process's clock and the publisher's in this window and the one before, in ms. */
  #offset = Number.POSITIVE_INFINITY;
  #offsetBefore = Number.POSITIVE_INFINITY;
  #windowEndsAt = 0;

  constructor(number: number) {
    this.number = number;
  }

  /** The publisher's clock showed this sequence number when it sent a heartbeat that arrived now. */
  compareClocks(sequence: number, now: number): void {
    if (now >= this.#windowEndsAt) {
      this.#offsetBefore = this.#offset;
      this.#offset = Number.POSITIVE_INFINITY;
      this.#windowEndsAt = now + OFFSET_WINDOW_MS;
    }
    this.#offset = Math.min(this.#offset, now - timeOf(sequence));
  }

  /**
   * When the message with this number was published, in this process's monotonic time: at most the shortest time
   * that a heartbeat took too late, never too early. Undefined before the first heartbeat.
   */
  publishedAt(sequence: number): number | undefined {
    const offset = Math.min(this.#offset, this.#offsetBefore);
    return offset === Number.POSITIVE_INFINITY ? undefined : timeOf(sequence) + offset;
  }
}

export class KnownPublishers {
  readonly #known = new Map<string, KnownPublisher>();
  readonly #dropped: (numbers: ReadonlySet<number>) => void;
  #lastNumber = 0;

  /** `dropped` is called with the numbers of publishers whose positions are no longer needed. */
  constructor(dropped: (numbers: ReadonlySet<number>) => void) {
    this.#dropped = dropped;
  }

  /** The publisher with this id, which just gave a sign of life. */
  heard(id: string): KnownPublisher {
    const known = this.#known.get(id);
    if (known !== undefined) {
      known.silentMs = 0;
      return known;
    }
    if (this.#known.size >= MAX_PUBLISHERS) this.#dropMostSilent();
    const added = new KnownPublisher(++this.#lastNumber);
    this.#known.set(copyText(id), added);
    return added;
  }

  /** This process received from the broker for `ms` without interruption. Drops publishers that were silent for too long. */
  passed(ms: number): void {
    const numbers = new Set<number>();
    for (const [id, publisher] of this.#known) {
      publisher.silentMs += ms;
      if (publisher.silentMs < DEAD_AFTER_MS + KEEP_DEAD_MS) continue;
      this.#known.delete(id);
      numbers.add(publisher.number);
    }
    if (numbers.size > 0) this.#dropped(numbers);
  }

  #dropMostSilent(): void {
    let found: [string, KnownPublisher] | undefined;
    for (const entry of this.#known) if (entry[1].silentMs > (found?.[1].silentMs ?? -1)) found = entry;
    if (found === undefined) return;
    this.#known.delete(found[0]);
    this.#dropped(new Set([found[1].number]));
  }
}
