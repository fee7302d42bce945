/** Lets other requests run while many or expensive flags are evaluated. */
import type { Steps } from "../../engine/cost.ts";
import { sleep } from "../../store/wait.ts";

/** Steps that are evaluated before other requests get a turn: about a millisecond. */
const SLICE: Steps = 100_000;
/** To find a flag, count its evaluation and write the result. */
const FLAG_COST: Steps = 200;

/** Counts the steps of one request. The flags of a snapshot never change, so a pause cannot mix two revisions. */
export class Slices {
  #left: Steps = SLICE;

  /** Whether the request has to pause before its next flag. */
  isOver(cost: Steps): boolean {
    this.#left -= cost + FLAG_COST;
    return this.#left < 0;
  }

  async pause(): Promise<void> {
    // A timer, because every runtime serves what has arrived before it fires.
    await sleep(0);
    this.#left = SLICE;
  }
}
