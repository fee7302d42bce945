/** The last append of this process to each topic. From it, Redis can tell that another master has accepted frames. */
import type { HistoryPosition } from "../history.ts";

/** Longer than Sentinels need to demote a master that returned. */
const KEPT_MS = 300_000;
const MAX_TOPICS = 10_000;

export class LastAppends {
  /** By topic, the earliest first. */
  readonly #appends = new Map<string, HistoryPosition & { readonly atMs: number }>();

  /** The epoch and the offset, as arguments of a script. */
  of(topic: string): readonly [epoch: string, offset: string] {
    const append = this.#appends.get(topic);
    if (append === undefined || performance.now() - append.atMs > KEPT_MS) return ["", "0"];
    return [append.epoch, String(append.offset)];
  }

  set(topic: string, { epoch, offset }: HistoryPosition): void {
    this.#appends.delete(topic);
    this.#appends.set(topic, { epoch, offset, atMs: performance.now() });
    if (this.#appends.size <= MAX_TOPICS) return;
    for (const earliest of this.#appends.keys()) return void this.#appends.delete(earliest);
  }

  delete(topic: string): void {
    this.#appends.delete(topic);
  }
}
