/** The members of one watched topic over all processes: their number, and what has changed since peers were last told. */
import type { Entry } from "./entry.ts";

/** What has changed since the last call of `take`. */
export interface RosterChange {
  readonly joined: readonly Entry[];
  readonly left: readonly string[];
}

export class Roster {
  count = 0;
  /** The length of all members as JSON text. */
  length = 0;
  /** The shown entries of members that have changed. */
  readonly #before = new Map<string, Entry | undefined>();

  /** A member changes from one shown entry to another. */
  changed(key: string, from: Entry | undefined, to: Entry | undefined): void {
    if (!this.#before.has(key)) this.#before.set(key, from);
    this.count += (to === undefined ? 0 : 1) - (from === undefined ? 0 : 1);
    this.length += (to?.text.length ?? 0) - (from?.text.length ?? 0);
  }

  take(shown: (key: string) => Entry | undefined): RosterChange {
    const joined: Entry[] = [];
    const left: string[] = [];
    for (const [key, before] of this.#before) {
      const entry = shown(key);
      if (entry?.text === before?.text) continue;
      if (entry === undefined) left.push(key);
      else joined.push(entry);
    }
    this.#before.clear();
    return { joined, left };
  }
}
