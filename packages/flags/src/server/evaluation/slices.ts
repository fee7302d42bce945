/** Lets other requests run while many or expensive flags are evaluated. */
import type { Awaitable } from "@halyard/base";
import type { Steps } from "../../engine/cost.ts";
import { sleep } from "../../store/wait.ts";

/** Steps that are evaluated before other requests get a turn: half a millisecond, or 100 flags with a few comparisons each. */
const SLICE: Steps = 50_000;
/** To find a flag, count its evaluation and write the result. */
const FLAG_COST: Steps = 200;

/** Counts the steps of one request. The flags of a snapshot never change, so a pause cannot mix two revisions. */
export class Slices {
  #left: Steps = SLICE;

  /** Counts a flag if it fits, or if it is the first of the slice. Otherwise the request has to pause before it. */
  take(cost: Steps): boolean {
    const needed = cost + FLAG_COST;
    if (needed > this.#left && this.#left < SLICE) return false;
    this.#left -= needed;
    return true;
  }

  /** Counts the flag in the next slice. */
  async takeAfterPause(cost: Steps): Promise<void> {
    await this.pause();
    this.take(cost);
  }

  async pause(): Promise<void> {
    // A timer, because every runtime serves what has arrived before it fires.
    await sleep(0);
    this.#left = SLICE;
  }
}

/** Visits the items that have a cost. A promise if other requests have to run in between. */
export function inTurns<Item>(
  slices: Slices,
  items: Iterator<Item>,
  costOf: (item: Item) => Steps | undefined,
  visit: (item: Item) => void,
): Awaitable<void> {
  for (let next = items.next(); next.done !== true; next = items.next()) {
    const { value } = next;
    const cost = costOf(value);
    if (cost === undefined) continue;
    if (!slices.take(cost)) {
      return slices.takeAfterPause(cost).then(() => {
        visit(value);
        return inTurns(slices, items, costOf, visit);
      });
    }
    visit(value);
  }
}
